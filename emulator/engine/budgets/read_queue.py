"""One broker's remote reads in one round: which are made, which wait, what its quota leaves each (docs/consumer_rounds.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from emulator.inputs.arrays.shared_reads import BY_ITSELF
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.reading.records import IS_MADE, IS_REFUSED, WAITS_FOR_FETCH, WAITS_FOR_THREAD


@dataclass(frozen=True)
class ReadTask:
    """A remote read that a reader would make. `order`: its place among all readers; `fetch`: what brings it, BY_ITSELF: nothing
    that others share; `last_round`: of its last remote read; `wanted_bytes`: what it reads if it may; `has_it`: it has that in
    hand, and needs neither a fetch nor a thread.
    """

    order: tuple[int, int]
    fetch: int
    last_round: int
    wanted_bytes: int
    has_it: bool


def reads_of(tasks: Sequence[ReadTask], at_once: float, queue: int, quota_bytes: float) -> list[tuple[int, int]]:
    """What each of a broker's reads gets: (IS_MADE and the like, bytes, UNKNOWN: all that it wants).

    Whose last read is longest ago comes first, to a fetch, which brings one of its reads, and to the threads. Those that are made
    share the quota: all parts rise together.
    """
    found = [(IS_MADE, UNKNOWN)] * len(tasks)
    in_order = sorted(range(len(tasks)), key=lambda at: (tasks[at].last_round, tasks[at].order))
    fetched: set[int] = set()
    requests = []
    for at in in_order:
        if tasks[at].has_it:
            continue
        if tasks[at].fetch != BY_ITSELF and tasks[at].fetch in fetched:
            found[at] = (WAITS_FOR_FETCH, 0)
            continue
        fetched.add(tasks[at].fetch)
        requests.append(at)
    for place, at in enumerate(requests):
        if place >= at_once:
            found[at] = (IS_REFUSED if place >= at_once + queue else WAITS_FOR_THREAD, 0)
    if quota_bytes == float("inf"):
        return found
    left = int(quota_bytes)
    made = sorted((at for at in in_order if found[at][0] == IS_MADE), key=lambda at: tasks[at].wanted_bytes)
    for place, at in enumerate(made):
        share = min(tasks[at].wanted_bytes, left // (len(made) - place))
        left -= share
        found[at] = (IS_MADE, share)
    return found
