"""Writing down what broke: rows of `violations`."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.list_records import EpochEntry, RecordRange
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.lists import append, every
from emulator.rounds.records import Rows


@compiled
def new_violation(lists: Lists, part: Partition, invariant: int, is_suspect: int) -> int:
    """Where a new row of `violations` stands, all but its witness filled in.

    `is_suspect`: something excuses it, and no rule is known by which the real system does that (docs/invariants.md).
    """
    at = append(lists.filled[0].violations)
    row = lists.violations[at]
    row.partition = part.place
    row.at_round = part.now
    row.invariant = invariant
    row.cause = -1
    row.broker = -1
    row.leader = -1
    row.leader_epoch = UNKNOWN
    row.leader_leo = 0
    row.leader_hw = 0
    row.leo = 0
    row.hw = 0
    row.agreed_to = 0
    row.from_offset = 0
    row.to_offset = 0
    row.records_epoch = UNKNOWN
    row.heard_round = 0
    row.epochs = 0
    row.leader_epochs = 0
    row.group = -1
    row.is_suspect = is_suspect
    if not is_suspect:
        part.violations += 1
    return at


@compiled
def tell_of_missing(lists: Lists, part: Partition, invariant: int, records: RecordRange, is_suspect: int, at_round: int) -> None:
    """A leader lacks records since it was elected."""
    row = lists.violations[new_violation(lists, part, invariant, is_suspect)]
    row.at_round = at_round
    row.cause = part.lead_cause
    row.broker = part.lead_broker
    row.leader_epoch = part.lead_epoch
    row.from_offset = records.from_offset
    row.to_offset = records.to_offset
    row.records_epoch = records.epoch


@compiled
def witness_epochs(epochs: Rows[EpochEntry], lists: Lists, replica: Replica) -> int:
    """Copy an epoch cache behind the witnesses so far; how many entries it has."""
    for at in every(replica.epochs):
        entry = lists.witness_epochs[append(lists.filled[0].witness_epochs)]
        entry.epoch = epochs[at].epoch
        entry.start_offset = epochs[at].start_offset
    return replica.epochs.count
