"""Adds with enough answers are acknowledged, in order (docs/bookkeeper_rounds.md, 6)."""

from __future__ import annotations

from emulator.rounds.bookkeeper.constants import OK
from emulator.rounds.bookkeeper.inputs import Settings
from emulator.rounds.bookkeeper.lost_entries import tell_lost_when_acknowledged
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.compiled import compiled
from emulator.rounds.lists import every


@compiled
def acknowledge(lists: Lists, ledger: Ledger, client: int) -> int:
    """Acknowledge the completed adds at the front, in order; how many."""
    count = 0
    for at in every(ledger.adds):
        add = lists.adds[at]
        if add.client != client or add.acknowledged:
            continue
        if not add.completed:
            break
        add.acknowledged = 1
        count += 1
    return count


@compiled
def raise_lac(lists: Lists, settings: Settings, ledger: Ledger, acknowledged: int) -> None:
    """The writer acknowledged so many more entries."""
    if acknowledged:
        lac_before = ledger.lac
        ledger.lac += acknowledged
        tell_lost_when_acknowledged(lists, settings, ledger, lac_before)
        ledger.error = OK
