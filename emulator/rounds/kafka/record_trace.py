"""Traced partitions keep what they look like at the end of every round."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.constants import NO_EPOCH, OFFLINE, UNKNOWN
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.kafka.segments import disk_bytes, first_of_newest_round
from emulator.rounds.lists import append, every
from emulator.rounds.records import Rows
from emulator.rounds.slots import has


@compiled
def record_trace(lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica]) -> None:
    """A row for each replica, and one for the controller."""
    filled = lists.filled[0]
    for slot in range(part.slots):
        if not has(part.assigned, slot):
            continue
        replica = replicas[slot]
        row = lists.trace[append(filled.trace_rows)]
        row.partition = part.place
        row.at_round = part.now
        row.broker = replica.broker
        row.role = 2 if replica.status & OFFLINE else (0 if replica.leading_epoch == NO_EPOCH else 1)
        row.leader_epoch = replica.believed_epoch
        row.log_start = replica.log_start
        row.leo = replica.leo
        row.hw = replica.hw
        row.remote_leo = UNKNOWN if slot == part.client_leader else replica.remote_leo
        row.in_isr = 1 if has(part.isr, slot) else 0
        row.fetch_state = replica.fetch_state
        row.epochs = replica.epochs.count
        for at in every(replica.epochs):
            entry = lists.trace_epochs[append(filled.trace_epochs)]
            entry.epoch = lists.epochs[at].epoch
            entry.start_offset = lists.epochs[at].start_offset
        row.local_start = replica.local_start
        row.local_bytes = UNKNOWN
        row.segments = 0
        row.highest_remote = replica.highest_remote
        row.tiered = inputs.settings[part.settings].tiered
        row.newest_offset = first_of_newest_round(lists.runs, inputs, replica) if row.role == 1 else UNKNOWN
        if part.keeps_segments:
            row.local_bytes = disk_bytes(lists.segments, replica)
            row.segments = replica.segments.count + 1
            for at in every(replica.segments):
                lists.trace_segments[append(filled.trace_segments)].base_offset = lists.segments[at].base_offset
            lists.trace_segments[append(filled.trace_segments)].base_offset = replica.active_base
    whole = lists.trace_partitions[append(filled.trace_partitions)]
    whole.partition = part.place
    whole.at_round = part.now
    whole.leader = part.leader
    whole.leader_epoch = part.epoch
    whole.isr = part.isr
    whole.elr = part.elr
    whole.last_known_elr = part.last_known_elr
