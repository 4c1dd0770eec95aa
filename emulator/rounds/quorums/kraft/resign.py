"""Step 2 of kraft, first part: a leader from which a majority does not fetch resigns."""

from __future__ import annotations

from emulator.compiled import compiled
from emulator.rounds.quorums.constants import LEADER, NOBODY
from emulator.rounds.quorums.inputs import Rules, Settings
from emulator.rounds.quorums.lead import follow
from emulator.rounds.quorums.links import answered_by, runs
from emulator.rounds.quorums.members import agree
from emulator.rounds.quorums.records import Group, Lists


@compiled
def resign(lists: Lists, group: Group, settings: Settings, rules: Rules) -> None:
    """Leaders without fetches of a majority, themselves included, within one and a half timeouts.

    Source: KAFKA-15489, LeaderState.CHECK_QUORUM_TIMEOUT_FACTOR.
    """
    for slot in range(group.copies):
        server = lists.servers[slot]
        leads = server.role == LEADER and runs(lists, slot)
        limit = (3 * settings.timeout_rounds + 1) // 2  # rounded up
        if leads and not agree(lists, group, rules, slot, answered_by(lists, group, slot, limit)):
            follow(lists, group, slot)
            server.leader = NOBODY
            server.heard_round = group.now
