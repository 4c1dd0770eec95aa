"""Step 4 of hdfs-journal: a majority finalizes a segment before the next one starts, in which who fell out writes again."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.constants import LEADER, NOBODY
from emulator.rounds.quorums.flight import give_up
from emulator.rounds.quorums.hdfs_journal.fencing import answers, is_allowed, is_called
from emulator.rounds.quorums.hdfs_journal.recover_segment import check_finalized, has_segment
from emulator.rounds.quorums.inputs import Rules, Settings
from emulator.rounds.quorums.lead import stop_leading
from emulator.rounds.quorums.links import leader_of_clients, runs
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.take_history import take_history


@compiled
def roll(lists: Lists, group: Group, settings: Settings, rules: Rules) -> None:
    """Every writer whose segment is old enough, and whose edits a majority has, goes on with a new one, or stops.

    Source: FSEditLog.rollEditLog, with dfs.ha.log-roll.period.
    """
    for slot in range(group.copies):
        writer = lists.servers[slot]
        if writer.role != LEADER or not runs(lists, slot) or not is_due(lists, group, settings, slot):
            continue
        if rules.finalize_first and writer.commit < writer.end:
            continue
        is_finalized = finalize_log_segment(lists, group, rules, slot) or not rules.finalize_first
        if not is_finalized or not start_log_segment(lists, group, rules, slot):
            stop_leading(lists, group, slot)


@compiled
def is_due(lists: Lists, group: Group, settings: Settings, slot: int) -> bool:
    """Whether a writer's segment is as old as segments get."""
    return group.now - lists.servers[slot].segment_round >= settings.roll_rounds


@compiled
def waits_to_roll(lists: Lists, group: Group, settings: Settings) -> bool:
    """Whether the writer that clients reach takes no edits, since it is to roll when a majority has what it wrote."""
    slot = leader_of_clients(lists, group)
    return slot != NOBODY and is_due(lists, group, settings, slot)


@compiled
def is_behind_edits(lists: Lists, group: Group, slot: int, other: int) -> bool:
    """Whether edits are under way to a node that is in sync: calls between segments come behind them then."""
    peer = lists.peers[slot * group.copies + other]
    return other != slot and peer.in_sync != 0 and peer.match_to < lists.servers[slot].end


@compiled
def finalize_log_segment(lists: Lists, group: Group, rules: Rules, slot: int) -> bool:
    """Who has the writer's segment as it is closes it for good; whether a majority does. Who is out of sync is not asked.

    Source: Journal.finalizeLogSegment; IPCLoggerChannel, throwIfOutOfSync.
    """
    count = 0
    for other in range(group.copies):
        is_asked = other == slot or lists.peers[slot * group.copies + other].in_sync == 1
        if not is_asked or is_behind_edits(lists, group, slot, other) or not is_called(lists, slot, other):
            continue
        node = lists.servers[other]
        if is_allowed(lists, group, rules, slot, other) and has_segment(lists, rules, node, lists.servers[slot]):
            node.finalized = 1 if node.end > node.segment else 0  # one without edits is none: the next begins at the same place
            node.accepted = 0
            if answers(lists, slot, other):
                count += 1
    return count >= group.copies // 2 + 1


@compiled
def start_log_segment(lists: Lists, group: Group, rules: Rules, slot: int) -> bool:
    """A segment begins at the log's end, on whoever gets the call and has no edits in it already; whether a majority has it open.

    Where the answer alone is lost, a node that was in sync stays so. Source: Journal.startLogSegment; IPCLoggerChannel, which an
    answer puts in sync and edits that fail put out; JournalNodeSyncer (HDFS-4025) for what a node lacks before, at once here.
    """
    writer, count = lists.servers[slot], 1
    for other in range(group.copies):
        if other == slot:
            continue
        peer = lists.peers[slot * group.copies + other]
        if is_behind_edits(lists, group, slot, other):
            count += 1
            continue
        give_up(lists, group, slot, other)
        if not is_called(lists, slot, other) or not start_at(lists, group, rules, slot, other):
            peer.in_sync = 0
        elif answers(lists, slot, other):
            count += 1
            peer.in_sync = 1
            peer.match_to = writer.end
            peer.next_entry = writer.end
    writer.segment = writer.end
    writer.segment_round = group.now
    writer.finalized = 0
    writer.accepted = 0
    writer.log_term = writer.term
    writer.leader = slot
    return count >= group.copies // 2 + 1


@compiled
def start_at(lists: Lists, group: Group, rules: Rules, slot: int, other: int) -> bool:
    """startLogSegment at a node that is not the writer's own; whether it takes it."""
    writer, node = lists.servers[slot], lists.servers[other]
    has_edits = node.segment == writer.end and node.end > writer.end
    if not is_allowed(lists, group, rules, slot, other) or has_edits:
        return False
    check_finalized(lists, group, other, slot)
    take_history(lists, group, rules, other, slot, lists.servers[slot].end)
    node.segment = writer.end
    node.finalized = 0
    node.accepted = 0
    node.log_term = writer.term
    node.leader = slot
    return True
