"""Step 10, outcomes: what users ask for, and events that are told at the end of a round."""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.advance_high_watermark import is_enough
from emulator.rounds.kafka.constants import CLIENTS_CUT, ISR_EXPAND, ISR_SHRINK, LOG_DAMAGED, NOBODY, UNKNOWN
from emulator.rounds.kafka.input_records import Inputs, Settings
from emulator.rounds.kafka.produce_within import records_of, unconditional_of
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.kafka.tell import note_refusals, tell
from emulator.rounds.records import Rows
from emulator.rounds.slots import has, size


@compiled_into_callers
def count_outcomes(
    lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], settings: Settings, ready: bool, refused: int
) -> None:
    """Step 10. `ready`: of T."""
    serves = False
    rose = False
    if ready:
        leader = replicas[part.client_leader]
        serves = not leader.status & CLIENTS_CUT and (part.leader == part.client_leader or part.leader == NOBODY)
        rose = leader.hw > leader.hw_at_start
    in_sync = size(part.isr)
    part.leaderless_rounds += not serves
    part.under_min_isr_rounds += not is_enough(part, settings, in_sync)
    part.under_replicated_rounds += in_sync < size(part.assigned)
    workload = inputs.workload[part.workload]
    waits = part.unacked > 0 or records_of(inputs, workload) > part.accepted
    part.unwritable_rounds += waits and not (rose or part.acked_on_append > 0)
    part.unacked = 0
    if part.client_leader != NOBODY and unconditional_of(inputs, workload) == 0:
        last = replicas[part.client_leader]
        part.unacked = max(last.leo - last.hw, 0)  # who was elected untold may have fetched in step 7, from a rack-mate
    part.unacked_rounds += part.unacked
    note_refusals(lists, part, replicas, refused)
    if part.fenced_out | part.joined | part.lagged_out:
        tell_of_isr(lists, part, replicas)


@compiled
def tell_of_isr(lists: Lists, part: Partition, replicas: Rows[Replica]) -> None:
    """Who left and joined the ISR, with its log as it is at the end of the round: what it took, or will take, to come back."""
    for slot in range(part.slots):
        replica = replicas[slot]
        log_start, leo = replica.log_start, replica.leo
        if has(part.fenced_out, slot):
            tell(lists, part, ISR_SHRINK, replica.broker, part.epoch_at_start, log_start, leo, replica.cause)
        if has(part.joined, slot):
            tell(lists, part, ISR_EXPAND, replica.broker, part.epoch, log_start, leo, replica.cause)
        if has(part.lagged_out, slot):
            tell(lists, part, ISR_SHRINK, replica.broker, part.epoch, log_start, leo, replica.cause)


@compiled
def tell_of_damage(lists: Lists, part: Partition, replicas: Rows[Replica]) -> None:
    """Who lost records to a fault in this round."""
    for slot in range(part.slots):
        replica = replicas[slot]
        if replica.damaged_from != UNKNOWN:
            epoch = replica.believed_epoch
            tell(lists, part, LOG_DAMAGED, replica.broker, epoch, replica.damaged_to, replica.damaged_from, replica.cause)
            replica.damaged_from = UNKNOWN
