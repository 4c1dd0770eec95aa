"""Which remote segments belong to a log: arithmetic on epochs and offsets (RemoteLogManager). End offsets are inclusive.

A *lineage* is a leader epoch cache: a span of EpochEntry, both fields rising.
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.list_records import EpochEntry
from emulator.rounds.lists import List, append
from emulator.rounds.records import Rows


@compiled
def with_records(epochs: Rows[EpochEntry], at: int, end: int) -> int:
    """The first place from `at` on, below `end`, of an epoch that has records: the next one starts elsewhere. `end`: none."""
    while at + 1 < end and epochs[at + 1].start_offset == epochs[at].start_offset:
        at += 1
    return at


@compiled
def add_epochs(cache: Rows[EpochEntry], log: List, from_offset: int, to_offset: int, epochs: Rows[EpochEntry], into: List) -> int:
    """Add the epochs of [from, to), the first cut to it (epochEntriesInRange). Returns how many."""
    first = log.start
    while first + 1 < log.start + log.count and cache[first + 1].start_offset <= from_offset:
        first += 1
    count = 0
    for at in range(first, log.start + log.count):
        if cache[at].start_offset >= to_offset:
            break
        entry = epochs[append(into)]
        entry.epoch = cache[at].epoch
        entry.start_offset = max(cache[at].start_offset, from_offset)
        count += 1
    return count


@compiled
def is_in_lineage(
    own: Rows[EpochEntry], first: int, count: int, end_offset: int, cache: Rows[EpochEntry], log: List, leo: int
) -> bool:
    """Whether a segment's records are those of the log (isRemoteSegmentWithinLeaderEpochs).

    Epochs older than the log's first are left aside; each other one must be the log's and be followed by the same one there.
    """
    own_end, log_end = first + count, log.start + log.count
    if count == 0 or log.count == 0 or end_offset >= leo:
        return False
    at = with_records(own, first, own_end)
    there = with_records(cache, log.start, log_end)
    oldest, last_epoch = cache[there].epoch, own[own_end - 1].epoch
    if not oldest <= last_epoch <= cache[log_end - 1].epoch:
        return False
    while own[at].epoch < oldest:
        at = with_records(own, at + 1, own_end)
    is_first = True
    while True:
        while there < log_end and cache[there].epoch < own[at].epoch:
            there = with_records(cache, there + 1, log_end)
        if there >= log_end or cache[there].epoch != own[at].epoch:
            return False
        if is_first and own[at].epoch > oldest and own[at].start_offset < cache[there].start_offset:
            return False
        is_first = False
        after = with_records(cache, there + 1, log_end) if there + 1 < log_end else log_end
        if at + 1 >= own_end:
            return after >= log_end or end_offset < cache[after].start_offset
        at = with_records(own, at + 1, own_end)
        if after >= log_end or cache[after].epoch != own[at].epoch or cache[after].start_offset != own[at].start_offset:
            return False


@compiled
def end_of_cached(cache: Rows[EpochEntry], log: List, at: int, leo: int) -> int:
    """Where the epoch at a place of a log's cache ends."""
    return cache[at + 1].start_offset if at + 1 < log.start + log.count else leo


@compiled
def epoch_of_offset(cache: Rows[EpochEntry], log: List, offset: int) -> int:
    """The epoch that a cache gives an offset, UNKNOWN below its first."""
    found = UNKNOWN
    for at in range(log.start, log.start + log.count):
        if cache[at].start_offset <= offset:
            found = cache[at].epoch
    return found
