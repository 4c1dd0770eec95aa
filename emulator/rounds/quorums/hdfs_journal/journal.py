"""Step 6 of hdfs-journal: the writer's edits, and nodes that fall out of sync until the next segment."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.lists import every
from emulator.rounds.quorums.constants import LEADER
from emulator.rounds.quorums.flight import forget_arrived, give_up, is_lost, is_there, takes_rounds, write_to_disk
from emulator.rounds.quorums.inputs import Inputs, Rules, Settings
from emulator.rounds.quorums.lead import stop_leading
from emulator.rounds.quorums.links import gets_through, runs
from emulator.rounds.quorums.log import copy_entries
from emulator.rounds.quorums.records import Group, Lists, Message


@compiled
def journal(lists: Lists, inputs: Inputs, group: Group, settings: Settings, rules: Rules) -> None:
    """What arrives of edits under way; then each writer's to every node that is in sync. Without a majority in sync it stops.

    Source: IPCLoggerChannel.sendEdits; AsyncLoggerSet.waitForWriteQuorum.
    """
    for at in every(group.messages):
        take_arrived(lists, group, rules, lists.messages[at])
    forget_arrived(lists, group)
    for slot in range(group.copies):
        if lists.servers[slot].role != LEADER or not runs(lists, slot):
            continue
        write_to_disk(lists, group, settings, slot)
        in_sync = 1
        for other in range(group.copies):
            if other != slot:
                send_edits(lists, inputs, group, settings, rules, slot, other)
                in_sync += lists.peers[slot * group.copies + other].in_sync
        if in_sync < group.copies // 2 + 1:
            stop_leading(lists, group, slot)


@compiled
def take_arrived(lists: Lists, group: Group, rules: Rules, message: Message) -> None:
    """Edits that were under way, in the order in which they were sent: they are taken, or have failed."""
    slot, other = message.sender, message.receiver
    if message.arrives > group.now or is_lost(lists, message):
        return
    if is_there(lists, group, message):
        take_edits(lists, group, rules, slot, other, message.previous, message.to_entry, message.commit)
    elif other != slot:
        fall_out(lists, group, slot, other)


@compiled
def send_edits(lists: Lists, inputs: Inputs, group: Group, settings: Settings, rules: Rules, slot: int, other: int) -> None:
    """What comes next for a node that is in sync, if there is something."""
    writer, peer = lists.servers[slot], lists.peers[slot * group.copies + other]
    previous = peer.next_entry
    to_entry = min(writer.end, previous + settings.max_entries)
    if not peer.in_sync or to_entry == previous:
        return
    if not gets_through(lists, slot, other):
        fall_out(lists, group, slot, other)
    elif not takes_rounds(lists, inputs, group, settings, slot, other, previous, to_entry):
        take_edits(lists, group, rules, slot, other, previous, to_entry, writer.commit)


@compiled
def take_edits(
    lists: Lists, group: Group, rules: Rules, slot: int, other: int, previous: int, to_entry: int, commit: int
) -> None:
    """A node writes what comes behind its last edit into the segment that this writer has open there; all else has failed.

    Source: Journal.journal, checkWriteRequest.
    """
    writer, node, peer = lists.servers[slot], lists.servers[other], lists.peers[slot * group.copies + other]
    is_open = node.leader == slot and node.log_term == writer.term and node.term == writer.term
    if (is_open or not rules.refuse_older_term) and previous == node.end:
        copy_entries(lists, node, writer, to_entry)
        group.sent_entries += to_entry - previous
        node.commit = max(node.commit, min(commit, to_entry))
        if to_entry > writer.segment:  # it has passed from a segment to the next
            node.segment = writer.segment
            node.finalized = 0
            node.accepted = 0
        if gets_through(lists, other, slot):
            peer.match_to = max(peer.match_to, to_entry)
            peer.next_entry = max(peer.next_entry, to_entry)
            return
    fall_out(lists, group, slot, other)


@compiled
def fall_out(lists: Lists, group: Group, slot: int, other: int) -> None:
    """A node missed edits, or the writer does not know that it has them: it gets none before the next segment."""
    lists.peers[slot * group.copies + other].in_sync = 0
    give_up(lists, group, slot, other)
