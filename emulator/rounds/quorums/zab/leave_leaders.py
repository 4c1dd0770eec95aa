"""Step 2 of zab: who does not hear its leader, or a leader that does not hear a quorum, looks for one anew."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.constants import NOBODY
from emulator.rounds.quorums.inputs import Settings
from emulator.rounds.quorums.lead import stop_leading
from emulator.rounds.quorums.links import answered_by, gets_through, runs, sees_closed
from emulator.rounds.quorums.members import everybody, is_majority
from emulator.rounds.quorums.records import Group, Lists


@compiled
def leave_leaders(lists: Lists, group: Group, settings: Settings) -> None:
    """Followers whose leader is gone, or silent for the timeout; leaders without a quorum that answered within it and is there.

    Source: Zab, section IV: both go back to phase 0; Follower.followLeader, LearnerHandler.run for whose connection is closed.
    """
    for slot in range(group.copies):
        server = lists.servers[slot]
        if not runs(lists, slot):
            continue
        if server.leader == slot:
            answered = answered_by(lists, group, slot, settings.timeout_rounds)
            for other in range(group.copies):
                if sees_closed(lists, slot, other):
                    answered &= ~(1 << other)
            if not is_majority(answered, everybody(group)):
                abandon(lists, group, slot)
        elif server.leader != NOBODY:
            is_silent = group.now - server.heard_round >= settings.timeout_rounds
            if is_silent or sees_closed(lists, slot, server.leader):
                server.leader = NOBODY


@compiled
def abandon(lists: Lists, group: Group, slot: int) -> None:
    """A leader gives up, established or not, and looks for another."""
    stop_leading(lists, group, slot)
    lists.servers[slot].leader = NOBODY


@compiled
def is_looking(lists: Lists, slot: int) -> bool:
    """Whether a server runs and has no leader."""
    return runs(lists, slot) and lists.servers[slot].leader == NOBODY


@compiled
def exchanges(lists: Lists, slot: int, other: int) -> bool:
    """Whether two servers get each other's messages; one does so with itself."""
    return slot == other or (gets_through(lists, slot, other) and gets_through(lists, other, slot))
