"""Producers of one partition that budgets hold back."""

from __future__ import annotations

from collections import deque
from fractions import Fraction

from ..leading import records_due
from ..partition import Partition

DELIVERY_TIMEOUT_MS = 120_000


class WaitingClients:
    """What waits with the producers of a partition, round after round, and what they may send.

    `allowance`: bytes a round, None: all that waits.
    """

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.rows = partition.case.get("workload", [])
        self.waiting: deque[tuple[int, list[int]]] = deque()
        self.allowance: int | Fraction | None = None
        self.credit: int | Fraction = 0
        self.given_up = 0
        self.slept_over_a_change = False
        """Whether what waited while T did not serve would be other records, were it of the rounds just before: of those before an
        edge, or before T serves again.
        """
        self._served = -1

    def due(self, now: int) -> list[int]:
        """Records by row that are due in the round."""
        return [records_due(row, now, self.partition.case["round_ms"]) for row in self.rows]

    def bytes_of(self, records: list[int]) -> int:
        """How large so many records of each row are."""
        return sum(count * row["record_bytes"] for count, row in zip(records, self.rows, strict=True))

    def bytes_waiting(self, now: int) -> int:
        """What waits before a round."""
        self._note_sleep(now - 1 - self._served)
        return sum(self.bytes_of(records) for _, records in self.waiting)

    def sent(self, now: int) -> list[tuple[int, int, int]]:
        """Of what is due, and of what waits: (round in which it was due, place of its row, records), the oldest first."""
        self._wake_up(now)
        due = self.due(now)
        if any(due):
            self.waiting.append((now, due))
        if self.allowance is not None:
            self.credit += self.allowance
        found = []
        while self.waiting:
            round_, records = self.waiting[0]
            if self.allowance is None or self.bytes_of(records) <= self.credit:
                self.credit -= 0 if self.allowance is None else self.bytes_of(records)
                found += [(round_, at, count) for at, count in enumerate(records)]
            elif (now - round_) * self.partition.case["round_ms"] >= DELIVERY_TIMEOUT_MS:
                self.given_up += sum(records)
            else:
                break
            self.waiting.popleft()
        if not self.waiting:
            self.credit = 0
        return found

    def _wake_up(self, now: int) -> None:
        """While T did not serve time stood still: what waits is as old as if it had come in the rounds just before."""
        slept, self._served = now - 1 - self._served, now
        if slept:
            self._note_sleep(slept)
            self.waiting = deque((round_ + slept, records) for round_, records in self.waiting)

    def _note_sleep(self, slept: int) -> None:
        self.slept_over_a_change |= any(self.due(round_ + slept) != records for round_, records in self.waiting)
