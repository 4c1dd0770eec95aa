"""Slow bookies (docs/bookkeeper_rounds.md): what they do they do at once, what they say comes so many rounds late.

An answer is what the bookie said when it was asked. It waits while the bookie isn't heard, and is lost when the bookie dies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .status import covers
from .window import Message

if TYPE_CHECKING:
    from .ledger import Ledger


@dataclass(frozen=True)
class LateAdd:
    """An answer to an add on its way."""

    due: int
    message: Message
    answer: str


@dataclass(frozen=True)
class LateWord:
    """Any other answer on its way: of whom, what of an entry or of the LAC."""

    due: int
    bookie: int
    answer: str
    lac: int = -1
    asked_round: int = 0


def lag_of(faults: Sequence[Mapping[str, Any]], bookie: int, now: int) -> tuple[int, int | None]:
    """(rounds by which answers of a bookie come late in this round, the fault for which they do)."""
    slow = [one for one in faults if one["kind"] == "slow_bookie" and one["broker"] == bookie and covers(one, now)]
    worst = max(slow, key=lambda one: one["lag_rounds"], default=None)
    return (0, None) if worst is None else (worst["lag_rounds"], worst["fault_id"])


def arrived(ledger: Ledger, waiting: dict[int, LateWord]) -> dict[int, LateWord | None]:
    """Take out of the answers that somebody waits for those that come now; None: it never will."""
    come: dict[int, LateWord | None] = {}
    for index, word in list(waiting.items()):
        if ledger.is_dead(word.bookie):
            come[index] = None
        elif word.due <= ledger.now and ledger.is_heard(word.bookie):
            come[index] = word
        else:
            continue
        del waiting[index]
    return come
