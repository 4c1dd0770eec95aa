"""Step 2 of raft: timers run out, and servers ask whether they would be voted for."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.constants import CANDIDATE, LEADER, NEVER, NOBODY
from emulator.rounds.quorums.draw import draw
from emulator.rounds.quorums.inputs import Inputs, Rules, Settings
from emulator.rounds.quorums.lead import take_term
from emulator.rounds.quorums.links import gets_through, runs
from emulator.rounds.quorums.log import is_as_complete
from emulator.rounds.quorums.members import agree, audience_of, may_stand
from emulator.rounds.quorums.protocols import WITH_FETCHES
from emulator.rounds.quorums.records import Group, Lists, Server


@compiled
def stand(lists: Lists, inputs: Inputs, group: Group, settings: Settings, rules: Rules) -> bool:
    """Servers whose timer ran out, or that are told to, stand for election, each in the term after its own; whether any does.

    Source: Raft 5.2; thesis 9.6 for the question before, 3.10 for who is told to and asks none.
    """
    anybody = False
    for slot in range(group.copies):
        server = lists.servers[slot]
        server.asked_term = 0
        server.votes = 0
        server.is_told = int(server.told_term > 0 and server.told_term == server.term)  # thesis 3.10: in that term
        server.told_term = 0
        if server.role == LEADER or not runs(lists, slot):
            continue
        is_due = server.is_told or group.now - server.heard_round >= settings.timeout_rounds
        if not is_due or not may_stand(lists, group, slot):
            continue
        if server.is_told or group.now - server.heard_round >= wait_of(lists, inputs, group, settings, slot):
            server.heard_round = group.now
            server.leader = NOBODY
            server.asked_term = server.term + 1
            server.stood += 1
            anybody = True
    if not anybody:
        return False
    if settings.pre_vote:
        for slot in range(group.copies):
            asks = lists.servers[slot].asked_term and not lists.servers[slot].is_told
            if asks and not would_be_elected(lists, group, settings, rules, slot):
                lists.servers[slot].asked_term = 0
    anybody = False
    for slot in range(group.copies):
        server = lists.servers[slot]
        if server.asked_term:
            anybody = True
            become_candidate(server, slot)
    return anybody


@compiled
def wait_of(lists: Lists, inputs: Inputs, group: Group, settings: Settings, slot: int) -> int:
    """Rounds of silence after which a server's timer runs out. Of kraft, whose leader is another one draws nothing on top.

    Source: Raft 5.2, 9.3; FollowerState.fetchTimer, QuorumState.randomElectionTimeoutMs of all others.
    """
    server = lists.servers[slot]
    if group.protocol in WITH_FETCHES and server.leader not in (NOBODY, slot):
        return settings.timeout_rounds
    key = inputs.scenarios[group.scenario].draw_key
    return settings.timeout_rounds + draw(key, group.number, slot, server.stood, settings.jitter_rounds)


@compiled
def become_candidate(server: Server, slot: int) -> None:
    """A server stands in the term that it asked for, and votes for itself."""
    server.term = server.asked_term
    server.voted_for = slot
    server.role = CANDIDATE
    server.votes = 1 << slot


@compiled
def would_be_elected(lists: Lists, group: Group, settings: Settings, rules: Rules, slot: int) -> bool:
    """Whether a majority would vote for a server in the term after its own. An answer with a newer term gives it that term."""
    server = lists.servers[slot]
    willing, own_term, asked = 1 << slot, server.term, audience_of(lists, group, slot)
    for other in range(group.copies):
        if other != slot and asked >> other & 1 and gets_through(lists, slot, other) and gets_through(lists, other, slot):
            voter = lists.servers[other]
            if voter.term > server.term:
                take_term(lists, group, slot, voter.term)
            elif own_term + 1 >= voter.term and would_vote(lists, group, settings, rules, other, slot):
                willing |= 1 << other
    return server.term == own_term and agree(lists, group, rules, slot, willing)


@compiled
def would_vote(lists: Lists, group: Group, settings: Settings, rules: Rules, slot: int, candidate: int) -> bool:
    """Whether a server has heard from no leader for as long as an election timeout, and finds the candidate's log complete."""
    voter = lists.servers[slot]
    hears_leader = group.now - voter.heard_leader < settings.timeout_rounds
    if group.protocol in WITH_FETCHES:  # KIP-996: who follows a leader from which it has fetched does not
        hears_leader = voter.leader not in (NOBODY, slot) and voter.heard_leader != NEVER
    if voter.role == LEADER or hears_leader:
        return False
    return is_as_complete(lists, lists.servers[candidate], voter) or not rules.compare_logs
