"""Where a leap over quiet rounds has to stop for a reader: SQL texts over its state after a round that changed only counters.

The ends of remote segments and of runs, a segment whose indexes are not cached, and bytes that are rounded are a matter of
exactness: a reader may behave alike before and after them, but not there. The others say where a guard will be met, so that no
leap is tried across it.
"""

from __future__ import annotations

from dataclasses import dataclass

from emulator.expressions.columns import let
from emulator.expressions.kafka.reading import remote
from emulator.expressions.kafka.reading.types import Asked
from emulator.expressions.log import bytes_at, run_end

_NEVER = str(2**31 - 1)


@dataclass(frozen=True)
class Drift:
    """SQL texts of what counters moved by in the last round: of the reader's position, and of the replica that it asks."""

    position: str
    hw: str
    log_bytes: str


def horizon(row: Asked, drift: Drift, cache: str) -> str:
    """The first round, from `row.round` on, that has to be run for the reader `r`; the largest int if there is none."""
    rounds = (
        _lapse(),
        let("s_", row.segment, _end_of_segment(row, cache)),
        _met(f"{row.local_log_start} - r.position", "v_", row),
        _end_of_run(row),
        _met(f"{row.hw} - r.position", f"v_ - {drift.hw}", row),
        let("b_", f"{row.log_bytes} - {bytes_at(row.log, 'r.position')}", _memory(row, drift)),
        _met(f"r.max_lag - ({row.leader_hw} - r.position)", f"{drift.hw} - v_", row),
    )
    first = ", ".join(f"CAST({text} AS BIGINT)" for text in rounds)
    nothing = (
        f"IF(r.stopped IS NOT NULL OR r.position IS NULL, {_NEVER}L, greatest({row.round}, coalesce(least({first}), {_NEVER}L)))"
    )
    return let("v_", f"coalesce({drift.position}, 0L)", nothing)


def _met(gap: str, closing: str, row: Asked) -> str:
    """The round in which a gap that closes by so much a round is closed; null if it does not close."""
    return f"IF({closing} > 0 AND {gap} > 0, {row.round} + ({gap}) DIV ({closing}), null)"


def _lapse() -> str:
    """The reader asks the leader again whom to ask."""
    return "IF(r.replica IS NOT NULL, r.replica_until, null)"


def _end_of_segment(row: Asked, cache: str) -> str:
    """A remote read is cut short; or each brings other bytes; or a segment is looked into for the first time."""
    end = f"least(s_.end_offset + 1, {remote.end_of_lineage('s_', row.epochs, 'r.position')})"
    is_even = f"{remote.is_cached(cache, 's_.id')} AND (s_.bytes * v_) % (s_.end_offset - s_.base_offset + 1) = 0"
    of_segment = f"IF({is_even}, {_met(f'{end} - r.position', 'v_', row)}, {row.round})"
    return f"IF(v_ > 0 AND r.position < {row.local_log_start} AND s_ IS NOT NULL, {of_segment}, null)"


def _end_of_run(row: Asked) -> str:
    """The records after it may be of another size; in a cycle of unlike batches they always may."""
    end = run_end(row.log, "i", row.leo)
    of_run = (
        f"IF(x.pattern IS NOT NULL, {row.round}, {_met(f'x.start_offset - r.position + ({end} - x.start_offset)', 'v_', row)})"
    )
    holds = f"x.start_offset <= r.position AND {end} > r.position AND (i < size({row.log}) - 1 OR x.pattern IS NOT NULL)"
    ends = f"transform({row.log}, (x, i) -> IF({holds}, CAST({of_run} AS BIGINT), null))"
    return f"IF(r.position >= {row.local_log_start} AND v_ > 0, array_min({ends}), null)"


def _memory(row: Asked, drift: Drift) -> str:
    """What is read comes into the share of the page cache, or falls out of it. A record's bytes: the mean of what was read."""
    own = f"(({bytes_at(row.log, 'r.position')} - {bytes_at(row.log, 'r.position - v_')}))"
    grows = f"({drift.log_bytes} - {own})"
    into = _met(f"b_ - {row.page_cache_bytes}", f"-{grows}", row)
    out = _met(f"{row.page_cache_bytes} - b_ + 1", grows, row)
    return f"IF(r.position - v_ >= {row.local_log_start}, coalesce({into}, {out}), null)"
