"""What leaps of any system are made of: the drift of a record's counters, periods, what closes in on what.

Two rounds in a row that change nothing but counters, by equal amounts, prove a drift (rounds/records.py has the kinds).
"""

from __future__ import annotations

import numpy as np

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.records import COMPARED, COUNTER


@compiled_into_callers
def take_drift(kinds: np.ndarray, words: np.ndarray, before: np.ndarray, drift: np.ndarray) -> bool:
    """Note by how much counters moved since `before`, and make it the present; whether nothing else changed, nor the drift."""
    quiet = True
    for word in range(len(kinds)):
        kind = kinds[word]
        if kind == COMPARED:
            quiet = quiet and words[word] == before[word]
        elif kind == COUNTER:
            moved = words[word] - before[word]
            quiet = quiet and moved == drift[word]
            drift[word] = moved
        before[word] = words[word]
    return quiet


@compiled_into_callers
def remember(words: np.ndarray, before: np.ndarray) -> None:
    """Copy the words of a record."""
    for word in range(len(words)):
        before[word] = words[word]


@compiled
def move_counters(kinds: np.ndarray, words: np.ndarray, drift: np.ndarray, rounds: int) -> None:
    """Counters after so many more rounds."""
    for word in range(len(kinds)):
        if kinds[word] == COUNTER:
            words[word] += rounds * drift[word]


@compiled
def next_multiple(period: int, round_: int) -> int:
    """The first round at or after one that is divisible by a period."""
    return (round_ + period - 1) // period * period


@compiled
def is_due(round_: int, round_ms: int, period_ms: int) -> bool:
    """Whether what runs every so many ms runs in a round: a multiple of them is in ((round - 1) * round_ms, round * round_ms].

    A period shorter than a round is due in every round.
    """
    return round_ * round_ms % period_ms < round_ms


@compiled
def next_due(round_: int, round_ms: int, period_ms: int) -> int:
    """The first round at or after one, 0 or more, in which it is due."""
    since_ms = round_ * round_ms % period_ms
    return round_ if since_ms < round_ms else round_ + (period_ms - since_ms + round_ms - 1) // round_ms


@compiled
def last_due(from_round: int, to_round: int, round_ms: int, period_ms: int) -> int:
    """The last round in [from, to) in which it is due, -1 if there is none."""
    last = to_round - 1
    found = last - last * round_ms % period_ms // round_ms
    return found if found >= from_round else -1


@compiled
def sum_of_drift(value: int, drift: int, rounds: int) -> int:
    """What a counter adds to a total in so many rounds: value + drift, value + 2 drift, and so on."""
    return rounds * value + drift * (rounds * (rounds + 1) // 2)
