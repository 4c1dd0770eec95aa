"""Step 5 of PacificA: what every replica of the configuration has prepared is committed."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.advance_commit import matched_to, note_committed
from emulator.rounds.quorums.constants import LEADER
from emulator.rounds.quorums.inputs import Rules, Settings
from emulator.rounds.quorums.links import runs
from emulator.rounds.quorums.records import Group, Lists


@compiled
def commit_prepared(lists: Lists, group: Group, settings: Settings, rules: Rules) -> None:
    """A primary moves its committed point to the end that all of its replicas have, those that join included.

    Source: PacificA 2.2; 2.4 for what a primary before left prepared only: it is committed likewise.
    """
    for slot in range(group.copies):
        server = lists.servers[slot]
        if server.role != LEADER or not runs(lists, slot):
            continue
        end = matched_to(lists, group, settings, slot, slot)
        if rules.all_prepared:
            for other in range(group.copies):
                if (server.members | server.joining) >> other & 1:
                    end = min(end, matched_to(lists, group, settings, slot, other))
        if end > server.commit:
            server.commit = end
            note_committed(lists, group, slot)
