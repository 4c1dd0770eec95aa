"""Random histories of one partition's leaders, with what they acknowledged and lost as plain sets of records.

Not the protocol: any replica may be elected with any log. Records are (epoch, offset). Nothing here is of the emulator; what
happened is told step by step, for the rules to count it (test_leaderships.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

Records = set[tuple[int, int]]
Loss = tuple[int, str, int, int, int, int, int | None, int | None]
"""round, kind, slot of the elected, epoch of the records, from, to, cause"""
Violation = tuple[int, str, int, int, int, int, int, int | None, bool]
"""round, invariant, slot of the elected, its epoch, epoch of the records, from, to, cause, whether it is suspect only"""


@dataclass
class Log:
    """A replica's log as the epoch of each record."""

    log_start: int = 0
    record_epochs: list[int] = field(default_factory=list)
    hw: int = 0

    @property
    def leo(self) -> int:
        return self.log_start + len(self.record_epochs)

    def records(self, end: int | None = None) -> Records:
        held = {(epoch, self.log_start + i) for i, epoch in enumerate(self.record_epochs)}
        return held if end is None else {record for record in held if record[1] < end}

    def truncate(self, offset: int) -> None:
        del self.record_epochs[max(0, offset - self.log_start) :]
        self.hw = min(self.hw, self.leo)

    def copy(self) -> Log:
        return Log(self.log_start, list(self.record_epochs), self.hw)


