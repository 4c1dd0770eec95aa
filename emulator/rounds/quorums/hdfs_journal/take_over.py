"""Step 3 of hdfs-journal: a new writer has nodes refuse the old one, recovers its last segment, starts its own."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.advance_commit import note_committed
from emulator.rounds.quorums.constants import CANDIDATE, IN_SYNC, NOBODY
from emulator.rounds.quorums.hdfs_journal.fence_writer import has_fenced
from emulator.rounds.quorums.hdfs_journal.fencing import answers, is_called, promise, stop_writing
from emulator.rounds.quorums.hdfs_journal.recover_segment import accept_recovery, prepare_recovery
from emulator.rounds.quorums.hdfs_journal.segments import finalize_log_segment, start_log_segment
from emulator.rounds.quorums.inputs import Rules
from emulator.rounds.quorums.lead import begin_leadership
from emulator.rounds.quorums.links import runs
from emulator.rounds.quorums.records import Group, Lists

NEW_EPOCH, PREPARE_RECOVERY, ACCEPT_RECOVERY, START_SEGMENT = range(4)
"""Of Server.stage: the call that comes next."""


@compiled
def take_over(lists: Lists, group: Group, rules: Rules) -> None:
    """The next call of every new writer that has done with fencing; one that too few nodes answer ends it.

    Source: QuorumJournalManager, recoverUnfinalizedSegments.
    """
    for slot in range(group.copies):
        server = lists.servers[slot]
        if server.role != CANDIDATE or not runs(lists, slot) or not has_fenced(lists, group, slot):
            continue
        if server.stage == NEW_EPOCH:
            goes_on = new_epoch(lists, group, slot)
        elif server.stage == PREPARE_RECOVERY:
            goes_on = prepare_recovery(lists, group, rules, slot)
        elif server.stage == ACCEPT_RECOVERY:
            goes_on = accept_recovery(lists, group, rules, slot)
        else:
            goes_on = begin_to_write(lists, group, rules, slot)
        server.stage += 1
        if not goes_on:
            stop_writing(lists, group, slot)


@compiled
def new_epoch(lists: Lists, group: Group, slot: int) -> bool:
    """The epoch after the largest that a majority has promised; they, and whoever else gets the call, promise it.

    Source: QuorumJournalManager.createNewUniqueEpoch; Journal.newEpoch.
    """
    promised, count = 0, 0
    for other in range(group.copies):
        if is_called(lists, slot, other) and answers(lists, slot, other):
            promised = max(promised, lists.servers[other].term)
            count += 1
    if count < group.copies // 2 + 1:
        return False
    lists.servers[slot].term = promised + 1
    lists.servers[slot].leader = NOBODY
    for other in range(group.copies):
        node = lists.servers[other]
        if other != slot and is_called(lists, slot, other) and node.term <= promised:
            promise(lists, group, other, promised + 1)
            node.leader = NOBODY
    return True


@compiled
def begin_to_write(lists: Lists, group: Group, rules: Rules, slot: int) -> bool:
    """finalizeLogSegment of what was recovered, which is committed with that, and the first segment of the epoch.

    A new writer thinks of all nodes as in sync until a call fails. Source: IPCLoggerChannel, outOfSync.
    """
    writer = lists.servers[slot]
    for other in range(group.copies):
        peer = lists.peers[slot * group.copies + other]
        peer.in_sync = IN_SYNC
        peer.match_to = writer.end
        peer.next_entry = writer.end
        peer.took = writer.end
        peer.answered_round = group.now
    if not finalize_log_segment(lists, group, rules, slot) or not start_log_segment(lists, group, rules, slot):
        return False
    begin_leadership(lists, group, slot, 0)
    writer.waited_round = group.now
    if writer.end > writer.commit:
        writer.commit = writer.end
        note_committed(lists, group, slot)
    return True
