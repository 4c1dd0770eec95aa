"""What slow bookies say to recoveries and readers, and comes late (docs/bookkeeper_rounds.md, Slow bookies)."""

from __future__ import annotations

from emulator.compiled import compiled
from emulator.rounds.bookkeeper.bookies import bookie_at, is_dead, is_heard
from emulator.rounds.bookkeeper.client_records import LateAnswer
from emulator.rounds.bookkeeper.constants import COME, LOST, NOWHERE, ON_ITS_WAY, TOO_LATE
from emulator.rounds.bookkeeper.entries import move
from emulator.rounds.bookkeeper.inputs import Settings
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.lists import append, every, keep_first


@compiled
def send_late_answer(lists: Lists, ledger: Ledger, client: int, index: int, slot: int, said: int, lac: int) -> None:
    """A slow bookie answers a client, as it stands now; that comes after its lag."""
    late = lists.late_answers[append(ledger.late_answers)]
    late.client = client
    late.index = index
    late.bookie = slot
    late.asked_round = ledger.now
    late.said = said
    late.lac = lac
    late.due_round = ledger.now + bookie_at(lists, ledger, slot).lag


@compiled
def what_became(lists: Lists, settings: Settings, ledger: Ledger, late: LateAnswer) -> int:
    """Whether an answer about an entry comes in this round, or never."""
    if is_dead(lists, ledger, late.bookie):
        return LOST
    if is_heard(lists, ledger, late.bookie) and late.due_round <= ledger.now:
        return COME
    return TOO_LATE if ledger.now - late.asked_round >= settings.read_timeout_rounds else ON_ITS_WAY


@compiled
def next_late_answer(lists: Lists, ledger: Ledger, client: int, behind: int) -> int:
    """The place of a client's next late answer that comes in this round, or never as its bookie is dead; NOWHERE: no more."""
    for at in every(ledger.late_answers):
        late = lists.late_answers[at]
        if at <= behind or late.client != client:
            continue
        comes = late.due_round <= ledger.now and is_heard(lists, ledger, late.bookie)
        if comes or is_dead(lists, ledger, late.bookie):
            return at
    return NOWHERE


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
def forget_come_answers(lists: Lists, ledger: Ledger, client: int) -> None:
    """Those of a client that came in this round, or never will, are over."""
    kept = ledger.late_answers.start
    for at in every(ledger.late_answers):
        late = lists.late_answers[at]
        comes = late.due_round <= ledger.now and is_heard(lists, ledger, late.bookie)
        is_over = late.client == client and (comes or is_dead(lists, ledger, late.bookie))
        if not is_over:
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
