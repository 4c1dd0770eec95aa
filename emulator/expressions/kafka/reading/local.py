"""Reads of a replica's own log: how far the records go that fit, and whether they are in memory. SQL texts."""

from __future__ import annotations

from emulator.expressions.columns import let
from emulator.expressions.log import bytes_at, run_end


def end_within(log: str, leo: str, position: str, limit_bytes: str, end: str) -> str:
    """Where a read of whole records ends: within so many bytes, at or below `end`, and of one record at least."""
    reached = f"least({records_below('x', 'target_')}, {run_end(log, 'i', leo)})"
    ends = f"transform({log}, (x, i) -> IF(x.start_bytes <= target_, {reached}, {position}))"
    target = f"{bytes_at(log, position)} + {limit_bytes}"
    last = let("target_", target, f"coalesce(array_max({ends}), {leo})")
    return f"greatest({position} + 1, least({end}, {last}))"


def records_below(x: str, target: str) -> str:
    """End offset of the last record of run x that ends at or below `target` bytes."""
    budget = f"greatest({target} - {x}.start_bytes, 0L)"
    cycles = f"({budget} DIV greatest({x}.batch_bytes, 1L))"
    rest = f"({budget} - {cycles} * {x}.batch_bytes)"
    in_batch = f"(({rest} + 1) * {x}.batch_records - 1) DIV greatest({x}.batch_bytes, 1L)"
    part = "((a.left + 1) * p.records - 1) DIV greatest(p.bytes, 1L)"
    in_pattern = (
        f"aggregate({x}.pattern, named_struct('left', {rest}, 'records', 0L), (a, p) ->"
        f" IF(a.left < 0, a, IF(a.left >= p.bytes, named_struct('left', a.left - p.bytes, 'records', a.records + p.records),"
        f" named_struct('left', -1L, 'records', a.records + {part}))), a -> a.records)"
    )
    return (
        f"({x}.start_offset + IF({x}.batch_records <= 0, 0L, {cycles} * {x}.batch_records"
        f" + IF({x}.pattern IS NULL, {in_batch}, {in_pattern})))"
    )


def bytes_between(log: str, from_offset: str, to_offset: str) -> str:
    """Bytes of the records in [from, to)."""
    return f"({bytes_at(log, to_offset)} - {bytes_at(log, from_offset)})"


def is_in_page_cache(log: str, log_bytes: str, position: str, share_bytes: str, cold_below: str) -> str:
    """Whether a read at a position finds it in memory: what follows it in the log fits into the share (null: any amount)."""
    fits = f"coalesce({log_bytes} - {bytes_at(log, position)} <= {share_bytes}, true)"
    return f"({position} >= coalesce({cold_below}, 0L) AND {fits})"
