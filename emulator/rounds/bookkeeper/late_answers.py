"""Questions of recoveries and readers that bookies haven't answered yet: slow ones, and silent ones (Slow bookies)."""

from __future__ import annotations

from emulator.rounds.bookkeeper.bookies import is_dead, is_heard
from emulator.rounds.bookkeeper.client_records import LateAnswer
from emulator.rounds.bookkeeper.constants import COME, LOST, NO_LAC, NOT_ASKED_YET, ON_ITS_WAY, TOO_LATE
from emulator.rounds.bookkeeper.inputs import Settings
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.compiled import compiled
from emulator.rounds.entries import move
from emulator.rounds.lists import append, every, keep_first


@compiled
def ask(lists: Lists, ledger: Ledger, client: int, index: int, slot: int) -> None:
    """A client asks a bookie; the question waits until that is heard."""
    question = lists.late_answers[append(ledger.late_answers)]
    question.client = client
    question.index = index
    question.bookie = slot
    question.asked_round = ledger.now
    question.said = NOT_ASKED_YET
    question.lac = NO_LAC
    question.due_round = ledger.now


@compiled
def what_became(lists: Lists, settings: Settings, ledger: Ledger, late: LateAnswer) -> int:
    """Whether an answer comes in this round, or never."""
    if is_dead(lists, ledger, late.bookie):
        return LOST
    if is_heard(lists, ledger, late.bookie) and late.due_round <= ledger.now:
        return COME
    return TOO_LATE if ledger.now - late.asked_round >= settings.read_timeout_rounds else ON_ITS_WAY


@compiled
def forget_late_answers(lists: Lists, ledger: Ledger, client: int) -> None:
    """A client waits for no answer any more."""
    kept = ledger.late_answers.start
    for at in every(ledger.late_answers):
        if lists.late_answers[at].client != client:
            move(lists.late_answers, at, kept)
            kept += 1
    keep_first(ledger.late_answers, kept - ledger.late_answers.start)


@compiled
def waits(lists: Lists, ledger: Ledger, client: int) -> bool:
    """Whether answers to a client are on their way."""
    found = False
    for at in every(ledger.late_answers):
        if lists.late_answers[at].client == client:
            found = True
    return found