class History:
    """One partition's random life: `steps`, each a name and arguments, and the expected outcomes are there once it is made."""

    def __init__(self, seed: int) -> None:
        self.draw = Random(seed)
        self.steps: list[tuple[str, tuple[Any, ...]]] = []
        self.acked: Records = set()
        self.committed: Records = set()
        self.acked_for_all: Records = set()
        self.losses: list[Loss] = []
        self.violations: list[Violation] = []
        self.round = -1
        self.epoch = 0
        self.cause: int | None = None
        self.damaged: set[int] = set()
        self.given_up: Records = set()
        self.is_suspect = False
        self.replicas = [Log() for _ in range(self.draw.randint(1, 4))]
        self.leader = 0
        self.start: int | None = 0  # of the leadership of now; None: elected unawares
        self.owes_from: int | None = 0  # where the leader's broker began to lead; None: it does not know that it leads
        self.reached = 0
        self._start()
        self.initial_records = self.replicas[0].records()
        for _ in range(self.draw.choice([0, 0, 1, 2, 3, 6])):
            self._lead()
            self._elect()
        self._lead()
        if self.draw.random() < 0.2:
            self._damage(self.leader)
        self._check_reads()
        self.steps.append(("end", (self._logs(), self.draw.random() < 0.8)))

    def _logs(self) -> list[Log]:
        return [replica.copy() for replica in self.replicas]

    def _start(self) -> None:
        draw, leader = self.draw, self.replicas[0]
        if draw.random() < 0.5:
            leader.log_start = draw.choice([0, 0, 3])
            for epoch in range(draw.randint(1, 3)):
                leader.record_epochs += [2 * epoch] * draw.randint(0, 4)
            self.epoch = (leader.record_epochs or [0])[-1] + draw.choice([0, 0, 1])
            leader.hw = draw.randint(leader.log_start, leader.leo)
        for other in self.replicas[1:]:
            other.log_start = draw.choice([0, leader.log_start])
            deleted = [0] * (leader.log_start - other.log_start)
            other.record_epochs = deleted + leader.record_epochs[: draw.randint(0, len(leader.record_epochs))]
            other.hw = min(leader.hw, other.leo)
        acked_before = draw.choice([leader.hw, leader.leo])
        self.acked = leader.records(acked_before)  # those with acks=0 are in it, and in `sent`
        self.sent: Records = set()
        self.committed = leader.records(leader.hw)
        own = {record for record in leader.records() if record[0] == self.epoch}
        self.acked_for_all = own & self.committed
        # the cache of a log that began below its log start may say so
        self.start = min((offset for _, offset in own), default=leader.leo)
        if self.start == leader.log_start and draw.random() < 0.5:
            self.start = draw.randint(0, leader.log_start)
        self.owes_from = self.start
        self.reached = leader.hw
        self._open(leader)
        self.steps.append(("start", (self._logs(), self.epoch, self.start, acked_before)))

    def _open(self, leader: Log) -> None:
        self.held = leader.records()
        self.missing: list[tuple[int, int, int]] = []
        self.is_suspect = False

    def _lead(self) -> None:
        leader = self.replicas[self.leader]
        for _ in range(self.draw.randint(0, 5) if self.start is not None else 0):
            self._append(leader)
            if self.draw.random() < 0.5:
                self._advance(leader)
            for other in self.replicas:
                if other is not leader and self.draw.random() < 0.5:
                    self._copy(leader, other)
            if self.draw.random() < 0.1 and leader.hw > leader.log_start:
                self._delete(leader, self.draw.randint(leader.log_start, leader.hw))

    def _append(self, leader: Log) -> None:
        first = leader.leo
        leader.record_epochs += [self.epoch] * self.draw.randint(0, 3)
        appended = {(self.epoch, offset) for offset in range(first, leader.leo)}
        acks = self.draw.choice(("all", "all", "all", "1", "0")) if appended else "all"
        self.held |= appended
        if acks != "all":
            self.acked |= appended
        if acks == "0":
            self.sent |= appended
        self.steps.append(("append", (first, leader.leo, acks)))

    def _advance(self, leader: Log) -> None:
        assert self.owes_from is not None
        leader.hw = self.reached = self.draw.randint(leader.hw, leader.leo)
        own = {record for record in leader.records(leader.hw) if record[1] >= self.owes_from}
        self.acked |= own
        self.acked_for_all |= own
        self.committed |= leader.records(leader.hw)
        self.steps.append(("advance", (leader.hw,)))

    def _delete(self, leader: Log, kept_from: int) -> None:
        self.steps.append(("delete", (leader.copy(), kept_from)))
        del leader.record_epochs[: kept_from - leader.log_start]
        leader.log_start = kept_from
        self.held = {record for record in self.held if record[1] >= kept_from}

    def _copy(self, leader: Log, other: Log) -> None:
        if other.leo < leader.log_start:
            other.log_start, other.record_epochs = leader.log_start, []
        common = other.records() & leader.records()
        prefix = max(other.log_start, leader.log_start)
        while any(record[1] == prefix for record in common):
            prefix += 1
        other.truncate(prefix)
        end = self.draw.randint(other.leo, max(other.leo, leader.leo))
        other.record_epochs += leader.record_epochs[other.leo - leader.log_start : end - leader.log_start]
        other.hw = min(leader.hw, other.leo)

    def _damage(self, slot: int) -> None:
        replica = self.replicas[slot]
        replica.truncate(self.draw.randint(replica.log_start, replica.leo))
        self.damaged.add(slot)
        self.steps.append(("damage", (slot,)))

    def _elect(self) -> None:
        draw, held_before = self.draw, self.held
        goes_on = self.owes_from is not None and draw.random() < 0.3
        if not goes_on and draw.random() < 0.15:
            self._damage(self.leader)
        self._check_reads()
        self.round += draw.randint(1, 9)
        self.epoch += draw.randint(1, 2)
        if not goes_on:
            self.leader, self.owes_from = draw.randrange(len(self.replicas)), None
        self.cause = draw.choice([None, 0, 4])
        is_clean, knows = draw.random() < 0.9, draw.random() < 0.85
        runs = knows or goes_on or draw.random() < 0.5
        leader = self.replicas[self.leader]
        told = (self._logs(), self.leader, self.round, self.epoch, self.cause, is_clean, knows, runs, goes_on)
        self.steps.append(("elect", told))
        self._open(leader)
        gone = {record for record in held_before - leader.records() if record[1] >= leader.log_start}
        for epoch, low, high in contiguous(gone & self.committed):
            self.losses.append((self.round, "committed_lost", self.leader, epoch, low, high, self.cause, None))
        for epoch, low, high in contiguous(gone & self.acked):
            for kind, kept in (("acked_lost", self.acked - self.sent), ("unacknowledged_lost", self.sent)):
                lost = [offset for offset in range(low, high) if (epoch, offset) in kept]
                if lost:
                    some = None if len(lost) == lost[-1] + 1 - lost[0] else len(lost)
                    self.losses.append((self.round, kind, self.leader, epoch, lost[0], lost[-1] + 1, self.cause, some))
        if not is_clean or self.leader in self.damaged:
            self.given_up = self._lacked_by(leader, self.committed)
        elif runs:
            self.is_suspect = bool(self.damaged)
            self.missing = contiguous(self._lacked_by(leader, self.committed) - self.given_up)
            self._violate("LeaderCompleteness", self.missing)
            lacked = contiguous(self._lacked_by(leader, self.acked_for_all) - self.given_up)
            self._violate("NoAckedRecordLost", [each for each in lacked if not self._was_sent(*each)])
        self.start, self.reached = None, 0
        if knows:
            self.start, self.reached = leader.leo, leader.hw
            self.owes_from = leader.leo if self.owes_from is None else self.owes_from
            self.committed |= leader.records(leader.hw)

    def _check_reads(self) -> None:
        """At a leadership's end: what it lacked of its start, and its high watermark went beyond."""
        self._violate("ConsistentRead", [records for records in self.missing if records[1] < self.reached])

    def _violate(self, invariant: str, ranges: list[tuple[int, int, int]]) -> None:
        self.violations += [
            (self.round, invariant, self.leader, self.epoch, *records, self.cause, self.is_suspect) for records in ranges
        ]

    def _was_sent(self, epoch: int, low: int, high: int) -> bool:
        """Whether all records of a range have acks=0."""
        return all((epoch, offset) in self.sent for offset in range(low, high))

    def _lacked_by(self, log: Log, records: Records) -> Records:
        return {record for record in records - log.records() if record[1] >= log.log_start}

    def outcomes(self) -> dict[str, int]:
        """acked and sent (of this run), what of them and of what was committed is lost; LEO and high watermark at the end."""
        final = self.replicas[self.leader]
        return {
            "acked_total": len(self.acked - self.sent - self.initial_records),
            "acked_lost": len(self._lacked_by(final, self.acked - self.sent)),
            "sent_unacknowledged": len(self.sent),
            "unacknowledged_lost": len(self._lacked_by(final, self.sent)),
            "committed_lost": len(self._lacked_by(final, self.committed)),
            "end_leo": final.leo,
            "end_hw": final.hw,
        }


def contiguous(records: Records) -> list[tuple[int, int, int]]:
    """(epoch, from_offset, to_offset) of records, each range as long as can be."""
    ranges: list[tuple[int, int, int]] = []
    for epoch, offset in sorted(records):
        if ranges and ranges[-1][0] == epoch and ranges[-1][2] == offset:
            ranges[-1] = (epoch, ranges[-1][1], offset + 1)
        else:
            ranges.append((epoch, offset, offset + 1))
    return ranges
