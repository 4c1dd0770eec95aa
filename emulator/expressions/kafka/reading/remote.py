"""Remote reads: what one read of a segment brings, a broker's shares of its quota, and its index cache. SQL texts."""

from __future__ import annotations

from emulator.expressions.columns import let

INDEX_ENTRY_BYTES = 8 + 12
"""Of the offset index and of the time index."""


def bytes_between(segment: str, from_offset: str, to_offset: str) -> str:
    """Bytes of a segment's records in [from, to), each of the mean size."""
    ends = [_bytes_below(segment, offset) for offset in (to_offset, from_offset)]
    return f"({ends[0]} - {ends[1]})"


def end_within(segment: str, position: str, limit_bytes: str, end: str) -> str:
    """Where a read ends within so many bytes, at or below `end`, and of one record at least."""
    target = f"({_bytes_below(segment, position)} + {limit_bytes})"
    last = f"({segment}.base_offset + (({target} + 1) * {_records(segment)} - 1) DIV greatest({segment}.bytes, 1L))"
    return f"greatest({position} + 1, least({end}, IF({segment}.bytes <= 0, {end}, {last})))"


def end_of_lineage(segment: str, epochs: str, position: str) -> str:
    """Where a log and a segment that agree on the position give an offset different epochs first, or the segment ends."""
    differ = f"concat(array_except({epochs}, {segment}.epochs), array_except({segment}.epochs, {epochs}))"
    behind = f"filter({differ}, x -> x.start_offset > {position} AND x.start_offset <= {segment}.end_offset)"
    return f"coalesce(array_min(transform({behind}, x -> x.start_offset)), {segment}.end_offset + 1)"


def shares(wanted: str, quota_bytes: str) -> str:
    """What each of several reads gets of a broker's bytes: all parts rise together up to what is wanted.

    wanted: array<bigint>, null for who reads nothing. quota_bytes: null for any amount.
    """
    ranked = f"filter(transform({wanted}, (x, i) -> named_struct('bytes', x, 'at', i)), x -> x.bytes IS NOT NULL)"
    granted = f"least(x.bytes, a.left DIV (size({wanted}) - a.skipped - size(a.given)))"
    step = f"{let('g_', granted, _given())}"
    zero = (
        f"named_struct('left', {quota_bytes}, 'skipped', size(filter({wanted}, x -> x IS NULL)),"
        " 'given', CAST(array() AS ARRAY<STRUCT<at: INT, bytes: BIGINT>>))"
    )
    given = f"aggregate(array_sort({ranked}), {zero}, (a, x) -> {step}, a -> a.given)"
    of_each = let("given_", given, f"transform({wanted}, (x, i) -> get(filter(given_, g -> g.at = i), 0).bytes)")
    return f"IF({quota_bytes} IS NULL, {wanted}, {of_each})"


def quota_bytes(bytes_per_second: str, round_ms: str) -> str:
    """Bytes that a broker's remote reads get in a round (KIP-956), null: any amount."""
    return f"(({bytes_per_second} * {round_ms}) DIV 1000)"


def index_bytes(segment: str, interval_bytes: str) -> str:
    """Bytes that a segment's indexes take in the cache."""
    return f"({INDEX_ENTRY_BYTES} * greatest(1L, {segment}.bytes DIV {interval_bytes}))"


def is_cached(cache: str, segment: str) -> str:
    """Whether a broker has the indexes of a segment (its id)."""
    return f"exists({cache}, k -> k.segment = {segment})"


def cached(cache: str, segment: str, size_bytes: str, limit_bytes: str) -> str:
    """The index cache after a look into a segment (its id): the least recently used come first, and go first."""
    entry = f"named_struct('segment', {segment}, 'bytes', {size_bytes})"
    used = f"concat(filter({cache}, k -> k.segment != {segment}), array({entry}))"
    behind = "aggregate(slice(used_, i + 1, size(used_)), 0L, (b, k) -> b + k.bytes)"
    return let("used_", used, f"filter(used_, (k, i) -> {behind} <= {limit_bytes})")


def _given() -> str:
    return (
        "named_struct('left', a.left - g_, 'skipped', a.skipped, 'given',"
        " concat(a.given, array(named_struct('at', x.at, 'bytes', g_))))"
    )


def _records(segment: str) -> str:
    return f"({segment}.end_offset - {segment}.base_offset + 1)"


def _bytes_below(segment: str, offset: str) -> str:
    return f"({segment}.bytes * ({offset} - {segment}.base_offset)) DIV {_records(segment)}"
