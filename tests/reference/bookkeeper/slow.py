"""Slow bookies (docs/bookkeeper_rounds.md): what they do they do at once, what they say comes so many rounds late.

Answers to questions: questions.py. One to an add waits while the bookie isn't heard, and is lost when the bookie dies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.reference.broker_status import covers

from .window import Message


@dataclass(frozen=True)
class LateAdd:
    """An answer to an add on its way."""

    due: int
    message: Message
    answer: str


def lag_of(faults: Sequence[Mapping[str, Any]], bookie: int, now: int) -> tuple[int, int | None]:
    """(rounds by which answers of a bookie come late in this round, the fault for which they do)."""
    slow = [one for one in faults if one["kind"] == "slow_bookie" and one["broker"] == bookie and covers(one, now)]
    worst = max(slow, key=lambda one: one["lag_rounds"], default=None)
    return (0, None) if worst is None else (worst["lag_rounds"], worst["fault_id"])
