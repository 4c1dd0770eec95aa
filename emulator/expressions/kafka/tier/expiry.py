"""What goes from remote storage: SQL texts of the expiry task (RLMExpirationTask.cleanupExpiredRemoteLogSegments)."""

from __future__ import annotations

from emulator.expressions.columns import let
from emulator.expressions.kafka.tier.lineage import is_in_lineage, without_empty_epochs
from emulator.expressions.kafka.tier.metadata import in_order
from emulator.expressions.kafka.tier.types import COPY_FINISHED, DELETE_FINISHED, DELETE_STARTED, chosen, segment_of

VERDICT = "STRUCT<segments: ARRAY<INT>, log_start: BIGINT>"
"""What a run decides: the segments to delete, in order, and the log start that comes first (null: it stays)."""


def known_remote(highest_remote: str, found: str, know_remote_first: str = "true") -> str:
    """The highest remote offset by which a run takes the size of the log; `found`: looked up by its lineage.

    A mutant (`know_remote_first` false, Kafka before 4.3.2) does not look it up (KAFKA-20732).
    """
    known = f"IF({highest_remote} < 0, greatest({highest_remote}, {found}), {highest_remote})"
    return chosen(know_remote_first, known, highest_remote)


def local_bytes(closed: str, active_base: str, active_bytes: str, highest_remote: str) -> str:
    """Bytes of the local segments that are not counted as remote ones: those whose base is not below what is tiered."""
    of_closed = f"aggregate({closed}, 0L, (a, x) -> a + IF(x.base_offset >= {highest_remote}, x.bytes, 0L))"
    return f"({of_closed} + IF({active_base} >= {highest_remote}, {active_bytes}, 0L))"


def expired(
    index: str,
    segments: str,
    epochs: str,
    leo: str,
    log_start: str,
    local: str,
    copying: str,
    now: str,
    round_ms: str,
    retention_ms: str,
    retention_bytes: str,
) -> str:
    """What retention takes, a types.VERDICT: the log's epochs from the oldest, and each one's segments, until one may stay.

    local: bytes of the log that are not remote (`local_bytes`); copying: id of the segment that the leader copies itself,
    null if none; retention_ms, retention_bytes: -1 is no limit; now: the round.
    """
    listed = f"filter({index}.entries, x -> exists(log_, y -> y.epoch = x.epoch))"
    ids = f"array_distinct(transform(filter(listed_, x -> x.state != {DELETE_STARTED}), x -> x.segment))"
    of_log = f"filter({ids}, id -> {let('s_', segment_of(segments, 'id'), is_in_lineage('s_', 'log_', leo))})"
    copied = f"filter(listed_, x -> x.state = {COPY_FINISHED} AND array_contains(mine_, x.segment))"
    remote = (
        f"aggregate(array_distinct(transform({copied}, x -> x.segment)), {local},"
        f" (a, id) -> a + {segment_of(segments, 'id')}.bytes)"
    )
    breached = f"IF({retention_bytes} < 0, 0L, greatest(0L, {remote} - {retention_bytes}))"
    start = (
        f"named_struct('stopped', false, 'breached', {breached}, 'log_start', CAST(null AS BIGINT),"
        " 'segments', CAST(array() AS ARRAY<INT>))"
    )
    walked = f"aggregate(listed_, {start}, (v_, x) -> {_next(segments, log_start, copying, now, round_ms, retention_ms)})"
    verdict = let("v_", walked, "named_struct('segments', v_.segments, 'log_start', v_.log_start)")
    with_own = let("mine_", of_log, verdict)
    return let("log_", let("a_", epochs, without_empty_epochs("a_")), let("listed_", in_order(listed), with_own))


def left_behind(index: str, segments: str, epochs: str, but: str) -> str:
    """The segments of epochs that are all older than the log's first, in order, without those in `but`: unclean elections
    left them.

    epochs: the cache after the log start has risen; index: after the verdict's segments were deleted, which has told the leader
    what others wrote in the rounds before.
    """
    older = f"filter({index}.entries, x -> x.epoch < {epochs}[0].epoch)"
    ids = f"array_distinct(transform({in_order(older)}, x -> x.segment))"
    goes = f"element_at({segment_of(segments, 'id')}.epochs, -1).epoch < {epochs}[0].epoch AND NOT array_contains({but}, id)"
    return f"IF(size({epochs}) > 0, filter({ids}, id -> {goes}), CAST(array() AS ARRAY<INT>))"


def deletions(ids: str, slot: str, now: str, store_up: str) -> str:
    """The events of deleting segments one after the other; while the store is away the first one's deletion only begins."""

    def event(state: int) -> str:
        return f"named_struct('round', {now}, 'segment', id, 'state', {state}, 'slot', {slot})"

    each = f"flatten(transform({ids}, id -> array({event(DELETE_STARTED)}, {event(DELETE_FINISHED)})))"
    return f"slice({each}, 1, IF({store_up}, 2 * size({ids}), 1))"


def _next(segments: str, log_start: str, copying: str, now: str, round_ms: str, retention_ms: str) -> str:
    """The walk `v_` after the entry `x`: 0 it is passed over, 1 it goes, 2 it goes by age or size, 3 it stays."""
    below = f"element_at(s_.epochs, -1).epoch <= log_[0].epoch AND s_.end_offset < {log_start}"
    old = f"{retention_ms} >= 0 AND CAST({now} - s_.newest_round AS BIGINT) * {round_ms} >= {retention_ms}"
    big = "v_.breached > 0 AND s_.bytes <= v_.breached"
    kind = (
        f"CASE WHEN x.segment <=> {copying} THEN 3 WHEN array_contains(v_.segments, x.segment) THEN 0"
        f" WHEN x.state = {DELETE_STARTED} OR ({below}) THEN 1 WHEN NOT array_contains(mine_, x.segment) THEN 0"
        f" WHEN ({old}) OR ({big}) THEN 2 ELSE 3 END"
    )
    after = (
        "named_struct('stopped', k_ = 3, 'breached', IF(k_ = 2, greatest(0L, v_.breached - s_.bytes), v_.breached),"
        " 'log_start', IF(k_ = 2, greatest(v_.log_start, s_.end_offset + 1), v_.log_start),"
        " 'segments', IF(k_ IN (1, 2), concat(v_.segments, array(x.segment)), v_.segments))"
    )
    step = let("s_", segment_of(segments, "x.segment"), let("k_", kind, f"IF(k_ = 0, v_, {after})"))
    return f"IF(v_.stopped, v_, {step})"
