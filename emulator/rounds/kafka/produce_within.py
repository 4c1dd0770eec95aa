"""What producers send where the budgets of a leader's broker leave them less than they have.

Their requests wait: they are sent in the order in which records came, and one is given up that waited for delivery.timeout.ms
(ProducerConfig; RecordAccumulator.expiredBatches). Here they go by whole rounds (docs/kafka_rounds.md, Shared bandwidth).
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.input_records import Inputs, WorkloadSpan
from emulator.rounds.kafka.records import Partition


@compiled_into_callers
def begin_waiting(part: Partition) -> None:
    """The records of this round come, and what the budgets leave for it."""
    if part.waiting_rounds == 0:
        part.waiting_workload = part.workload
    part.waiting_rounds += 1
    part.produce_credit_bytes += part.produce_quota_bytes


@compiled_into_callers
def end_waiting(part: Partition) -> None:
    """What is left of the round's allowance is kept for a round's records that are larger than it."""
    if part.waiting_rounds == 0:
        part.produce_credit_bytes = 0


@compiled_into_callers
def may_send(part: Partition, size_bytes: int) -> bool:
    """Whether the allowance has room for a round's records, which are taken off it."""
    if size_bytes > part.produce_credit_bytes:
        return False
    part.produce_credit_bytes -= size_bytes
    return True


@compiled_into_callers
def oldest_workload(inputs: Inputs, part: Partition) -> int:
    """The place of the workload in the oldest round whose records wait."""
    oldest = part.now - part.waiting_rounds + 1
    while inputs.workload[part.waiting_workload + 1].from_round <= oldest:
        part.waiting_workload += 1
    return part.waiting_workload


@compiled
def until_others_are_oldest(inputs: Inputs, part: Partition) -> int:
    """The round in which the oldest records that wait may be of another row of the workload; some wait."""
    return inputs.workload[part.waiting_workload + 1].from_round + part.waiting_rounds - 1


@compiled_into_callers
def bytes_of(inputs: Inputs, workload: WorkloadSpan) -> int:
    """Bytes of a round's records."""
    return 0 if workload.pattern == UNKNOWN else inputs.patterns[workload.pattern].size_bytes


@compiled_into_callers
def records_of(inputs: Inputs, workload: WorkloadSpan) -> int:
    """How many records a round has."""
    return workload.too_large + (0 if workload.pattern == UNKNOWN else inputs.patterns[workload.pattern].records)


@compiled_into_callers
def unconditional_of(inputs: Inputs, workload: WorkloadSpan) -> int:
    """Of these, records with acks 0 or 1."""
    return 0 if workload.pattern == UNKNOWN else inputs.patterns[workload.pattern].unconditional_records


@compiled
def waiting_bytes(inputs: Inputs, part: Partition, round_: int) -> int:
    """Bytes that wait at the end of a round, the last one."""
    total, at = 0, part.waiting_workload
    for sent_in in range(round_ - part.waiting_rounds + 1, round_ + 1):
        while inputs.workload[at + 1].from_round <= sent_in:
            at += 1
        total += bytes_of(inputs, inputs.workload[at])
    return total
