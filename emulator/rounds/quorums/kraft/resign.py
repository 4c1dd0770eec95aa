"""Step 2 of kraft, first part: a leader from which a majority does not fetch resigns, and who resigned says so."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.constants import FOLLOWER, LEADER, NOBODY
from emulator.rounds.quorums.inputs import Rules, Settings
from emulator.rounds.quorums.lead import follow
from emulator.rounds.quorums.links import answered_by, gets_through, runs
from emulator.rounds.quorums.members import agree, audience_of
from emulator.rounds.quorums.records import Group, Lists


@compiled
def resign(lists: Lists, group: Group, settings: Settings, rules: Rules) -> None:
    """Leaders without fetches of a majority, themselves included, for too long. Who led when it went down has resigned, too.

    Source: KAFKA-15489; QuorumState.initialize.
    """
    for slot in range(group.copies):
        server = lists.servers[slot]
        if not runs(lists, slot):
            continue
        if server.role == LEADER:
            if not agree(lists, group, rules, slot, answered_by(lists, group, slot, resigns_after(settings))):
                follow(lists, group, slot)
                end_epoch(lists, group, settings, slot)
                server.leader = NOBODY
        elif server.role == FOLLOWER and server.leader == slot:
            end_epoch(lists, group, settings, slot)


@compiled
def end_epoch(lists: Lists, group: Group, settings: Settings, slot: int) -> None:
    """A leader that has resigned tells the other voters: the timers of those that follow it run out.

    Source: KafkaRaftClient.pollResigned, handleEndQuorumEpochRequest.
    """
    told = audience_of(lists, group, slot) & ~lists.servers[slot].joining
    for other in range(group.copies):
        voter = lists.servers[other]
        follows = other != slot and voter.leader == slot and voter.term == lists.servers[slot].term
        if follows and told >> other & 1 and gets_through(lists, slot, other):
            voter.heard_round = group.now - settings.timeout_rounds


@compiled
def resigns_after(settings: Settings) -> int:
    """One and a half timeouts, rounded up.

    Source: LeaderState.CHECK_QUORUM_TIMEOUT_FACTOR.
    """
    return (3 * settings.timeout_rounds + 1) // 2
