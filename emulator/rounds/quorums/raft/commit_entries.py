"""Step 5 of raft: what a majority of the members has is committed; of a joint configuration a majority of both."""

from __future__ import annotations

from emulator.compiled import compiled
from emulator.rounds.quorums.advance_commit import commit_to, matched_by
from emulator.rounds.quorums.constants import LEADER
from emulator.rounds.quorums.inputs import Rules, Settings
from emulator.rounds.quorums.links import runs
from emulator.rounds.quorums.members import count_of, voters_of
from emulator.rounds.quorums.records import Group, Lists


@compiled
def commit_entries(lists: Lists, group: Group, settings: Settings, rules: Rules) -> None:
    """Every leader commits the largest end that the majorities which it needs match; its own counts if it is a member.

    Source: Raft 5.3, 5.4.2, 6.
    """
    for slot in range(group.copies):
        if lists.servers[slot].role == LEADER and runs(lists, slot):
            commit_to(lists, group, rules, slot, agreed_end(lists, group, settings, rules, slot))


@compiled
def agreed_end(lists: Lists, group: Group, settings: Settings, rules: Rules, slot: int) -> int:
    """The largest end that the majorities which a leader needs match."""
    before, members = voters_of(lists, group, rules, slot)
    end = matched_by(lists, group, settings, slot, members, count_of(members) // 2 + 1)
    if before != members:
        end = min(end, matched_by(lists, group, settings, slot, before, count_of(before) // 2 + 1))
    return end
