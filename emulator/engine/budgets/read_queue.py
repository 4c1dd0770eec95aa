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
    that others share; `fetches`: how many of these a round holds; `dealt_round`, `dealt_place`: as of Reader; `needs`: requests
    that it needs, 0: it has all in hand.
    """

    order: tuple[int, int]
    fetch: int
    fetches: int
    dealt_round: int
    dealt_place: int
    needs: int


def requests_of(tasks: Sequence[ReadTask], at_once: float, queue: int) -> list[tuple[int, int, int]]:
    """What each of a broker's reads may do: (IS_MADE and the like, requests that it is dealt, dealt_place of the last one).

    A member's fetches of the round are dealt out, then the `at_once` requests of the threads to those who have a fetch. Of who
    gets none of these the first of the `queue` wait, the others are refused.
    """
    in_order = sorted(range(len(tasks)), key=lambda at: (tasks[at].dealt_round, tasks[at].dealt_place, tasks[at].order))
    of_fetches: dict[int, list[int]] = defaultdict(list)
    for at in in_order:
        of_fetches[tasks[at].fetch].append(at)
    wanted = [task.needs for task in tasks]
    for fetch, sharers in of_fetches.items():
        if fetch != BY_ITSELF:
            fetches = max(tasks[at].fetches for at in sharers)
            for at, (dealt, _) in zip(sharers, deal([wanted[at] for at in sharers], fetches), strict=True):
                wanted[at] = dealt
    found, waiting = [(IS_MADE, task.needs, 0) for task in tasks], 0
    if sum(wanted) <= at_once and wanted == [task.needs for task in tasks]:
        return found  # nobody comes short
    dealt_out = dict(zip(in_order, deal([wanted[at] for at in in_order], at_once), strict=True))
    for at in in_order:
        dealt, place = dealt_out[at]
        turn = IS_MADE
        if tasks[at].needs and not wanted[at]:
            turn = WAITS_FOR_FETCH
        elif wanted[at] and not dealt:
            turn = WAITS_FOR_THREAD if waiting < queue else IS_REFUSED
            waiting += 1
        found[at] = (turn, dealt, place)
    return found


def deal(wanted: Sequence[int], number: float) -> list[tuple[int, int]]:
    """So many dealt out one each to all who want one, in order, and again to those who want more, until none is left.

    By who wants some: (how many, place of the last among all that are dealt out, from 1 on; 0: none).

    >>> deal([3, 1, 2], 5)
    [(2, 4), (1, 2), (2, 5)]
    """
    dealt, last = [0] * len(wanted), [0] * len(wanted)
    place, most = 0, min(sum(wanted), number)
    while place < most:
        for at, want in enumerate(wanted):
            if dealt[at] < want and place < most:
                place += 1
                dealt[at], last[at] = dealt[at] + 1, place
    return list(zip(dealt, last, strict=True))


def parts_of(wanted: Sequence[int], quota_bytes: int) -> list[int]:
    """Bytes that a quota leaves each of these reads: all parts rise together up to what each wants."""
    found, left = [0] * len(wanted), quota_bytes
    for place, at in enumerate(sorted(range(len(wanted)), key=lambda at: wanted[at])):
        found[at] = min(wanted[at], left // (len(wanted) - place))
        left -= found[at]
    return found
