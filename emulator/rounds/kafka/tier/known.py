"""What a broker knows of remote segments, by epoch: those that are served, others that are not deleted, and how far epochs reach.

RemoteLogLeaderEpochState; docs/tiered_rounds.md, Metadata. Entries stand by epoch, base offset, served ones first.
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.entries import remove
from emulator.rounds.kafka.scratch_lists import TierLists
from emulator.rounds.kafka.tier.records import Known, RemoteSegment, TierReplica
from emulator.rounds.lists import List, append, every
from emulator.rounds.records import Rows


@compiled
def comes_before(known: Rows[Known], one: int, other: int) -> bool:
    """Whether an entry stands before another: by epoch, base, served ones first and those by start."""
    left, right = known[one], known[other]
    if left.epoch != right.epoch:
        return left.epoch < right.epoch
    if left.base_offset != right.base_offset:
        return left.base_offset < right.base_offset
    if left.served != right.served:
        return left.served > right.served
    return left.served == 1 and left.start_offset < right.start_offset


@compiled
def swap(known: Rows[Known], one: int, other: int) -> None:
    """Exchange two entries."""
    left, right = known[one], known[other]
    left.epoch, right.epoch = right.epoch, left.epoch
    left.base_offset, right.base_offset = right.base_offset, left.base_offset
    left.served, right.served = right.served, left.served
    left.start_offset, right.start_offset = right.start_offset, left.start_offset
    left.end_offset, right.end_offset = right.end_offset, left.end_offset
    left.segment, right.segment = right.segment, left.segment


@compiled
def add_known(
    known: Rows[Known], entries: List, segment: RemoteSegment, number: int, epoch: int, start: int, end: int, served: int
) -> None:
    """Add an entry behind those that are alike."""
    at = append(entries)
    entry = known[at]
    entry.epoch = epoch
    entry.base_offset = segment.base_offset
    entry.served = served
    entry.start_offset = start
    entry.end_offset = end
    entry.segment = number
    if entries.full:
        return
    while at > entries.start and comes_before(known, at, at - 1):
        swap(known, at, at - 1)
        at -= 1


@compiled
def place_of_known(known: Rows[Known], entries: List, epoch: int, number: int, served: int) -> int:
    """Where a segment's entry of an epoch stands, -1 if it has none."""
    for at in range(entries.start + entries.count - 1, entries.start - 1, -1):
        if known[at].segment == number and known[at].epoch == epoch and known[at].served == served:
            return at
    return -1


@compiled
def serve(tiers: TierLists, replica: TierReplica, segment: RemoteSegment, number: int, epoch: int, start: int, end: int) -> None:
    """A copy is finished: served ones that start at or after it are put aside while the epoch reaches no further (KAFKA-15168).

    One at the same start that reaches further is forgotten.
    """
    known, entries = tiers.known, replica.known
    reach = place_of_reach(tiers, replica, epoch)
    highest = 0 if reach < 0 else tiers.reaches[reach].offset
    is_behind_all = reach < 0 or start > highest  # the usual case: nothing served starts at or after it
    while not is_behind_all:
        last = -1
        for at in every(entries):
            if known[at].epoch == epoch and known[at].served and (last < 0 or known[at].start_offset > known[last].start_offset):
                last = at
        if last < 0 or known[last].start_offset < start or highest > end:
            break
        aside, first, until = known[last].segment, known[last].start_offset, known[last].end_offset
        remove(known, entries, last, 1)
        put_aside(tiers, replica, aside, epoch, first, until)
    if not is_behind_all:
        for at in every(entries):
            if known[at].epoch == epoch and known[at].served and known[at].start_offset == start:
                remove(known, entries, at, 1)
                break
    own = place_of_known(known, entries, epoch, number, 0)
    if own >= 0:
        remove(known, entries, own, 1)
    add_known(known, entries, segment, number, epoch, start, end, 1)
    if reach < 0:
        entry = tiers.reaches[append(replica.reaches)]
        entry.epoch = epoch
        entry.offset = end
    elif end > highest:
        tiers.reaches[reach].offset = end
        replica.reaches.changes += 1


@compiled
def put_aside(tiers: TierLists, replica: TierReplica, number: int, epoch: int, start: int, end: int) -> None:
    """A segment is unreferenced, once."""
    if place_of_known(tiers.known, replica.known, epoch, number, 0) < 0:
        segment = tiers.remote[tiers.whole[0].segments.start + number]
        add_known(tiers.known, replica.known, segment, number, epoch, start, end, 0)


@compiled
def set_aside(
    known: Rows[Known], entries: List, segment: RemoteSegment, number: int, epoch: int, start: int, end: int, is_kept: bool
) -> None:
    """A deletion: begun, the segment is served no more; done (not `is_kept`), it is forgotten."""
    served = place_of_known(known, entries, epoch, number, 1) if is_kept else -1
    aside = place_of_known(known, entries, epoch, number, 0)
    if served >= 0 and aside < 0:
        serve_no_more(known, entries, served)
        return
    if served >= 0:
        remove(known, entries, served, 1)
        aside = place_of_known(known, entries, epoch, number, 0)
    if is_kept and aside < 0:
        add_known(known, entries, segment, number, epoch, start, end, 0)
    if not is_kept and aside >= 0:
        remove(known, entries, aside, 1)


@compiled
def serve_no_more(known: Rows[Known], entries: List, at: int) -> None:
    """An entry is unreferenced: it stands behind those that are alike, most often where it stood."""
    known[at].served = 0
    entries.changes += 1
    while at + 1 < entries.start + entries.count and not comes_before(known, at, at + 1):
        swap(known, at, at + 1)
        at += 1


@compiled
def place_of_reach(tiers: TierLists, replica: TierReplica, epoch: int) -> int:
    """Where an epoch's reach stands, -1 if nothing of it was ever copied."""
    for at in every(replica.reaches):
        if tiers.reaches[at].epoch == epoch:
            return at
    return -1
