"""Step 4: bookies take adds, the writer's first, then those of recoveries, then fencing questions."""

from __future__ import annotations

from emulator.rounds.bookkeeper.adds import fault_on_the_way
from emulator.rounds.bookkeeper.ask_for_lac import ask_for_lac, tell_lacs
from emulator.rounds.bookkeeper.bookies import bookie_at, is_heard
from emulator.rounds.bookkeeper.client_records import Request
from emulator.rounds.bookkeeper.constants import (
    DELAY_ADDS,
    FENCE,
    NO_ANSWER,
    NO_FAULT,
    OF_THE_WRITER,
    REFUSED,
    TAKEN,
    WRITER,
)
from emulator.rounds.bookkeeper.fragments import last_found
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.records import Bookie, Ledger, Lists
from emulator.rounds.bookkeeper.slow_bookies import grant_bytes, lets_through, slow_fault
from emulator.rounds.bookkeeper.stored import pass_over_others, store
from emulator.rounds.compiled import compiled_into_callers
from emulator.rounds.lists import every


@compiled_into_callers
def handle(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """Every bookie that is heard takes what has come; what a silent one doesn't get waits."""
    settings = inputs.settings[ledger.settings]
    bring_late_answers(lists, ledger)
    is_limited = ledger.slowed or inputs.scenarios[ledger.scenario].sharing
    if is_limited:
        grant_bytes(lists, inputs, ledger)
    for at in every(ledger.requests):
        one = lists.requests[at]
        if not one.on_the_way or one.sent_round > ledger.now:
            continue
        bookie = bookie_at(lists, ledger, one.bookie)
        if not is_heard(lists, ledger, one.bookie):
            one.cause = bookie.cause
            continue
        held_up_by = NO_FAULT
        if one.client == WRITER:
            held_up_by = fault_on_the_way(inputs, ledger, DELAY_ADDS, bookie.place, one.entry)
        if held_up_by != NO_FAULT:
            one.cause = held_up_by
            continue
        if is_limited and not lets_through(inputs, ledger, bookie, one.entry):
            one.cause = slow_fault(lists, inputs, ledger, one.bookie)
            continue
        one.on_the_way = 0
        is_refused = one.client == WRITER and bookie.fenced
        answer(ledger, one, bookie, REFUSED if is_refused else TAKEN)
        if is_refused:
            continue
        header = OF_THE_WRITER if one.client == WRITER else one.lac
        store(lists, settings, ledger, one.bookie, one.index, one.entry, header)
    pass_over_others(lists, settings, ledger)
    for number in range(ledger.recoveries.count):
        recovery = lists.recoveries[ledger.recoveries.start + number]
        if recovery.phase != FENCE:
            continue
        if recovery.marked_round == ledger.now:
            ask_for_lac(lists, settings, ledger, number, lists.found_ensembles, last_found(lists, ledger, number))
        tell_lacs(lists, settings, ledger, number, True, recovery.cause)


@compiled_into_callers
def answer(ledger: Ledger, request: Request, bookie: Bookie, said: int) -> None:
    """A bookie answers an add, a slow one so many rounds late; what it stored it has at once."""
    if bookie.lag == 0:
        request.answer = said
        return
    request.late_answer = said
    request.answer_round = ledger.now + bookie.lag
    request.cause = bookie.lag_cause


@compiled_into_callers
def bring_late_answers(lists: Lists, ledger: Ledger) -> None:
    """Late answers to adds that are due come, if their bookie is heard; what a silent one said waits."""
    for at in every(ledger.requests):
        one = lists.requests[at]
        if one.late_answer == NO_ANSWER or one.answer_round > ledger.now:
            continue
        if is_heard(lists, ledger, one.bookie):
            one.answer = one.late_answer
            one.late_answer = NO_ANSWER
        else:
            one.cause = bookie_at(lists, ledger, one.bookie).cause
