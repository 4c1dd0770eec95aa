"""Step 6 of the writer: failures first, then the fence, then acks."""

from __future__ import annotations

from emulator.compiled import compiled
from emulator.rounds.bookkeeper.answers_to_adds import acknowledge, complete, next_failure, take_answers_of
from emulator.rounds.bookkeeper.constants import LEDGER_FENCED, OK, WRITER, WRITING
from emulator.rounds.bookkeeper.failures import cause_of_newest, want_replaced
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.lost_entries import tell_lost_when_acknowledged
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.use_store import stop


@compiled
def take_answers(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """What the writer makes of this round's answers, and of those that don't come."""
    if ledger.writer != WRITING:
        return
    settings = inputs.settings[ledger.settings]
    while next_failure(lists, settings, ledger, WRITER):
        want_replaced(lists, ledger)
    if take_answers_of(lists, settings, ledger, WRITER):
        stop(lists, ledger, LEDGER_FENCED, False, cause_of_newest(lists, ledger))
        return
    complete(lists, settings, ledger, WRITER)
    if ledger.changing:
        return
    acknowledged = acknowledge(lists, ledger, WRITER)
    if acknowledged:
        lac_before = ledger.lac
        ledger.lac += acknowledged
        tell_lost_when_acknowledged(lists, settings, ledger, lac_before)
        ledger.error = OK
