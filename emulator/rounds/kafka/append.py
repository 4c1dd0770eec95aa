"""Step 3, append: T takes what its clients send in this round."""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.advance_high_watermark import is_enough
from emulator.rounds.kafka.constants import CLIENTS_CUT, DELETE_RECORDS, RECORDS_DELETED, UNKNOWN
from emulator.rounds.kafka.epochs import assign_epoch
from emulator.rounds.kafka.input_records import Inputs, Rules, Settings, WorkloadSpan
from emulator.rounds.kafka.leaderships import acknowledge_on_append
from emulator.rounds.kafka.log import begin_chunk, end_chunk, extend_log, raise_log_start
from emulator.rounds.kafka.produce_within import begin_waiting, bytes_of, end_waiting, may_send, oldest_workload, records_of
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.kafka.tell import tell
from emulator.rounds.kafka.unacknowledged import note_unacknowledged
from emulator.rounds.records import Rows
from emulator.rounds.slots import size


@compiled_into_callers
def append(lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], settings: Settings, rules: Rules) -> int:
    """Step 3, for a T that is ready. Returns records refused, with NOT_ENOUGH_REPLICAS or RECORD_TOO_LARGE.

    acks=all is refused while the ISR that T knows is smaller than min.insync.replicas; acks 1 is acknowledged now, acks 0 never.
    Records above max.message.bytes are refused whatever acks they have (UnifiedLog.analyzeAndValidateRecords).
    """
    replica = replicas[part.client_leader]
    if replica.status & CLIENTS_CUT:
        return 0
    workload = inputs.workload[part.workload]
    delete_records(lists, inputs, part, replica)
    if part.produce_quota_bytes == UNKNOWN:
        refused = append_round(lists, inputs, part, replica, settings, rules, workload)
    else:
        refused = append_within(lists, inputs, part, replica, settings, rules)
    part.refused += refused
    return refused


@compiled_into_callers
def append_round(
    lists: Lists,
    inputs: Inputs,
    part: Partition,
    replica: Replica,
    settings: Settings,
    rules: Rules,
    workload: WorkloadSpan,
) -> int:
    """Append what clients send in one round. Returns records refused."""
    chosen, refused = workload.pattern, workload.too_large
    if chosen != UNKNOWN and not is_enough(part, settings, size(part.known_isr)):
        chosen = workload.unconditional
        refused += inputs.patterns[workload.pattern].records
        if chosen != UNKNOWN:
            refused -= inputs.patterns[chosen].records
    if chosen != UNKNOWN:
        append_pattern(lists, inputs, part, replica, settings, rules, chosen)
    return refused


@compiled
def append_within(lists: Lists, inputs: Inputs, part: Partition, replica: Replica, settings: Settings, rules: Rules) -> int:
    """Append what the budgets of T's broker leave producers, the records of whole rounds, the oldest first.

    The others wait in producers; after delivery.timeout.ms they give them up (produce_within.py). Returns records refused.
    """
    refused = 0
    begin_waiting(part)
    while part.waiting_rounds > 0:
        workload = inputs.workload[oldest_workload(inputs, part)]
        size_bytes = bytes_of(inputs, workload)
        if may_send(part, size_bytes):
            refused += append_round(lists, inputs, part, replica, settings, rules, workload)
        elif part.waiting_rounds > inputs.scenarios[part.scenario].delivery_rounds:
            part.expired_bytes += size_bytes
            part.given_up_records += records_of(inputs, workload)
        else:
            break
        part.waiting_rounds -= 1
    end_waiting(part)
    return refused


@compiled_into_callers
def append_pattern(
    lists: Lists, inputs: Inputs, part: Partition, replica: Replica, settings: Settings, rules: Rules, chosen: int
) -> None:
    """The batches of one round, each of which may roll the segment before it and flush after it."""
    pattern = inputs.patterns[chosen]
    extend_log(lists.runs, inputs, replica, part.client_epoch, chosen, 0, part.now, part.keeps_segments)
    if not rules.entry_at_election:
        assign_epoch(lists.epochs, replica, part.client_epoch, replica.leo)
    if pattern.unacknowledged_records:
        only = pattern.unacknowledged_records == pattern.records
        note_unacknowledged(lists, part, replica.leo, replica.leo + pattern.records, UNKNOWN if only else chosen)
    begin, begin_bytes = 0, 0
    for at in range(pattern.first_batch, pattern.first_batch + pattern.batch_count):
        batch = inputs.batches[at]
        size_bytes = batch.end_bytes - begin_bytes
        begin_chunk(lists, inputs, part, replica, settings, size_bytes, part.client_epoch)
        if batch.acked_on_append:
            acknowledge_on_append(lists, part, replica, replica.leo, replica.leo + batch.end - begin)
        replica.leo += batch.end - begin
        replica.log_bytes += size_bytes
        end_chunk(replica, settings)
        begin, begin_bytes = batch.end, batch.end_bytes
    part.accepted += pattern.records
    part.acked_on_append += pattern.unconditional_records
    part.appended += pattern.records
    part.sent_unacknowledged += pattern.unacknowledged_records
    replica.produced_bytes += pattern.size_bytes


@compiled_into_callers
def delete_records(lists: Lists, inputs: Inputs, part: Partition, replica: Replica) -> None:
    """`delete_records` of this round: the log starts at the last of the offsets that the high watermark allows."""
    wanted = UNKNOWN
    for at in range(part.command - part.commands_now, part.command):
        command = inputs.commands[at]
        if command.kind == DELETE_RECORDS:
            offset = replica.hw if command.offset == -1 else command.offset
            if offset <= replica.hw:
                wanted = max(wanted, offset)
    if wanted <= replica.log_start:
        return
    raise_log_start(lists, replica, wanted)
    part.lead_deleted_to = max(part.lead_deleted_to, wanted)
    replica.compares = 1
    tell(lists, part, RECORDS_DELETED, replica.broker, part.client_epoch, UNKNOWN, wanted, -1)
