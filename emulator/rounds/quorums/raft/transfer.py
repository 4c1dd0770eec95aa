"""Steps 3 and 4 of raft: a leader that is asked to hands over to the group's first server."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.constants import LEADER
from emulator.rounds.quorums.inputs import Inputs, Rules, Settings
from emulator.rounds.quorums.links import gets_through, leader_of_clients, runs
from emulator.rounds.quorums.members import voters_of
from emulator.rounds.quorums.records import Group, Lists


@compiled
def begin_transfer(lists: Lists, inputs: Inputs, group: Group, settings: Settings, rules: Rules) -> None:
    """The leader that clients reach takes none of their records from now on; one whose transfer took too long takes them again.

    Source: thesis 3.10.
    """
    asked = inputs.wanted[group.wanted]
    for slot in range(group.copies):
        leader = lists.servers[slot]
        if leader.role != LEADER or not runs(lists, slot):
            continue
        if leader.hands_over and group.now - leader.transfer_round >= settings.timeout_rounds:
            leader.hands_over = 0
        is_asked = asked.hands_over and asked.from_round == group.now and slot == leader_of_clients(lists, group)
        if is_asked and slot != 0 and voters_of(lists, group, rules, slot)[1] & 1:
            leader.hands_over = 1
            leader.transfer_round = group.now


@compiled
def send_timeout_now(lists: Lists, group: Group) -> None:
    """A first server that has all of the leader's log is told to stand at once: it does in the next round.

    Source: thesis 3.10, TimeoutNow.
    """
    for slot in range(group.copies):
        leader = lists.servers[slot]
        if leader.hands_over and leader.role == LEADER and runs(lists, slot) and gets_through(lists, slot, 0):
            has_all = lists.peers[slot * group.copies].match_to == leader.end
            if has_all and lists.servers[0].term == leader.term:
                lists.servers[0].told_term = leader.term
