"""Lists of one partition in scratch arrays: a list is a span of a scratch array, and these functions only its arithmetic.

None of them sees entries, so each has one signature whatever the lists hold. The place at `limit` is nobody's: what a full list
is given is written there and not counted. The list stays well-formed, `full` tells of it, and the partition is played again from
its packed lists with more room.

    run = lists.runs[append(replica.runs)]
    run.start_offset = replica.leo

What is there is old: set every field.
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.records import Record, compared, constant


class List(Record):
    """A span of a scratch array."""

    start: int = compared("where its first entry is")
    count: int = compared("entries")
    limit: int = constant("where its room ends: a place that takes what does not fit")
    changes: int = compared("entries added, cut and rewritten so far; a list that only drifts with counters has none")
    full: int = compared("whether it was given more than it has room for")


@compiled_into_callers
def append(entries: List) -> int:
    """Where the new last entry is."""
    at = entries.start + entries.count
    entries.changes += 1
    if at >= entries.limit:
        entries.full = 1
        return entries.limit
    entries.count += 1
    return at


@compiled
def drop_first(entries: List, count: int) -> None:
    """Forget the first entries."""
    if count > 0:
        entries.start += count
        entries.count -= count
        entries.changes += 1


@compiled
def keep_first(entries: List, count: int) -> None:
    """Cut the list to its first `count` entries."""
    if count < entries.count:
        entries.count = count
        entries.changes += 1


@compiled
def clear(entries: List) -> None:
    """Cut the list to nothing."""
    keep_first(entries, 0)


@compiled_into_callers
def every(entries: List) -> range:
    """Where its entries are, first to last."""
    return range(entries.start, entries.start + entries.count)


@compiled_into_callers
def last(entries: List) -> int:
    """Where its last entry is; there must be one."""
    return entries.start + entries.count - 1
