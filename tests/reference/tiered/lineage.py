"""Which remote segments belong to a log: arithmetic on epochs and offsets (RemoteLogManager). End offsets are inclusive.

A *lineage* is an epoch cache: [(epoch, start offset)], both rising.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..log import UNDEFINED, EpochCache

Epochs = Sequence[tuple[int, int]]
NOTHING_REMOTE = (-1, -1)


def without_empty_epochs(epochs: Epochs) -> list[tuple[int, int]]:
    """The epochs that have records: those whose successor starts elsewhere (buildFilteredLeaderEpochMap)."""
    return [entry for at, entry in enumerate(epochs) if at + 1 == len(epochs) or epochs[at + 1][1] != entry[1]]


def epochs_in_range(epochs: Epochs, from_offset: int, to_offset: int) -> list[tuple[int, int]]:
    """The epochs of [from_offset, to_offset), the first of them cut to it (LeaderEpochFileCache.epochEntriesInRange)."""
    cache = EpochCache(epochs)
    cache.truncate_from_start(from_offset)
    cache.truncate_from_end(to_offset)
    return cache.entries


def end_in_segment(epochs: Epochs, epoch: int, end_offset: int) -> int:
    """The last offset that a segment with these epochs, and this end, has of `epoch`."""
    later = [start for known, start in epochs if known > epoch]
    return later[0] - 1 if later else end_offset


def is_in_lineage(segment_epochs: Epochs, end_offset: int, lineage: Epochs, leo: int) -> bool:
    """Tell whether a segment's records are those of the log (isRemoteSegmentWithinLeaderEpochs).

    Epochs older than the lineage's first are left aside: the log may have started inside the segment. Of the others each
    must be in the lineage and end where the lineage says, the last one no later; the first may start later than there.
    """
    own, log = without_empty_epochs(segment_epochs), without_empty_epochs(lineage)
    if not own or not log or not log[0][0] <= own[-1][0] <= log[-1][0] or end_offset >= leo:
        return False
    starts = dict(log)
    shared = [entry for entry in own if entry[0] >= log[0][0]]
    if any(epoch not in starts for epoch, _ in shared):
        return False
    first_epoch, first_start = shared[0]
    if first_epoch > log[0][0] and first_start < starts[first_epoch]:
        return False
    successors = dict(zip([epoch for epoch, _ in log], log[1:], strict=False))
    if any(successors.get(epoch) != following for (epoch, _), following in zip(shared, shared[1:], strict=False)):
        return False
    following = successors.get(shared[-1][0])
    return following is None or end_offset < following[1]


def highest_remote_offset(lineage: Epochs, leo: int, highest_of: Callable[[int], int | None]) -> tuple[int, int]:
    """(offset, epoch) up to which the log is tiered; NOTHING_REMOTE if none of it is (findHighestRemoteOffset).

    `highest_of` says how far the remote segments of an epoch go. The newest epoch of the log that has any decides, and no
    further than the log itself has that epoch.
    """
    cache = EpochCache(lineage)
    for epoch, _ in reversed(cache.entries):
        highest = highest_of(epoch)
        if highest is not None:
            end = cache.end_offset_for(epoch, leo)
            assert end != UNDEFINED
            return (end[1] - 1, end[0]) if end[1] <= highest else (highest, epoch)
    return NOTHING_REMOTE


def remote_log_start(lineage: Epochs, first_of: Callable[[int], int | None], local_log_start: int) -> int:
    """Where a log starts by its remote segments: at the first of its oldest epoch that has any (findLogStartOffset)."""
    for epoch, _ in lineage:
        first = first_of(epoch)
        if first is not None:
            return first
    return local_log_start
