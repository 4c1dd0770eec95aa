"""Step 4 of hdfs-journal: a majority finalizes a segment before the next one starts, in which who fell out writes again."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.constants import DOWN, IN_SYNC, LEADER, NOBODY, OUT_OF_SYNC, WAITING
from emulator.rounds.quorums.flight import give_up
from emulator.rounds.quorums.hdfs_journal.fencing import answers, is_allowed, is_called, is_silent, stop_writing
from emulator.rounds.quorums.hdfs_journal.recover_segment import check_finalized, has_segment
from emulator.rounds.quorums.inputs import Rules, Settings
from emulator.rounds.quorums.links import leader_of_clients, runs
from emulator.rounds.quorums.log import first_other_entry
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.take_history import take_behind


@compiled
def roll(lists: Lists, group: Group, settings: Settings, rules: Rules) -> None:
    """Every writer whose segment is old enough, and whose edits a majority has, goes on with a new one, or puts it off, or stops.

    Source: FSEditLog.rollEditLog, with dfs.ha.log-roll.period.
    """
    for slot in range(group.copies):
        writer = lists.servers[slot]
        writer.puts_off = 0
        if writer.role != LEADER or not runs(lists, slot) or not is_due(lists, group, settings, slot):
            continue
        if rules.finalize_first:
            if writer.commit < writer.end:
                continue
            if waits_for_answers(lists, group, slot):
                writer.puts_off = 1
                continue
        is_finalized = finalize_log_segment(lists, group, rules, slot) or not rules.finalize_first
        if not is_finalized or not start_log_segment(lists, group, rules, slot):
            stop_writing(lists, group, slot)


@compiled
def is_due(lists: Lists, group: Group, settings: Settings, slot: int) -> bool:
    """Whether a writer's segment is as old as segments get."""
    return group.now - lists.servers[slot].segment_round >= settings.roll_rounds


@compiled
def waits_to_roll(lists: Lists, group: Group, settings: Settings) -> bool:
    """Whether the writer that clients reach takes no edits, since it is to roll when a majority has what it wrote."""
    slot = leader_of_clients(lists, group)
    if slot == NOBODY or not is_due(lists, group, settings, slot):
        return False
    return lists.servers[slot].commit < lists.servers[slot].end


@compiled
def is_behind_edits(lists: Lists, group: Group, slot: int, other: int) -> bool:
    """Whether a node in sync has edits in its queue: calls between segments come behind them then."""
    peer = lists.peers[slot * group.copies + other]
    return other != slot and peer.in_sync == IN_SYNC and peer.match_to < lists.servers[slot].end


@compiled
def waits_for_answers(lists: Lists, group: Group, slot: int) -> bool:
    """Whether too few nodes can answer in this round, and a majority may later: the next segment is put off.

    Source: AsyncLoggerSet.waitForWriteQuorum.
    """
    can_now, may_later = 1, 1
    for other in range(group.copies):
        peer = lists.peers[slot * group.copies + other]
        if other == slot or peer.in_sync == OUT_OF_SYNC or lists.servers[other].status & DOWN:
            continue
        may_later += 1
        is_next = peer.in_sync == IN_SYNC and not is_behind_edits(lists, group, slot, other)
        if is_next and not is_silent(lists, slot, other):
            can_now += 1
    majority = group.copies // 2 + 1
    return can_now < majority and may_later >= majority


@compiled
def finalize_log_segment(lists: Lists, group: Group, rules: Rules, slot: int) -> bool:
    """Who has the writer's segment as it is closes it for good; whether a majority does. Only who is in sync is asked.

    Source: Journal.finalizeLogSegment; IPCLoggerChannel, throwIfOutOfSync.
    """
    count = 0
    for other in range(group.copies):
        is_asked = other == slot or lists.peers[slot * group.copies + other].in_sync == IN_SYNC
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

    For who is silent the call stays in its queue. Source: Journal.startLogSegment; IPCLoggerChannel, one queue a node, which an
    answer puts in sync.
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
        is_taken = is_called(lists, slot, other) and start_at(lists, group, rules, slot, other, writer.end)
        if is_silent(lists, slot, other):
            peer.in_sync = WAITING
        elif is_taken:
            peer.in_sync = IN_SYNC
            count += 1
        else:
            peer.in_sync = OUT_OF_SYNC
            continue
        peer.match_to = writer.end
        peer.next_entry = writer.end
        peer.took = writer.end
        peer.answered_round = group.now
    writer.segment = writer.end
    writer.segment_round = group.now
    writer.finalized = 0
    writer.accepted = 0
    writer.log_term = writer.term
    writer.leader = slot
    return count >= group.copies // 2 + 1


@compiled
def start_at(lists: Lists, group: Group, rules: Rules, slot: int, other: int, begin: int) -> bool:
    """startLogSegment, of one that begins at a place of the writer's log, at a node that is not its own; whether that takes it.

    Source: Journal.startLogSegment; JournalNodeSyncer (HDFS-4025) for what the node lacks before, at once here.
    """
    writer, node = lists.servers[slot], lists.servers[other]
    has_edits = node.segment == begin and node.end > begin
    if not is_allowed(lists, group, rules, slot, other) or has_edits:
        return False
    check_finalized(lists, group, other, slot, begin)
    common = first_other_entry(lists, node, writer, min(node.end, begin))
    take_behind(lists, group, rules, other, slot, common, begin)
    node.segment = begin
    node.finalized = 0
    node.accepted = 0
    node.log_term = writer.term
    node.leader = slot
    return True
