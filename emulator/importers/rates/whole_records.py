"""Rates become whole records a round and partition, whose sum is that of the rates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from emulator.importers.rates.series import NANO, Held

_UNIT = 1000 * NANO
"""Nano-units a second times milliseconds, to the unit."""


@dataclass(frozen=True)
class WholeRecords:
    """So many records a round in each of these partitions, in rounds [from_round, to_round). `partitions`: None for all."""

    partitions: str | None
    from_round: int
    to_round: int
    records: int


@dataclass(frozen=True)
class Window:
    """The time that becomes rounds: round 0 begins at `from_ms`, the last one ends at `to_ms` or later."""

    from_ms: int
    to_ms: int
    round_ms: int

    @property
    def rounds(self) -> int:
        """How many rounds the time is."""
        return -(-(self.to_ms - self.from_ms) // self.round_ms)


def total(held: Iterable[Held], window: Window) -> int:
    """What rates come to within the window, to the nearest whole unit."""
    return _nearest(sum(h.nano_per_second * max(0, min(h.to_ms, window.to_ms) - max(h.from_ms, window.from_ms)) for h in held))


def whole_records(held: Iterable[Held], window: Window, partitions: int) -> Iterator[WholeRecords]:
    """Spreads a topic's rates, added up, over its partitions and the rounds of the window.

    Whenever a rate changes, the topic has as many records as its rates come to until then, to the nearest whole one; so it has at
    the end. Between two changes every partition has the same number in every round, and what is left over goes first: a record
    more in each partition for some rounds, then in some partitions for one round, beginning with the partition after those that
    had one more last.
    """
    return _joined(row for row in _rows(held, window, partitions) if row.records and row.from_round < row.to_round)


def _rows(held: Iterable[Held], window: Window, partitions: int) -> Iterator[WholeRecords]:
    next_partition = 0
    for first, end, records in _stretches(held, window):
        each, left_over = divmod(records, (end - first) * partitions)
        full_rounds, some = divmod(left_over, partitions)
        at = first + full_rounds
        yield WholeRecords(None, first, at, each + 1)
        if some:
            more = sorted((next_partition + i) % partitions for i in range(some))
            next_partition = (next_partition + some) % partitions
            yield WholeRecords(_ranges(more), at, at + 1, each + 1)
            if each:
                yield WholeRecords(_ranges(sorted(set(range(partitions)) - set(more))), at, at + 1, each)
            at += 1
        yield WholeRecords(None, at, end, each)


def _stretches(held: Iterable[Held], window: Window) -> Iterator[tuple[int, int, int]]:
    """The rounds between changes of a topic's rate, as (first, end, records in them); those of rounds that have none, too.

    The round in which a rate changes is the first of a stretch. Records are the whole ones until its end that none before has.
    """
    changes = {window.from_ms: 0, window.to_ms: 0}
    for h in held:
        start, end_ms = max(h.from_ms, window.from_ms), min(h.to_ms, window.to_ms)
        if start < end_ms:
            changes[start] = changes.get(start, 0) + h.nano_per_second
            changes[end_ms] = changes.get(end_ms, 0) - h.nano_per_second
    rate = amount = first = had = 0
    for time, later in pairwise(sorted(changes)):
        rate += changes[time]
        amount += rate * (later - time)
        end = window.rounds if later == window.to_ms else (later - window.from_ms) // window.round_ms
        if end > first:
            after_end_ms = max(0, later - (window.from_ms + end * window.round_ms))
            until_end = _nearest(amount - rate * after_end_ms)
            yield first, end, until_end - had
            first, had = end, until_end


def _nearest(amount: int) -> int:
    return (2 * amount + _UNIT) // (2 * _UNIT)


def _ranges(partitions: list[int]) -> str:
    """Partitions in order as a workload names them, as in "0-3,7"."""
    starts = [p for i, p in enumerate(partitions) if i == 0 or partitions[i - 1] != p - 1]
    ends = [p for i, p in enumerate(partitions) if i + 1 == len(partitions) or partitions[i + 1] != p + 1]
    return ",".join(str(start) if start == end else f"{start}-{end}" for start, end in zip(starts, ends, strict=True))


def _joined(rows: Iterable[WholeRecords]) -> Iterator[WholeRecords]:
    """The same rows, those made one that go on where the one before ends."""
    last: WholeRecords | None = None
    for row in rows:
        if last is not None and (last.partitions, last.records, last.to_round) == (row.partitions, row.records, row.from_round):
            last = WholeRecords(last.partitions, last.from_round, row.to_round, last.records)
            continue
        if last is not None:
            yield last
        last = row
    if last is not None:
        yield last
