"""Questions for the LAC, to every bookie of an ensemble: of recoveries, which fence, and of those who open without.

Sources: ReadLastConfirmedOp, PendingReadLacOp and, of time-outs, PerChannelBookieClient.
"""

from __future__ import annotations

import numpy as np

from emulator.rounds.bookkeeper.bookies import bookie_at, fence, is_dead, is_heard
from emulator.rounds.bookkeeper.constants import COME, NO_LAC, NOT_ASKED_YET, ON_ITS_WAY, TAKEN, TOO_LATE, UNKNOWN
from emulator.rounds.bookkeeper.inputs import Settings
from emulator.rounds.bookkeeper.late_answers import ask, what_became
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.stored import lac_of, lac_of_last_entry
from emulator.rounds.compiled import compiled
from emulator.rounds.entries import move
from emulator.rounds.lists import every, keep_first


@compiled
def ask_for_lac(lists: Lists, settings: Settings, ledger: Ledger, client: int, ensembles: np.ndarray, row: int) -> None:
    """Once to each bookie of an ensemble. Of a dead one the connection breaks: nothing is awaited of it."""
    for index in range(settings.ensemble_size):
        slot = ensembles[row, index]
        if not is_dead(lists, ledger, slot):
            ask(lists, ledger, client, index, slot)


@compiled
def tell_lacs(lists: Lists, settings: Settings, ledger: Ledger, client: int, fences: bool, cause: int) -> None:
    """Bookies that are heard get the question: they are fenced, if it does that, and tell their LAC, slow ones later.

    Who fences reads their last entries, in which explicit LACs aren't (ReadLastConfirmedOp); who opens without asks for both.
    """
    for at in every(ledger.late_answers):
        question = lists.late_answers[at]
        if question.client != client or question.said != NOT_ASKED_YET or not is_heard(lists, ledger, question.bookie):
            continue
        bookie = bookie_at(lists, ledger, question.bookie)
        if fences:
            fence(lists, ledger, question.bookie, cause)
        question.said = UNKNOWN if bookie.limbo else TAKEN
        if fences:
            question.lac = lac_of_last_entry(lists, settings, ledger, question.bookie)
        else:
            question.lac = lac_of(lists, settings, ledger, question.bookie)
        question.due_round = ledger.now + bookie.lag


@compiled
def take_lacs(lists: Lists, settings: Settings, ledger: Ledger, client: int) -> tuple[int, int, bool]:
    """What comes in this round: (mask of indices that told their LAC, the largest of these, whether a question timed out)."""
    heard, largest, is_late, kept = 0, NO_LAC, False, ledger.late_answers.start
    for at in every(ledger.late_answers):
        late, became = lists.late_answers[at], ON_ITS_WAY
        if late.client == client:
            became = what_became(lists, settings, ledger, late)
        if became == COME and late.said == TAKEN:
            heard |= 1 << late.index
            largest = max(largest, late.lac)
        elif became == TOO_LATE:
            is_late = True
        if became == ON_ITS_WAY:
            move(lists.late_answers, at, kept)
            kept += 1
    keep_first(ledger.late_answers, kept - ledger.late_answers.start)
    return heard, largest, is_late
