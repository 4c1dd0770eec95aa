"""What a round adds to a ledger's outcomes."""

from __future__ import annotations

from emulator.rounds.bookkeeper.constants import WRITING
from emulator.rounds.bookkeeper.records import Ledger
from emulator.rounds.compiled import compiled_into_callers


@compiled_into_callers
def count_outcomes(ledger: Ledger) -> None:
    """Unwritable is a round in which something was to be written, and the LAC didn't rise."""
    if ledger.had_to_write and ledger.lac == ledger.lac_before:
        ledger.unwritable_rounds += 1
    ledger.unacked = ledger.queued + ledger.next_entry - 1 - ledger.lac if ledger.writer == WRITING else 0
    ledger.unacked_rounds += ledger.unacked
