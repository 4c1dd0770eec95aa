"""Questions that clients ask bookies, and what they come to (docs/bookkeeper_rounds.md, "Questions").

A question goes to one bookie, for an entry or for its LAC. In each round those who asked let bookies look (`reach`), and take
what came of their questions (`outcome`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .bookie import NO_LAC, OK, Bookie
from .quorums import FOUND, NO, UNKNOWN

if TYPE_CHECKING:
    from .ledger import Ledger

READ_EXCEPTION = "ReadException"
NO_SUCH_ENTRY, NOT_AVAILABLE = "NoSuchEntryException", "BookieHandleNotAvailableException"
TIMEOUT, DATA_UNKNOWN = "TimeoutException", "DataUnknownException"
ERROR_OF = {NO: NO_SUCH_ENTRY, UNKNOWN: DATA_UNKNOWN}
"""What an answer that isn't the entry is to its client."""


@dataclass
class Question:
    """What a bookie was asked; `answer` is None until it has got the question, `due` the round in which the answer comes."""

    bookie: int
    asked_round: int
    answer: str | None = None
    lac: int = NO_LAC
    due: int = 0


def reach(ledger: Ledger, question: Question, look: Callable[[Question, Bookie], None]) -> None:
    """Let the bookie answer a question that it hasn't got yet, if it is heard."""
    if question.answer is None and ledger.is_heard(question.bookie):
        look(question, ledger.bookies[question.bookie])
        question.due = ledger.now + ledger.lag_of(question.bookie)[0]


def outcome(ledger: Ledger, question: Question) -> str | None:
    """What a question comes to in this round: an answer, or an error; None: it is still awaited."""
    if ledger.is_dead(question.bookie):
        return NOT_AVAILABLE
    if ledger.is_heard(question.bookie) and question.answer is not None and question.due <= ledger.now:
        return FOUND if question.answer == FOUND else ERROR_OF.get(question.answer, question.answer)
    late = ledger.now - question.asked_round >= ledger.settings.read_timeout_rounds
    return TIMEOUT if late else None


def told_error(before: str | None, error: str) -> str:
    """Which of two errors is told of an entry that nobody gives: a `no` gives way, and one of a connection to all but a `no`."""
    if before in (None, NO_SUCH_ENTRY) or (before == NOT_AVAILABLE and error != NO_SUCH_ENTRY):
        return error
    return before


def tell_lac(question: Question, bookie: Bookie) -> None:
    """A bookie answers a question for its LAC; in limbo it doesn't know."""
    question.answer, question.lac = UNKNOWN if bookie.limbo else OK, bookie.lac


def take_lacs(ledger: Ledger, awaited: dict[int, Question]) -> tuple[dict[int, int], bool]:
    """Take out of the questions for LACs those that are settled: ({index: LAC}, whether one timed out)."""
    told: dict[int, int] = {}
    timed_out = False
    for index, question in list(awaited.items()):
        came = outcome(ledger, question)
        if came is None:
            continue
        del awaited[index]
        if came == OK:
            told[index] = question.lac
        timed_out |= came == TIMEOUT
    return told, timed_out


def ask_ensemble(ledger: Ledger, ensemble: list[int]) -> dict[int, Question]:
    """Ask all bookies of an ensemble but the dead, whose connections break at once."""
    return {index: Question(one, ledger.now) for index, one in enumerate(ensemble) if not ledger.is_dead(one)}
