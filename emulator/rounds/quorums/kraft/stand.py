"""Step 2 of kraft: timers run out one after the other, and who is due stands, or asks first whether it would be voted for."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.constants import LEADER, NOBODY
from emulator.rounds.quorums.inputs import Inputs, Rules, Settings
from emulator.rounds.quorums.links import gets_through, runs
from emulator.rounds.quorums.members import audience_of, may_stand
from emulator.rounds.quorums.raft.stand import become_candidate, wait_of, would_be_elected
from emulator.rounds.quorums.records import Group, Lists


@compiled
def stand_in_turn(lists: Lists, inputs: Inputs, group: Group, settings: Settings, rules: Rules) -> bool:
    """Voters that are due stand for the next epoch, one after the other; whether any does.

    Source: KafkaRaftClient.pollFollowerAsVoter, pollUnattachedAsVoter; KIP-996 for the question before.
    """
    for slot in range(group.copies):
        lists.servers[slot].asked_term = 0
        lists.servers[slot].votes = 0
    anybody = False
    for turn in range(group.copies):
        slot = (group.now + turn) % group.copies
        if not is_due(lists, inputs, group, settings, slot) or is_asked(lists, group, slot):
            continue
        server = lists.servers[slot]
        server.heard_round = group.now
        server.leader = NOBODY
        server.stood += 1
        if settings.pre_vote and not would_be_elected(lists, group, settings, rules, slot):
            continue
        anybody = True
        server.asked_term = server.term + 1
        become_candidate(server, slot)
    return anybody


@compiled
def is_due(lists: Lists, inputs: Inputs, group: Group, settings: Settings, slot: int) -> bool:
    """Whether a voter's timer has run out."""
    server = lists.servers[slot]
    silent = group.now - server.heard_round
    if server.role == LEADER or silent < settings.timeout_rounds or not runs(lists, slot) or not may_stand(lists, group, slot):
        return False
    return silent >= wait_of(lists, inputs, group, settings, slot)


@compiled
def is_asked(lists: Lists, group: Group, slot: int) -> bool:
    """Whether the request of one that stands already, for a newer epoch, gets to a voter."""
    for other in range(group.copies):
        asks = other != slot and lists.servers[other].asked_term > lists.servers[slot].term
        if asks and audience_of(lists, group, other) >> slot & 1 and gets_through(lists, other, slot):
            return True
    return False
