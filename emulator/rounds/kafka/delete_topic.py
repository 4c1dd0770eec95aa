"""delete_topic, of step 1: every log goes, nobody leads, and nothing reaches the partition any more (docs/tiered_rounds.md)."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.constants import DELETE_TOPIC, FOREVER, NO_EPOCH, NOBODY, TOPIC_DELETED, UNKNOWN
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.kafka.segments import start_segment_at
from emulator.rounds.kafka.tell import end_refusals, tell
from emulator.rounds.kafka.traffic import settle_traffic
from emulator.rounds.lists import clear
from emulator.rounds.records import Rows


@compiled
def is_deleted_now(inputs: Inputs, part: Partition) -> bool:
    """Whether a command of this round deletes the topic."""
    goes = False
    for at in range(part.command - part.commands_now, part.command):
        goes = goes or inputs.commands[at].kind == DELETE_TOPIC
    return goes


@compiled
def delete_topic(lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica]) -> None:
    """The partition is gone, but for what it still has in remote storage."""
    end_refusals(lists, part, replicas)
    for slot in range(part.slots):
        replica = replicas[slot]
        settle_traffic(lists, inputs, part, replicas, slot, part.now)
        clear(replica.runs)
        clear(replica.epochs)
        start_segment_at(replica, replica.leo)
        replica.log_start = replica.local_start = replica.leo
        replica.hw = replica.flushed = replica.leo
        replica.leading_epoch = NO_EPOCH
        replica.builds = 0
    tell(lists, part, TOPIC_DELETED, NOBODY, part.epoch, UNKNOWN, UNKNOWN, -1)
    part.leader = NOBODY
    part.isr = part.elr = part.last_known_elr = 0
    part.assigned = part.adding = part.unfenced = 0
    part.target = 0
    part.unacked = 0
    part.deleted = 1
    part.next_change = FOREVER
