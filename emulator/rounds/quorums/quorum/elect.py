"""Step 2 of quorum: an elector outside the group compares V logs."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.lists import last
from emulator.rounds.quorums.constants import NOBODY, UNHEARD
from emulator.rounds.quorums.elector import gives_up_leader
from emulator.rounds.quorums.inputs import Rules, Settings
from emulator.rounds.quorums.lead import lead, take_term
from emulator.rounds.quorums.log import is_as_complete
from emulator.rounds.quorums.records import Group, Lists


@compiled
def elect(lists: Lists, group: Group, settings: Settings, rules: Rules) -> None:
    """The leader is heard, or the most complete of the first V logs wins the next term.

    Source: Kafka's documentation, "Replicated Logs"; Flexible Paxos for ballots of their own.
    """
    if not gives_up_leader(lists, group, settings) or heard(lists, group) < settings.compared:
        return
    term = lists.leaderships[last(group.leaderships)].term + 1
    winner, asked = NOBODY, 0
    for step in range(group.copies):
        slot = (term + step) % group.copies
        if asked < settings.compared and lists.servers[slot].status & UNHEARD == 0:
            asked += 1
            take_term(lists, group, slot, term)
            is_behind = winner != NOBODY and is_as_complete(lists, lists.servers[winner], lists.servers[slot])
            if winner == NOBODY or (rules.compare_logs and not is_behind):
                winner = slot
    lead(lists, group, winner)
    group.elector_heard = group.now


@compiled
def heard(lists: Lists, group: Group) -> int:
    """How many servers the elector hears."""
    count = 0
    for slot in range(group.copies):
        if lists.servers[slot].status & UNHEARD == 0:
            count += 1
    return count
