"""Step 4 of zab, phase 2: followers take the leader's history, and a quorum of them makes the leader an established one."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.advance_commit import note_committed
from emulator.rounds.quorums.constants import CANDIDATE
from emulator.rounds.quorums.inputs import Rules
from emulator.rounds.quorums.lead import begin_leadership
from emulator.rounds.quorums.links import gets_through, runs
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.take_history import take_history


@compiled
def synchronize(lists: Lists, group: Group, rules: Rules) -> None:
    """NEWLEADER to followers that acknowledged the epoch in an earlier round, until they have answered it.

    Source: Zab, section IV-A, phase 2; l.3.3 and l.3.4.
    """
    for slot in range(group.copies):
        leader = lists.servers[slot]
        if leader.leader != slot or not runs(lists, slot):
            continue
        in_sync = 1
        for other in range(group.copies):
            peer = lists.peers[slot * group.copies + other]
            if other != slot:
                if not peer.in_sync and peer.joined_round < group.now and gets_through(lists, slot, other):
                    give_history(lists, group, rules, slot, other)
                in_sync += peer.in_sync
        is_quorum = in_sync >= group.copies // 2 + 1
        if leader.role == CANDIDATE and (is_quorum or not rules.acks_of_new_leader):
            establish(lists, group, slot)


@compiled
def give_history(lists: Lists, group: Group, rules: Rules, slot: int, other: int) -> None:
    """NEWLEADER and its answer."""
    leader, server, peer = lists.servers[slot], lists.servers[other], lists.peers[slot * group.copies + other]
    if server.leader != slot or server.term != leader.term:
        return
    server.heard_round = group.now
    take_history(lists, group, rules, other, slot, leader.end)
    server.log_term = leader.term
    if gets_through(lists, other, slot):
        peer.in_sync = 1
        peer.match_to = leader.end
        peer.next_entry = leader.end
        peer.answered_round = group.now


@compiled
def establish(lists: Lists, group: Group, slot: int) -> None:
    """A quorum has the initial history: all of it is committed, and the leader broadcasts from now on.

    Source: Zab, l.2.2, f.3.1 (ready).
    """
    leader = lists.servers[slot]
    begin_leadership(lists, group, slot, 0)
    lists.peers[slot * group.copies + slot].match_to = leader.end
    if leader.end > leader.commit:
        leader.commit = leader.end
        note_committed(lists, group, slot)
