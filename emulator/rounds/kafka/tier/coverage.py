"""Up to where remote segments have the records of a log: those that are there, or count for another reason."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.kafka.tier.records import COPY_FINISHED
from emulator.rounds.lists import every

IN_STORE, WAS_COPIED, WAS_UNREFERENCED, WAS_GIVEN_UP, WAS_REMOVED = range(5)
"""Why a remote segment counts: it is there as a whole, whether a lookup finds it or not (I); it was copied once; a leader of
another lineage deleted it because its epochs are older than that log's first
(RLMExpirationTask.deleteLogSegmentsDueToLeaderEpochCacheTruncation), or for whatever reason; it went when remote storage was
turned off.
"""


@compiled
def covered_to(lists: Lists, tiers: TierLists, part: Partition, leader: Replica, epoch: int, offset: int, why: int) -> int:
    """Up to where, from an offset of an epoch on, remote segments that count have the records; the offset if none has it."""
    whole = tiers.whole[0]
    for number in range(whole.segments.count):
        segment = tiers.remote[whole.segments.start + number]
        if segment.base_offset > offset or segment.end_offset < offset or not counts(lists, tiers, part, leader, number, why):
            continue
        first = whole.epochs.start + segment.first_epoch
        for at in range(first, first + segment.epochs):
            end = segment.end_offset + 1
            if at + 1 < first + segment.epochs:
                end = tiers.remote_epochs[at + 1].start_offset
            if tiers.remote_epochs[at].epoch == epoch and tiers.remote_epochs[at].start_offset <= offset:
                offset = max(offset, end)
    return offset


@compiled
def counts(lists: Lists, tiers: TierLists, part: Partition, leader: Replica, number: int, why: int) -> bool:
    """Whether a remote segment counts for a reason."""
    whole, segment = tiers.whole[0], tiers.remote[tiers.whole[0].segments.start + number]
    if why == IN_STORE:
        is_there = segment.state == COPY_FINISHED and segment.stored_bytes >= segment.size_bytes
        return is_there and number >= whole.first_segment
    if why == WAS_COPIED:
        return segment.was_finished != 0
    if why == WAS_REMOVED:
        return segment.was_finished != 0 and number < whole.first_segment
    if part.unclean_epoch == 0 or segment.deleted_epoch == UNKNOWN or leader.epochs.count == 0:
        return False
    if why == WAS_UNREFERENCED and not segment.was_unreferenced:
        return False
    for at in every(leader.epochs):
        if lists.epochs[at].epoch == segment.deleted_epoch:
            return False
    return segment.deleted_epoch > lists.epochs[leader.epochs.start].epoch
