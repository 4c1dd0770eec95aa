"""What a leader copies, and what a copy is: SQL texts of the copy task (RLMCopyTask).

`closed` is an array of types.LOCAL_SEGMENT without the active segment, whose base is `active_base`.
"""

from __future__ import annotations

from emulator.expressions.columns import let
from emulator.expressions.kafka.tier.lineage import epochs_in_range
from emulator.expressions.kafka.tier.types import REMOTE_SEGMENT, chosen

LAST_STABLE_OFFSET = "least(hw, array_min(transform(pins, p -> p.offset)))"
"""SQL: the end of what may be copied, and read by who waits for transactions."""


def with_ends(closed: str, active_base: str) -> str:
    """The closed local segments, each with its `end_offset` (exclusive)."""
    fields = ", ".join(f"'{name}', x.{name}" for name in ("base_offset", "bytes", "first_round", "newest_round"))
    end = f"coalesce(get({closed}, i + 1).base_offset, {active_base})"
    return f"transform({closed}, (x, i) -> named_struct({fields}, 'end_offset', {end}))"


def candidates(closed: str, active_base: str, from_offset: str, stable: str, leo: str, below_last_stable: str = "true") -> str:
    """The segments to copy, with their ends: from the one that has `from_offset` on, those that end at or below `stable`.

    A mutant (`below_last_stable` false) copies what is not committed as well.
    """
    limit = chosen(below_last_stable, stable, leo)
    return f"filter({with_ends(closed, active_base)}, x -> x.end_offset > {from_offset} AND x.end_offset <= {limit})"


def behind(segment: str, closed: str, active_bytes: str) -> str:
    """Bytes of the local segments behind a closed one, the active one included."""
    return f"aggregate({closed}, {active_bytes}, (sum, y) -> sum + IF(y.base_offset > {segment}.base_offset, y.bytes, 0L))"


def that_have_waited(listed: str, closed: str, active_bytes: str, now: str, storage: str) -> str:
    """Candidates up to the first that has not waited for its lag (KIP-1241). `storage`: schema.STORAGE, limits of -1 are none."""
    aged = f"({storage}.copy_lag_ms > 0 AND CAST({now} - w.newest_round AS BIGINT) * {storage}.round_ms >= {storage}.copy_lag_ms)"
    enough = f"({storage}.copy_lag_bytes > 0 AND {behind('w', closed, active_bytes)} >= {storage}.copy_lag_bytes)"
    waiting = f"array_min(transform(filter({listed}, w -> NOT ({aged} OR {enough})), w -> w.base_offset))"
    return (
        f"IF({storage}.copy_lag_ms = 0 OR {storage}.copy_lag_bytes = 0 OR size({listed}) = 0, {listed},"
        f" {let('waiting_', waiting, f'filter({listed}, x -> coalesce(x.base_offset < waiting_, true))')})"
    )


def started_segment(id: str, local: str, epochs: str, slot: str, leader_epoch: str, now: str) -> str:
    """The remote segment that an attempt to copy a local one (with its end) begins with; no event has told of it yet."""
    values = {
        "id": id,
        "base_offset": f"{local}.base_offset",
        "end_offset": f"{local}.end_offset - 1",
        "epochs": epochs_in_range(epochs, f"{local}.base_offset", f"{local}.end_offset"),
        "checkpoint": f"filter({epochs}, x -> x.start_offset < {local}.end_offset)",
        "bytes": f"{local}.bytes",
        "newest_round": f"{local}.newest_round",
        "slot": slot,
        "leader_epoch": leader_epoch,
        "state": "null",
        "was_finished": "false",
        "stored_bytes": "0L",
        "moved_bytes": "0L",
        "started_round": now,
        "copied_round": "null",
        "deleted_round": "null",
    }
    return "CAST(named_struct(" + ", ".join(f"'{name}', {text}" for name, text in values.items()) + f") AS {REMOTE_SEGMENT})"


def copied_before(segment: str, segments: str) -> str:
    """Whether an earlier attempt, one that was done or moved some bytes, has records of this one."""
    shared = f"exists({segment}.epochs, x -> exists(s.epochs, y -> y.epoch = x.epoch))"
    overlap = f"s.base_offset <= {segment}.end_offset AND s.end_offset >= {segment}.base_offset"
    earlier = f"s.id < {segment}.id AND (s.was_finished OR s.moved_bytes > 0)"
    return f"exists({segments}, s -> {earlier} AND {overlap} AND {shared})"


def after_truncation(highest_remote: str, leo: str, forget_on_truncation: str = "true") -> str:
    """The highest remote offset of a log that may have been cut; a mutant's (and Kafka's, to 4.3) never falls."""
    return chosen(forget_on_truncation, f"least({highest_remote}, {leo} - 1)", highest_remote)
