"""Step 4: leaders send entries, followers take them, cut what contradicts, or refuse."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.lists import every
from emulator.rounds.quorums.constants import LEADER, LEADER_APPEND_ONLY, NOBODY, STATE_MACHINE_SAFETY, TRUNCATE
from emulator.rounds.quorums.flight import forget_arrived, give_up, is_there, takes_rounds, write_to_disk
from emulator.rounds.quorums.inputs import Inputs, Rules, Settings
from emulator.rounds.quorums.lead import follow, take_term
from emulator.rounds.quorums.links import gets_through, runs
from emulator.rounds.quorums.log import copy_entries, cut, end_up_to_term, first_other_term, term_before
from emulator.rounds.quorums.members import audience_of
from emulator.rounds.quorums.protocols import WITH_LEASES
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.tell import tell, witness


@compiled
def replicate(lists: Lists, inputs: Inputs, group: Group, settings: Settings, rules: Rules) -> None:
    """What arrives of requests under way; then every leader's request to every other server, which may be answered at once.

    Source: Raft 5.3, figure 2: AppendEntries.
    """
    if group.messages.count > 0:
        take_arrived(lists, group, rules)
    for slot in range(group.copies):
        if lists.servers[slot].role != LEADER or not runs(lists, slot):
            continue
        audience = audience_of(lists, group, slot)
        for other in range(group.copies):
            if lists.servers[slot].role == LEADER:
                if other == slot:
                    write_to_disk(lists, group, settings, slot)
                elif audience >> other & 1 and gets_through(lists, slot, other):
                    send_entries(lists, inputs, group, settings, rules, slot, other)


@compiled
def take_arrived(lists: Lists, group: Group, rules: Rules) -> None:
    """Requests of this round or earlier ones, in the order in which they were sent; who leads no more waits for no answer."""
    for at in every(group.messages):
        message = lists.messages[at]
        if is_there(lists, group, message):
            slot, other = message.sender, message.receiver
            take_append(lists, group, rules, slot, other, message.previous, message.to_entry, message.commit, message.sent_round)
    forget_arrived(lists, group)


@compiled
def send_entries(lists: Lists, inputs: Inputs, group: Group, settings: Settings, rules: Rules, slot: int, other: int) -> None:
    """One request: it is taken at once, or is under way."""
    leader = lists.servers[slot]
    previous = lists.peers[slot * group.copies + other].next_entry
    to_entry = min(leader.end, previous + settings.max_entries)
    if not takes_rounds(lists, inputs, group, settings, slot, other, previous, to_entry):
        take_append(lists, group, rules, slot, other, previous, to_entry, leader.commit, group.now)


@compiled
def take_append(
    lists: Lists,
    group: Group,
    rules: Rules,
    slot: int,
    other: int,
    previous: int,
    to_entry: int,
    commit: int,
    sent_round: int,
) -> None:
    """A request and its answer."""
    leader, server, peer = lists.servers[slot], lists.servers[other], lists.peers[slot * group.copies + other]
    answers = gets_through(lists, other, slot)
    if server.term > leader.term and rules.refuse_older_term:
        if answers:
            take_term(lists, group, slot, server.term)
            leader.members = server.members
        return
    previous_term = term_before(lists, leader, previous)
    is_leader = server.role == LEADER and server.term >= leader.term
    if leader.term > server.term:
        take_term(lists, group, other, leader.term)
    else:
        follow(lists, group, other)
    if group.protocol in WITH_LEASES:  # a beacon says what the configuration is
        server.members = leader.members
        server.voted_for = slot
    server.heard_round = group.now
    server.heard_leader = group.now
    agrees = previous <= server.end and (not rules.check_previous or term_before(lists, server, previous) == previous_term)
    if agrees:
        take_entries(lists, group, slot, other, previous, to_entry, commit, is_leader)
    if not answers:
        return
    peer.answered_round = sent_round if group.protocol in WITH_LEASES else group.now
    if agrees:
        peer.match_to = max(peer.match_to, to_entry)
        peer.next_entry = max(peer.next_entry, to_entry)
    else:
        give_up(lists, group, slot, other)
        may_agree = end_up_to_term(lists, server, previous, previous_term)
        its_term = term_before(lists, server, may_agree)
        peer.next_entry = max(0, min(previous - 1, end_up_to_term(lists, leader, may_agree, its_term)))


@compiled
def take_entries(
    lists: Lists, group: Group, slot: int, other: int, previous: int, to_entry: int, commit: int, is_leader: bool
) -> None:
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
    server.commit = max(server.commit, min(commit, to_entry))
