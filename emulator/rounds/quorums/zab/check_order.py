"""GlobalPrimaryOrder of the Zab paper, where a log has other runs than before."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.lists import every
from emulator.rounds.quorums.constants import GLOBAL_PRIMARY_ORDER, NO_ENTRY, NOBODY
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.tell import witness


@compiled
def check_order(lists: Lists, group: Group) -> None:
    """No history has a transaction behind one of a newer epoch; told when it begins."""
    broken_by, entry = NOBODY, NO_ENTRY
    for slot in range(group.copies):
        newest = 0
        for at in every(lists.servers[slot].runs):
            run = lists.runs[at]
            if run.term < newest and broken_by == NOBODY:
                broken_by, entry = slot, run.first_entry
            newest = max(newest, run.term)
    bit = 1 << GLOBAL_PRIMARY_ORDER
    if broken_by == NOBODY:
        group.broken &= ~bit
    elif not group.broken & bit:
        witness(lists, group, GLOBAL_PRIMARY_ORDER, broken_by, NOBODY, entry)
        group.broken |= bit
