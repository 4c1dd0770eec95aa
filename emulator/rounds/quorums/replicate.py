"""Step 4: leaders send entries, followers take them, cut what contradicts, or refuse."""

from __future__ import annotations

from emulator.compiled import compiled
from emulator.rounds.quorums.constants import (
    LEADER,
    LEADER_APPEND_ONLY,
    NOBODY,
    STATE_MACHINE_SAFETY,
    TRUNCATE,
)
from emulator.rounds.quorums.inputs import Rules, Settings
from emulator.rounds.quorums.lead import follow, take_term
from emulator.rounds.quorums.links import gets_through, runs
from emulator.rounds.quorums.log import copy_entries, cut, end_up_to_term, first_other_term, term_before
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.tell import tell, witness


@compiled
def replicate(lists: Lists, group: Group, settings: Settings, rules: Rules) -> None:
    """Every leader's request to every other server, and its answer.

    Source: Raft 5.3, figure 2: AppendEntries.
    """
    for slot in range(group.copies):
        for other in range(group.copies):
            if lists.servers[slot].role == LEADER and runs(lists, slot) and other != slot and gets_through(lists, slot, other):
                send_entries(lists, group, settings, rules, slot, other)


@compiled
def send_entries(lists: Lists, group: Group, settings: Settings, rules: Rules, slot: int, other: int) -> None:
    """One request and its answer."""
    leader, server, peer = lists.servers[slot], lists.servers[other], lists.peers[slot * group.copies + other]
    answers = gets_through(lists, other, slot)
    if server.term > leader.term and rules.refuse_older_term:
        if answers:
            take_term(lists, group, slot, server.term)
        return
    previous = peer.next_entry
    to_entry = min(leader.end, previous + settings.max_entries)
    previous_term = term_before(lists, leader, previous)
    is_leader = server.role == LEADER and server.term >= leader.term
    if leader.term > server.term:
        take_term(lists, group, other, leader.term)
    else:
        follow(lists, group, other)
    server.heard_round = group.now
    server.heard_leader = group.now
    agrees = previous <= server.end and (not rules.check_previous or term_before(lists, server, previous) == previous_term)
    if agrees:
        take_entries(lists, group, slot, other, previous, to_entry, is_leader)
    if not answers:
        return
    peer.answered_round = group.now
    if agrees:
        peer.match_to = max(peer.match_to, to_entry)
        peer.next_entry = to_entry
    else:
        may_agree = end_up_to_term(lists, server, previous, previous_term)
        its_term = term_before(lists, server, may_agree)
        peer.next_entry = max(0, min(previous - 1, end_up_to_term(lists, leader, may_agree, its_term)))


@compiled
def take_entries(lists: Lists, group: Group, slot: int, other: int, previous: int, to_entry: int, is_leader: bool) -> None:
    """The server `other` has its log agree with the leader's in [previous, to_entry), and hears what is committed."""
    leader, server = lists.servers[slot], lists.servers[other]
    from_entry = first_other_term(lists, server, leader, previous, min(server.end, to_entry))
    if from_entry < min(server.end, to_entry):
        if is_leader:
            witness(lists, group, LEADER_APPEND_ONLY, other, slot, from_entry)
        if from_entry < server.commit:
            witness(lists, group, STATE_MACHINE_SAFETY, other, NOBODY, from_entry)
        cause = lists.leaderships[group.leaderships.start + leader.leadership].cause
        tell(lists, group, TRUNCATE, other, server.term, server.end, from_entry, cause)
        group.truncated += server.end - from_entry
        cut(lists, server, from_entry)
    before = server.end
    copy_entries(lists, server, leader, to_entry)
    group.sent_entries += server.end - before
    server.commit = max(server.commit, min(leader.commit, to_entry))
