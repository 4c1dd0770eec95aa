"""One broker's remote reads in one round: requests that each is dealt, and its part of the quota (docs/consumer_rounds.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from emulator.inputs.arrays.shared_reads import BY_ITSELF
from emulator.rounds.kafka.reading.records import IS_MADE, IS_REFUSED, WAITS_FOR_FETCH, WAITS_FOR_THREAD


@dataclass(frozen=True)
class ReadTask:
    """A remote read that a reader would make. `order`: its place among all readers; `fetch`: what brings it, BY_ITSELF: nothing
    that others share; `fetches`: how many of these a round holds; `last_round`: of its last remote read; `short_round`: in which
    it last came short of requests; `needs`: requests that it needs, 0: it has all in hand.
    """

    order: tuple[int, int]
    fetch: int
    fetches: int
    last_round: int
    short_round: int
    needs: int


def requests_of(tasks: Sequence[ReadTask], at_once: float, queue: int) -> list[tuple[int, int]]:
    """What each of a broker's reads may do: (IS_MADE and the like, requests that it is dealt).

    A member's fetches of the round are dealt out, then the `at_once` requests of the threads to those who have a fetch. Of who
    gets none of these the first of the `queue` wait, the others are refused.
    """
    in_order = sorted(range(len(tasks)), key=lambda at: (tasks[at].last_round, -tasks[at].short_round, tasks[at].order))
    of_fetches: dict[int, list[int]] = defaultdict(list)
    for at in in_order:
        of_fetches[tasks[at].fetch].append(at)
    wanted = [task.needs for task in tasks]
    for fetch, sharers in of_fetches.items():
        if fetch != BY_ITSELF:
            fetches = max(tasks[at].fetches for at in sharers)
            for at, dealt in zip(sharers, deal([wanted[at] for at in sharers], fetches), strict=True):
                wanted[at] = dealt
    found = [(IS_MADE if wanted[at] or not task.needs else WAITS_FOR_FETCH, 0) for at, task in enumerate(tasks)]
    place = 0
    for at, dealt in zip(in_order, deal([wanted[at] for at in in_order], at_once), strict=True):
        found[at] = (found[at][0], dealt)
        if wanted[at] and not dealt:
            found[at] = (WAITS_FOR_THREAD if place < queue else IS_REFUSED, 0)
            place += 1
    return found


def deal(wanted: Sequence[int], number: float) -> list[int]:
    """So many dealt out one each to all who want one, in order, and again to those who want more, until none is left.

    >>> deal([3, 1, 2], 5)
    [2, 1, 2]
    """
    dealt = [0] * len(wanted)
    if sum(wanted) <= number:
        return list(wanted)
    while number > 0:
        for at, most in enumerate(wanted):
            if dealt[at] < most and number > 0:
                dealt[at] += 1
                number -= 1
    return dealt


def parts_of(wanted: Sequence[int], quota_bytes: int) -> list[int]:
    """Bytes that a quota leaves each of these reads: all parts rise together up to what each wants."""
    found, left = [0] * len(wanted), quota_bytes
    for place, at in enumerate(sorted(range(len(wanted)), key=lambda at: wanted[at])):
        found[at] = min(wanted[at], left // (len(wanted) - place))
        left -= found[at]
    return found
