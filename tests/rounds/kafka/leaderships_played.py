"""The rules of leaderships over one partition whose logs are given at every step: what takes the steps of a History."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from emulator.rounds.kafka.append import delete_records
from emulator.rounds.kafka.constants import (
    ACKED_LOST,
    BEFORE_THE_RUN,
    COMMITTED_LOST,
    DELETE_RECORDS,
    FOREVER,
    NO_EPOCH,
    NOBODY,
    OFFLINE,
    STALE,
    UNACKNOWLEDGED_LOST,
    UNKNOWN,
)
from emulator.rounds.kafka.fence_and_elect import begin_leading
from emulator.rounds.kafka.finish import finish
from emulator.rounds.kafka.input_records import (
    Batch,
    BrokerSpan,
    Command,
    Inputs,
    Link,
    Pattern,
    Rules,
    ScenarioRow,
    Settings,
    WorkloadSpan,
)
from emulator.rounds.kafka.invariants import NAMES
from emulator.rounds.kafka.leaderships import acknowledge_on_append
from emulator.rounds.kafka.play_block import Scratch
from emulator.rounds.kafka.play_partitions import is_full
from emulator.rounds.kafka.reading.records import Want
from emulator.rounds.kafka.record_ranges import add_log
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.state import RANGE_LISTS
from emulator.rounds.kafka.tier.records import StoreSpan, Transaction
from emulator.rounds.kafka.unacknowledged import note_unacknowledged
from emulator.rounds.lists import List, every
from emulator.rounds.records import rows
from tests.rounds.kafka.leadership_histories import Log, Loss, Records, Violation

RECORD_BYTES = 10
FIRST_BROKER = 100
LOSSES = {ACKED_LOST: "acked_lost", COMMITTED_LOST: "committed_lost", UNACKNOWLEDGED_LOST: "unacknowledged_lost"}


def inputs_of_one() -> Inputs:
    """One scenario without faults, records of equal size, and room for one command."""
    inputs = Inputs(
        scenarios=rows(ScenarioRow, 1),
        rules=rows(Rules, 1),
        spans=rows(BrokerSpan, 1),
        links=rows(Link, 1),
        stale=np.zeros((1, 1), np.int64),
        settings=rows(Settings, 1),
        workload=rows(WorkloadSpan, 1),
        patterns=rows(Pattern, 1),
        batches=rows(Batch, 1),
        commands=rows(Command, 1),
        store=rows(StoreSpan, 1),
        transactions=rows(Transaction, 1),
        wants=rows(Want, 1),
    )
    scenario, pattern, rules = inputs.scenarios[0], inputs.patterns[0], inputs.rules[0]
    scenario.buckets, scenario.bucket_rounds, scenario.quiet_from = 1, FOREVER, FOREVER
    rules.entry_at_election = rules.forget_followers = 1
    inputs.settings[0].min_insync_replicas = 1
    pattern.records, pattern.size_bytes, pattern.record_bytes = 1, RECORD_BYTES, RECORD_BYTES
    return inputs


class Leaderships:
    """One partition. `scratch` is made for `inputs`, and one partition's at a time."""

    def __init__(self, inputs: Inputs, scratch: Scratch, slots: int, seed: int = 0) -> None:
        self.inputs, self.scratch, self.lists = inputs, scratch, scratch.lists
        self.draw = Random(seed)
        self.part, self.replicas = rows(Partition, 1)[0], rows(Replica, slots)
        self.part.slots, self.part.assigned = slots, (1 << slots) - 1
        for at, name in enumerate(RANGE_LISTS):
            self._place(getattr(self.part, name), at)
        self._place(self.part.sent, 0)
        self.part.sent_pattern = UNKNOWN
        for slot in range(slots):
            replica = self.replicas[slot]
            replica.broker, replica.damaged_round = FIRST_BROKER + slot, FOREVER
            self._place(replica.runs, 2 * slot)
            self._place(replica.epochs, slot)

    def _place(self, entries: List, number: int) -> None:
        """Give a list the room of a number."""
        entries.start, entries.limit = number * self.scratch.room, (number + 1) * self.scratch.room - 1

    def load(self, slot: int, log: Log) -> None:
        """A replica's log: several runs for an epoch now and then, and some of it only in remote storage now and then."""
        draw, replica = self.draw, self.replicas[slot]
        replica.log_start, replica.leo, replica.hw = log.log_start, log.leo, log.hw
        replica.log_bytes = log.leo * RECORD_BYTES
        replica.local_start = log.log_start if draw.random() < 0.7 else draw.randint(log.log_start, log.leo)
        replica.runs.count = replica.epochs.count = 0
        for i, epoch in enumerate(log.record_epochs):
            offset = log.log_start + i
            if i == 0 or epoch != log.record_epochs[i - 1]:
                entry = self.lists.epochs[replica.epochs.start + replica.epochs.count]
                entry.epoch, entry.start_offset = epoch, self._first_or_below(offset, i == 0)
                replica.epochs.count += 1
            if offset < replica.local_start:
                continue
            if not replica.runs.count or epoch != log.record_epochs[i - 1] or draw.random() < 0.2:
                run = self.lists.runs[replica.runs.start + replica.runs.count]
                run.start_offset = self._first_or_below(offset, replica.runs.count == 0)
                run.epoch, run.start_bytes = epoch, run.start_offset * RECORD_BYTES
                replica.runs.count += 1

    def _first_or_below(self, offset: int, is_first: bool) -> int:
        """Where what begins at an offset says it does: the first of a list also below what the log has now and then."""
        return self.draw.randint(0, offset) if is_first and self.draw.random() < 0.5 else offset

    def _load_all(self, logs: list[Log]) -> None:
        for slot, log in enumerate(logs):
            self.load(slot, log)

    # The steps of a History

    def start(self, logs: list[Log], epoch: int, epoch_start: int, acked_before: int) -> None:
        self._load_all(logs)
        part, leader = self.part, self.replicas[0]
        part.client_epoch = part.lead_epoch = part.epoch = epoch
        part.lead_broker, part.lead_round, part.lead_cause, part.lead_runs = leader.broker, BEFORE_THE_RUN, -1, 1
        part.lead_log_start, part.lead_hw = leader.log_start, leader.hw
        part.lead_acked_before, part.epoch_start, part.owes_from = acked_before, epoch_start, epoch_start
        part.owes_in_run = max(epoch_start, leader.leo)
        add_log(self.lists.runs, self.lists.epochs, leader, self.lists.ranges, part.lead_entries)
        assert self.records_in(part.lead_entries) == logs[0].records()

    def append(self, first: int, end: int, acks: str) -> None:
        leader = self.replicas[self.part.client_leader]
        assert leader.leo == first
        if acks != "all":
            acknowledge_on_append(self.lists, self.part, leader, first, end)
        if acks == "0":
            note_unacknowledged(self.lists, self.part, first, end, UNKNOWN)
            self.part.sent_unacknowledged += end - first
        leader.leo = end

    def advance(self, hw: int) -> None:
        self.part.lead_hw = self.replicas[self.part.client_leader].hw = hw

    def delete(self, log: Log, offset: int) -> None:
        part, command = self.part, self.inputs.commands[0]
        self.load(part.client_leader, log)
        command.kind, command.offset = DELETE_RECORDS, offset
        part.command = part.commands_now = 1
        delete_records(self.lists, self.inputs, part, self.replicas[part.client_leader])

    def damage(self, slot: int) -> None:
        self.replicas[slot].damaged_round = min(self.replicas[slot].damaged_round, self.part.now)
        self.replicas[slot].impaired = 1

    def elect(
        self,
        logs: list[Log],
        slot: int,
        round_: int,
        epoch: int,
        cause: int | None,
        is_clean: bool,
        knows: bool,
        runs: bool,
        goes_on: bool = False,
    ) -> None:
        self._load_all(logs)
        part = self.part
        self.replicas[part.client_leader].cause = -1 if cause is None else cause
        self.replicas[slot].status = 0 if knows else STALE if runs else OFFLINE
        self.replicas[slot].leading_epoch = part.client_epoch if goes_on else NO_EPOCH
        part.now, part.leader, part.epoch, part.leader_at_start = round_, slot, epoch, part.client_leader
        begin_leading(self.lists, self.inputs, part, self.replicas, self.inputs.rules[0], int(not is_clean))
        assert self.records_in(part.lead_entries) == logs[slot].records()

    def end(self, logs: list[Log], has_leader: bool) -> None:
        self._load_all(logs)
        if not has_leader:
            self.part.leader = NOBODY
        finish(self.lists, self.inputs, self.part, self.replicas)
        assert not is_full(None, None, self.part, self.replicas, self.lists.filled[0])

    # What became of it

    def told(self) -> tuple[list[Loss], list[Violation]]:
        """The losses and violations since the last time."""
        told: dict[str, Any] = self.scratch.hand_over()
        losses: list[Loss] = [
            (
                *at_slot(e.at_round, LOSSES[e.kind], e.broker),
                *map(int, (e.leader_epoch, e.from_offset, e.to_offset)),
                cause_of(e),
                None if e.records == UNKNOWN else int(e.records),
            )
            for e in told["events"].view(np.recarray)
            if e.kind in LOSSES
        ]
        violations: list[Violation] = [
            (
                *at_slot(v.at_round, NAMES[v.invariant], v.broker),
                *map(int, (v.leader_epoch, v.records_epoch, v.from_offset, v.to_offset)),
                cause_of(v),
                bool(v.is_suspect),
            )
            for v in told["violations"].view(np.recarray)
        ]
        return losses, violations

    def records_in(self, known: List) -> Records:
        """A set of records, which must not hold any twice."""
        entries = [self.lists.ranges[at] for at in every(known)]
        records = [(int(e.epoch), offset) for e in entries for offset in range(e.from_offset, e.to_offset)]
        assert len(set(records)) == len(records)
        return set(records)


def at_slot(round_: int, name: str, broker: int) -> tuple[int, str, int]:
    return int(round_), name, int(broker) - FIRST_BROKER


def cause_of(row: Any) -> int | None:
    return None if row.cause == -1 else int(row.cause)
