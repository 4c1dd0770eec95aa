"""Step 6 of hdfs-journal: the writer's edits, and what is late of them since nodes were silent."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.lists import every
from emulator.rounds.quorums.constants import IN_SYNC, LEADER, WAITING
from emulator.rounds.quorums.flight import forget_arrived, is_lost, takes_rounds, write_to_disk
from emulator.rounds.quorums.hdfs_journal.fall_out import fall_out, fall_out_of_sync
from emulator.rounds.quorums.hdfs_journal.fencing import is_silent
from emulator.rounds.quorums.hdfs_journal.segments import start_at
from emulator.rounds.quorums.inputs import Inputs, Rules, Settings
from emulator.rounds.quorums.links import gets_through, runs
from emulator.rounds.quorums.log import copy_entries
from emulator.rounds.quorums.records import Group, Lists, Message


@compiled
def journal(lists: Lists, inputs: Inputs, group: Group, settings: Settings, rules: Rules) -> None:
    """What was late, what arrives, what is sent; then nodes fall out, and writers without a majority end.

    Source: IPCLoggerChannel.sendEdits; AsyncLoggerSet.waitForWriteQuorum.
    """
    take_late_answers(lists, group)
    call_who_waits(lists, group, rules)
    for at in every(group.messages):
        take_arrived(lists, group, rules, lists.messages[at])
    forget_arrived(lists, group)
    send_edits(lists, inputs, group, settings, rules)
    fall_out_of_sync(lists, group, settings)


@compiled
def is_writing(lists: Lists, slot: int) -> bool:
    """Whether a server is a writer that runs."""
    return lists.servers[slot].role == LEADER and runs(lists, slot)


@compiled
def take_late_answers(lists: Lists, group: Group) -> None:
    """What nodes in sync took before gets to be known, if they are heard."""
    for slot in range(group.copies):
        for other in range(group.copies if is_writing(lists, slot) else 0):
            peer = lists.peers[slot * group.copies + other]
            is_late = other != slot and peer.in_sync == IN_SYNC and peer.took > peer.match_to
            if is_late and gets_through(lists, other, slot):
                peer.match_to = peer.took
                peer.answered_round = group.now


@compiled
def call_who_waits(lists: Lists, group: Group, rules: Rules) -> None:
    """startLogSegment gets to nodes that were silent.

    Source: IPCLoggerChannel: a call stays in the node's queue until it is answered, or has failed.
    """
    for slot in range(group.copies):
        for other in range(group.copies if is_writing(lists, slot) else 0):
            peer = lists.peers[slot * group.copies + other]
            if other == slot or peer.in_sync != WAITING or not gets_through(lists, slot, other):
                continue
            if not start_at(lists, group, rules, slot, other, lists.servers[slot].segment):
                fall_out(lists, group, slot, other)
            elif gets_through(lists, other, slot):
                peer.in_sync = IN_SYNC
                peer.answered_round = group.now


@compiled
def take_arrived(lists: Lists, group: Group, rules: Rules, message: Message) -> None:
    """Edits that were under way, in the order in which they were sent; those for a node that is silent are late."""
    slot, other = message.sender, message.receiver
    if message.arrives > group.now or is_lost(lists, message):
        return
    peer = lists.peers[slot * group.copies + other]
    if slot == other and runs(lists, slot):
        peer.match_to = message.to_entry  # its own disk has written them
    elif is_silent(lists, slot, other) or slot == other or peer.took > peer.match_to:
        message.arrives = group.now + 1
    elif gets_through(lists, slot, other):
        take_edits(lists, group, rules, slot, other, message.previous, message.to_entry, message.commit)
    else:
        fall_out(lists, group, slot, other)


@compiled
def send_edits(lists: Lists, inputs: Inputs, group: Group, settings: Settings, rules: Rules) -> None:
    """Each writer sends what comes next to the nodes in sync that it gets to and of which no answer is late."""
    for slot in range(group.copies):
        if not is_writing(lists, slot):
            continue
        write_to_disk(lists, group, settings, slot)
        writer = lists.servers[slot]
        for other in range(group.copies):
            peer = lists.peers[slot * group.copies + other]
            is_sent = other != slot and peer.in_sync == IN_SYNC and peer.took == peer.match_to
            previous = peer.next_entry
            to_entry = min(writer.end, previous + settings.max_entries)
            if not is_sent or to_entry == previous or not gets_through(lists, slot, other):
                continue
            if not takes_rounds(lists, inputs, group, settings, slot, other, previous, to_entry):
                take_edits(lists, group, rules, slot, other, previous, to_entry, writer.commit)


@compiled
def take_edits(
    lists: Lists, group: Group, rules: Rules, slot: int, other: int, previous: int, to_entry: int, commit: int
) -> None:
    """A node writes what comes behind its last edit into the segment that this writer has open there; else it falls out.

    Source: Journal.journal, checkWriteRequest.
    """
    writer, node, peer = lists.servers[slot], lists.servers[other], lists.peers[slot * group.copies + other]
    is_open = node.leader == slot and node.log_term == writer.term and node.term == writer.term
    if previous != node.end or (not is_open and rules.refuse_older_term):
        fall_out(lists, group, slot, other)
        return
    copy_entries(lists, node, writer, to_entry)
    group.sent_entries += to_entry - previous
    node.commit = max(node.commit, min(commit, to_entry))
    if to_entry > writer.segment:  # it has passed from a segment to the next
        node.segment = writer.segment
        node.finalized = 0
        node.accepted = 0
    peer.took = to_entry
    peer.next_entry = max(peer.next_entry, to_entry)
    if gets_through(lists, other, slot):
        peer.match_to = to_entry
        peer.answered_round = group.now
