"""Random histories of one partition's leaders, with what they acknowledged and lost as plain sets of records.

Not the protocol: any replica may be elected with any log. Records are (epoch, offset).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from .state_rows import epochs, log, state_row

Records = set[tuple[int, int]]
Loss = tuple[int, str, int, int, int, int, int | None]


@dataclass
class Replica:
    """A replica's log as the epoch of each record, and its row's account of its leaderships."""

    log_start: int = 0
    record_epochs: list[int] = field(default_factory=list)
    hw: int = 0
    leaderships: list[dict[str, Any]] = field(default_factory=list)
    ends: list[dict[str, Any]] = field(default_factory=list)

    @property
    def leo(self) -> int:
        return self.log_start + len(self.record_epochs)

    def records(self, end: int | None = None) -> Records:
        held = {(epoch, self.log_start + i) for i, epoch in enumerate(self.record_epochs)}
        return held if end is None else {record for record in held if record[1] < end}

    def truncate(self, offset: int) -> None:
        del self.record_epochs[max(0, offset - self.log_start) :]
        self.hw = min(self.hw, self.leo)

    def runs(self, draw: Random, own_epoch: int | None) -> list[tuple[int, int]]:
        """(epoch, start) of runs, several for an epoch now and then, the first also from below the log start."""
        runs: list[tuple[int, int]] = []
        for i, epoch in enumerate(self.record_epochs):
            if not runs or runs[-1][0] != epoch or draw.random() < 0.2:
                runs.append((epoch, self.log_start + i))
        if runs and self.log_start and draw.random() < 0.5:
            runs[0] = (runs[0][0], draw.randrange(self.log_start))
        if own_epoch is not None and own_epoch not in self.record_epochs:
            runs.append((own_epoch, self.leo))
        return runs


class History:
    """One partition's random life; `rows` and the expected outcomes are there once it is made."""

    def __init__(self, seed: int) -> None:
        self.draw = Random(seed)
        self.acked: Records = set()
        self.committed: Records = set()
        self.losses: list[Loss] = []
        self.round = 0
        self.epoch = 0
        self.replicas = [Replica() for _ in range(self.draw.randint(1, 4))]
        self.leader = 0
        self.start: int | None = None  # of the leadership of now; None: elected unawares
        self._start()
        self.initial_records = self.replicas[0].records()
        for _ in range(self.draw.choice([0, 0, 1, 2, 3, 6])):
            self._lead()
            self._elect()
        self._lead()
        if self.draw.random() < 0.2:
            self._damage(self.replicas[self.leader])

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
        self.acked = leader.records(acked_before)
        self.committed = leader.records(leader.hw)
        runs = leader.runs(draw, self.epoch)
        self._open(leader, -1, None, runs, acked_before)
        self.start = min(start for epoch, start in runs if epoch == self.epoch)
        self.reached = leader.hw

    def _open(self, leader: Replica, round_: int, cause: int | None, runs: list[tuple[int, int]], acked_before: int = 0) -> None:
        leader.leaderships.append(
            {
                "epoch": self.epoch,
                "round": round_,
                "unclean": False,
                "cause": -1 if cause is None else cause,
                "leo": leader.leo,
                "log_start_offset": leader.log_start,
                "local_start": leader.log_start,
                "acked_before": acked_before,
                "entries": epochs(*runs),
            }
        )
        self.held = leader.records()
        self.on_append: list[list[int]] = []
        self.start = None
        self.reached = 0

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
                kept_from = self.draw.randint(leader.log_start, leader.hw)
                del leader.record_epochs[: kept_from - leader.log_start]
                leader.log_start = kept_from

    def _append(self, leader: Replica) -> None:
        first = leader.leo
        count = self.draw.randint(0, 3)
        leader.record_epochs += [self.epoch] * count
        appended = {(self.epoch, offset) for offset in range(first, leader.leo)}
        self.held |= appended
        if count and self.draw.random() < 0.4:
            self.acked |= appended
            if self.on_append and self.on_append[-1][1] == first:
                self.on_append[-1][1] = leader.leo
            else:
                self.on_append = [r for r in self.on_append if r[1] > leader.hw] + [[first, leader.leo]]

    def _advance(self, leader: Replica) -> None:
        assert self.start is not None
        leader.hw = self.reached = self.draw.randint(leader.hw, leader.leo)
        self.acked |= {record for record in leader.records(leader.hw) if record[1] >= self.start}
        self.committed |= leader.records(leader.hw)

    def _copy(self, leader: Replica, other: Replica) -> None:
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

    def _damage(self, replica: Replica) -> None:
        replica.truncate(self.draw.randint(replica.log_start, replica.leo))

    def _end(self) -> dict[str, Any]:
        ranges = [{"from_offset": low, "to_offset": high} for low, high in self.on_append]
        return {"start_offset": self.start, "hw": self.reached, "acked": ranges}

    def _elect(self) -> None:
        draw = self.draw
        before, held_before = self.replicas[self.leader], self.held
        if draw.random() < 0.15:
            self._damage(before)
        reached = self._end()
        self.round += draw.randint(1, 9)
        self.epoch += draw.randint(1, 2)
        self.leader = draw.randrange(len(self.replicas))
        leader = self.replicas[self.leader]
        before.ends.append(reached)
        cause = draw.choice([None, 0, 4])
        self._open(leader, self.round, cause, leader.runs(draw, None))
        gone = {r for r in held_before - leader.records() if r[1] >= leader.log_start}
        for kind, kept in (("acked_lost", self.acked), ("committed_lost", self.committed)):
            self.losses += [
                (self.round, kind, self.leader, epoch, low, high, cause) for epoch, low, high in contiguous(gone & kept)
            ]
        if draw.random() < 0.85:
            self.start, self.reached = leader.leo, leader.hw
            self.committed |= leader.records(leader.hw)

    def rows(self, partition_id: int) -> list[dict[str, Any]]:
        """The partition's rows of the final state."""
        has_leader = self.draw.random() < 0.8
        rows = []
        for slot, replica in enumerate(self.replicas):
            mine = slot == self.leader
            reached = self._end() if mine else (replica.ends[-1] if replica.ends else None)
            ends = replica.ends if mine else replica.ends[:-1]
            on_append = reached["acked"] if reached else []
            last = on_append[-1] if on_append else {"from_offset": 0, "to_offset": 0}
            own_epoch = self.epoch if mine and self.start is not None else None
            rows.append(
                state_row(
                    scenario_id=0,
                    partition_id=partition_id,
                    slot=slot,
                    leader=self.leader if has_leader else -1,
                    client_leader=self.leader,
                    leader_epoch=self.epoch,
                    client_epoch=self.epoch,
                    isr=1,
                    leo=replica.leo,
                    hw=replica.hw,
                    log_start_offset=replica.log_start,
                    log=log(*replica.runs(self.draw, own_epoch)),
                    leaderships=replica.leaderships,
                    leadership_ends=ends,
                    lead_start=reached["start_offset"] if reached else None,
                    lead_hw=reached["hw"] if reached else 0,
                    acked_ranges=on_append[:-1],
                    acked_from=last["from_offset"],
                    acked_to=last["to_offset"],
                    appended=slot + 1,
                )
            )
        return rows

    def outcomes(self) -> dict[str, int]:
        """acked (of this run), acked_lost, committed_lost."""
        final = self.replicas[self.leader]

        def lost(records: Records) -> int:
            return sum(1 for record in records - final.records() if record[1] >= final.log_start)

        return {
            "acked": len(self.acked - self.initial_records),
            "acked_lost": lost(self.acked),
            "committed_lost": lost(self.committed),
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
