"""The guards of BookKeeper's protocol and of its mutants, as records."""

from __future__ import annotations

from typing import Any

from emulator.rounds.bookkeeper.inputs import Rules
from emulator.rounds.records import fields_of, rows
from emulator.scenario.protocols import LEDGER_PROTOCOLS

RULES_PLACES = {name: place for place, name in enumerate(LEDGER_PROTOCOLS)}
"""Protocol -> place of its rules in `rules_records`."""


def rules_records() -> Any:
    """The rules of all protocols, in the order of LEDGER_PROTOCOLS."""
    records = rows(Rules, len(LEDGER_PROTOCOLS))
    for place, lacking in enumerate(LEDGER_PROTOCOLS.values()):
        for name in fields_of(Rules):
            records[name][place] = 0 if name == lacking else 1
    return records
