"""Steps 5 and 6 of viewstamped: the primary's PREPARE, COMMIT and STARTVIEW, and what a quorum has prepared."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.lists import every
from emulator.rounds.quorums.advance_commit import matched_by, note_committed
from emulator.rounds.quorums.constants import CANDIDATE, FOLLOWER, LEADER, RECOVERING
from emulator.rounds.quorums.flight import forget_arrived, is_there, put_under_way, round_of_arrival
from emulator.rounds.quorums.inputs import Inputs, Rules, Settings
from emulator.rounds.quorums.lead import follow
from emulator.rounds.quorums.links import gets_through, runs
from emulator.rounds.quorums.log import copy_entries
from emulator.rounds.quorums.members import everybody
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.take_history import take_history
from emulator.rounds.quorums.viewstamped.change_views import leave_view


@compiled
def prepare(lists: Lists, inputs: Inputs, group: Group, settings: Settings, rules: Rules) -> None:
    """What arrives of messages under way; then every primary's to every other server, and its PREPAREOK.

    Source: VR revisited, 4.1; 4.2, 5 for who is not in the view yet; 5.2 for who is behind.
    """
    if group.messages.count > 0:
        take_prepares_under_way(lists, group, settings, rules)
    for slot in range(group.copies):
        for other in range(group.copies):
            primary = lists.servers[slot]
            if primary.role == LEADER and runs(lists, slot) and other != slot and gets_through(lists, slot, other):
                arrives = round_of_arrival(lists, inputs, group, settings, slot, other)
                if arrives > group.now:
                    put_under_way(lists, group, slot, other, arrives, 0, primary.end)
                else:
                    prepare_at(lists, group, settings, rules, slot, other, primary.end, primary.commit)


@compiled
def take_prepares_under_way(lists: Lists, group: Group, settings: Settings, rules: Rules) -> None:
    """Messages that arrive in this round or should have, in the order in which they were sent."""
    for at in every(group.messages):
        message = lists.messages[at]
        if is_there(lists, group, message):
            prepare_at(lists, group, settings, rules, message.sender, message.receiver, message.to_entry, message.commit)
    forget_arrived(lists, group)


@compiled
def prepare_at(
    lists: Lists, group: Group, settings: Settings, rules: Rules, slot: int, other: int, to_entry: int, commit: int
) -> None:
    """One message: who is in the view takes the next operations in their order, who is not takes the whole log, up to an end."""
    primary, server = lists.servers[slot], lists.servers[other]
    if server.role == RECOVERING or (server.term > primary.term and rules.refuse_older_term):
        return
    if server.term < primary.term or server.role == CANDIDATE:
        leave_view(lists, group, other)
        server.role = FOLLOWER
        server.term = primary.term
        take_history(lists, group, rules, other, slot, to_entry)
        server.log_term = primary.term
    else:
        follow(lists, group, other)
        before = server.end
        copy_entries(lists, server, primary, min(to_entry, before + settings.max_entries))
        group.sent_entries += server.end - before
    server.heard_round = group.now
    server.commit = max(server.commit, min(commit, server.end))
    if gets_through(lists, other, slot):
        peer = lists.peers[slot * group.copies + other]
        peer.match_to = max(peer.match_to, min(server.end, primary.end))


@compiled
def commit_operations(lists: Lists, group: Group, settings: Settings) -> None:
    """Every primary commits what a quorum has prepared in its view, itself among them, of whichever view it is."""
    for slot in range(group.copies):
        primary = lists.servers[slot]
        if primary.role == LEADER and runs(lists, slot):
            end = matched_by(lists, group, settings, slot, everybody(group), group.copies // 2 + 1)
            if end > primary.commit:
                primary.commit = end
                note_committed(lists, group, slot)
