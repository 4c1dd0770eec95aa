"""Step 5 of raft: what a majority of the members has is committed; of a joint configuration a majority of both."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.advance_commit import agreed_end, commit_to
from emulator.rounds.quorums.constants import LEADER
from emulator.rounds.quorums.inputs import Rules, Settings
from emulator.rounds.quorums.links import runs
from emulator.rounds.quorums.records import Group, Lists


@compiled
def commit_entries(lists: Lists, group: Group, settings: Settings, rules: Rules) -> None:
    """Every leader commits the largest end that the majorities which it needs match; its own counts if it is a member.

    Source: Raft 5.3, 5.4.2, 6.
    """
    for slot in range(group.copies):
        if lists.servers[slot].role == LEADER and runs(lists, slot):
            commit_to(lists, group, rules, slot, agreed_end(lists, group, settings, rules, slot))
