"""Step 6 of the writer: failures first, then the fence, then acks."""

from __future__ import annotations

from emulator.rounds.bookkeeper.acknowledge import acknowledge, raise_lac
from emulator.rounds.bookkeeper.answers_to_adds import complete, next_failure, take_answers_of
from emulator.rounds.bookkeeper.constants import LEDGER_FENCED, WRITER, WRITING
from emulator.rounds.bookkeeper.failures import cause_of_newest, want_replaced
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.use_store import stop
from emulator.rounds.compiled import compiled_into_callers


@compiled_into_callers
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
    looks = complete(lists, settings, ledger, WRITER)
    if looks and not ledger.changing:
        raise_lac(lists, settings, ledger, acknowledge(lists, ledger, WRITER))
