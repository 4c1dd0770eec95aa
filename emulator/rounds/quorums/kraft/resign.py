"""Step 2 of kraft, first part: a leader from which a majority does not fetch resigns."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.constants import LEADER, NOBODY
from emulator.rounds.quorums.inputs import Rules, Settings
from emulator.rounds.quorums.lead import follow
from emulator.rounds.quorums.links import answered_by, runs
from emulator.rounds.quorums.members import agree
from emulator.rounds.quorums.records import Group, Lists


@compiled
def resign(lists: Lists, group: Group, settings: Settings, rules: Rules) -> None:
    """Leaders without fetches of a majority, themselves included, for too long.

    Source: KAFKA-15489.
    """
    for slot in range(group.copies):
        server = lists.servers[slot]
        leads = server.role == LEADER and runs(lists, slot)
        if leads and not agree(lists, group, rules, slot, answered_by(lists, group, slot, resigns_after(settings))):
            follow(lists, group, slot)
            server.leader = NOBODY


@compiled
def resigns_after(settings: Settings) -> int:
    """One and a half timeouts, rounded up.

    Source: LeaderState.CHECK_QUORUM_TIMEOUT_FACTOR.
    """
    return (3 * settings.timeout_rounds + 1) // 2
