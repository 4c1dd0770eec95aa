"""Step 2 of primary-backup: an elector outside the group makes a backup the primary, without a look at logs."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.lists import last
from emulator.rounds.quorums.constants import NOBODY, UNHEARD
from emulator.rounds.quorums.elector import gives_up_leader
from emulator.rounds.quorums.inputs import Settings
from emulator.rounds.quorums.lead import lead, take_term
from emulator.rounds.quorums.records import Group, Lists


@compiled
def fail_over(lists: Lists, group: Group, settings: Settings) -> None:
    """The primary is heard, or the next server in the order that is heard becomes it.

    Source: our own, from the definition: a backup takes over when the primary fails.
    """
    if not gives_up_leader(lists, group, settings):
        return
    leadership = lists.leaderships[last(group.leaderships)]
    backup = next_heard(lists, group, leadership.slot)
    if backup != NOBODY:
        take_term(lists, group, backup, leadership.term + 1)
        lead(lists, group, backup)
        group.elector_heard = group.now


@compiled
def next_heard(lists: Lists, group: Group, slot: int) -> int:
    """The first server behind another one in the order, around and up to itself, that the elector hears; NOBODY."""
    for step in range(1, group.copies + 1):
        other = (slot + step) % group.copies
        if lists.servers[other].status & UNHEARD == 0:
            return other
    return NOBODY
