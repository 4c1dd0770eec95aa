"""Step 2 of raft, first part: a leader that a majority does not answer steps down."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.constants import LEADER
from emulator.rounds.quorums.inputs import Rules, Settings
from emulator.rounds.quorums.lead import follow
from emulator.rounds.quorums.links import answered_by, runs
from emulator.rounds.quorums.members import agree
from emulator.rounds.quorums.records import Group, Lists


@compiled
def check_quorum(lists: Lists, group: Group, settings: Settings, rules: Rules) -> None:
    """Leaders that fewer than a majority, themselves included, answered within the election timeout.

    Source: thesis 6.2.
    """
    for slot in range(group.copies):
        leads = lists.servers[slot].role == LEADER and runs(lists, slot)
        if leads and not agree(lists, group, rules, slot, answered_by(lists, group, slot, settings.timeout_rounds)):
            follow(lists, group, slot)
