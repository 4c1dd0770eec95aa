"""Step 6 of zab, phase 3: an established leader proposes, followers take proposals in their order and acknowledge them."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.lists import every
from emulator.rounds.quorums.constants import LEADER
from emulator.rounds.quorums.flight import forget_arrived, give_up, is_there, takes_rounds, write_to_disk
from emulator.rounds.quorums.inputs import Inputs, Rules, Settings
from emulator.rounds.quorums.links import gets_through, runs
from emulator.rounds.quorums.log import copy_entries
from emulator.rounds.quorums.records import Group, Lists


@compiled
def broadcast(lists: Lists, inputs: Inputs, group: Group, settings: Settings, rules: Rules) -> None:
    """What arrives of proposals under way; then each established leader's to every follower that has its history.

    Source: Zab, section IV-A, phase 3.
    """
    if group.messages.count > 0:
        take_proposals_under_way(lists, group, rules)
    for slot in range(group.copies):
        leader = lists.servers[slot]
        if leader.role != LEADER or not runs(lists, slot):
            continue
        for other in range(group.copies):
            peer = lists.peers[slot * group.copies + other]
            if other == slot:
                write_to_disk(lists, group, settings, slot)
            elif peer.in_sync and gets_through(lists, slot, other):
                previous = peer.next_entry
                to_entry = min(leader.end, previous + settings.max_entries)
                if not takes_rounds(lists, inputs, group, settings, slot, other, previous, to_entry):
                    take_proposals(lists, group, rules, slot, other, previous, to_entry, leader.commit)


@compiled
def take_proposals_under_way(lists: Lists, group: Group, rules: Rules) -> None:
    """Proposals that arrive in this round or should have, in the order in which they were sent."""
    for at in every(group.messages):
        message = lists.messages[at]
        if is_there(lists, group, message):
            slot, other = message.sender, message.receiver
            take_proposals(lists, group, rules, slot, other, message.previous, message.to_entry, message.commit)
    forget_arrived(lists, group)


@compiled
def take_proposals(
    lists: Lists, group: Group, rules: Rules, slot: int, other: int, previous: int, to_entry: int, commit: int
) -> None:
    """A follower of this leader in its epoch takes what comes next, and hears what is committed; others don't listen.

    Source: Zab, f.3.2, f.3.3.
    """
    leader, server, peer = lists.servers[slot], lists.servers[other], lists.peers[slot * group.copies + other]
    if (server.leader != slot or server.term != leader.term) and rules.refuse_older_term:
        return
    server.heard_round = group.now
    follows = previous <= server.end
    if follows:
        before = server.end
        copy_entries(lists, server, leader, to_entry)
        group.sent_entries += server.end - before
        server.commit = max(server.commit, min(commit, to_entry))
    if not gets_through(lists, other, slot):
        return
    peer.answered_round = group.now
    if follows:
        peer.match_to = max(peer.match_to, to_entry)
        peer.next_entry = max(peer.next_entry, to_entry)
    else:  # one before it got lost: the connection goes on with that
        give_up(lists, group, slot, other)
        peer.next_entry = server.end
