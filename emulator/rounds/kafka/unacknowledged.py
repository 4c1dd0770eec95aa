"""Records with acks=0: their producers were told nothing, so they are sent, and lost, but never acknowledged.

A producer with acks=0 gets no response (KafkaApis.handleProduceRequest), so nobody knows whether its records were appended. What
leaders appended of them is a list of stretches (`Sent`), by epoch and offset as leaderships come; where batches of other acks
come in between, a stretch is of a pattern, so that a list has an entry for each change of what is sent, and not for each round.
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.constants import ACKED_LOST, UNACKNOWLEDGED_LOST, UNKNOWN
from emulator.rounds.kafka.input_records import Inputs, Pattern
from emulator.rounds.kafka.list_records import RecordRange, Sent
from emulator.rounds.kafka.record_ranges import add_log, add_without
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.kafka.tell import tell_of_some
from emulator.rounds.lists import append, clear, every, last


@compiled
def note_unacknowledged(lists: Lists, part: Partition, from_offset: int, to_offset: int, pattern: int) -> None:
    """T appends whole rounds of a pattern, some of whose batches have acks=0; or, with UNKNOWN, records that all have it."""
    if part.sent_to == from_offset and part.sent_to > part.sent_from and part.sent_pattern == pattern:
        part.sent_to = to_offset
        return
    keep_latest_sent(lists, part)
    part.sent_from = from_offset
    part.sent_to = to_offset
    part.sent_pattern = pattern


@compiled
def keep_latest_sent(lists: Lists, part: Partition) -> None:
    """The latest stretch is over: another one begins, or another leadership."""
    if part.sent_to > part.sent_from:
        entry = lists.sent[append(part.sent)]
        entry.epoch = part.client_epoch
        entry.from_offset = part.sent_from
        entry.to_offset = part.sent_to
        entry.pattern = part.sent_pattern
    part.sent_from = 0
    part.sent_to = 0
    part.sent_pattern = UNKNOWN


@compiled
def sent_of_pattern(inputs: Inputs, pattern: Pattern, records: int) -> int:
    """Of the first records of a repeated pattern those with acks=0."""
    found, rest, begin = records // pattern.records * pattern.unacknowledged_records, records % pattern.records, 0
    for at in range(pattern.first_batch, pattern.first_batch + pattern.batch_count):
        batch = inputs.batches[at]
        if batch.unacknowledged and begin < rest:
            found += min(batch.end, rest) - begin
        begin = batch.end
    return found


@compiled
def sent_between(inputs: Inputs, entry: Sent, from_offset: int, to_offset: int) -> int:
    """Records with acks=0 of a stretch that lie between two offsets."""
    begin, end = max(from_offset, entry.from_offset), min(to_offset, entry.to_offset)
    if begin >= end:
        return 0
    if entry.pattern == UNKNOWN:
        return end - begin
    pattern = inputs.patterns[entry.pattern]
    below_end = sent_of_pattern(inputs, pattern, end - entry.from_offset)
    return below_end - sent_of_pattern(inputs, pattern, begin - entry.from_offset)


@compiled
def sent_at(lists: Lists, part: Partition, epoch: int, offset: int) -> int:
    """Where the stretch stands that holds an offset of an epoch, or is the first behind it."""
    low, high = part.sent.start, part.sent.start + part.sent.count
    while low < high:
        middle = (low + high) // 2
        entry = lists.sent[middle]
        if entry.epoch < epoch or (entry.epoch == epoch and entry.to_offset <= offset):
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def sent_in_range(lists: Lists, inputs: Inputs, part: Partition, known: RecordRange) -> int:
    """How many records of a range have acks=0."""
    count = 0
    for at in range(sent_at(lists, part, known.epoch, known.from_offset), part.sent.start + part.sent.count):
        entry = lists.sent[at]
        if entry.epoch != known.epoch or entry.from_offset >= known.to_offset:
            break
        count += sent_between(inputs, entry, known.from_offset, known.to_offset)
    return count


@compiled
def alike_from(lists: Lists, inputs: Inputs, part: Partition, epoch: int, offset: int, limit: int) -> tuple[bool, int]:
    """(whether the record at an offset has acks=0, up to where those behind it are surely alike, at most to the limit)."""
    at = sent_at(lists, part, epoch, offset)
    if at >= part.sent.start + part.sent.count or lists.sent[at].epoch != epoch:
        return False, limit
    entry = lists.sent[at]
    if offset < entry.from_offset:
        return False, min(entry.from_offset, limit)
    if entry.pattern == UNKNOWN:
        return True, min(entry.to_offset, limit)
    pattern = inputs.patterns[entry.pattern]
    place = (offset - entry.from_offset) % pattern.records
    for number in range(pattern.first_batch, pattern.first_batch + pattern.batch_count):
        batch = inputs.batches[number]
        if place < batch.end:
            return batch.unacknowledged != 0, min(offset - place + batch.end, limit)
    return False, limit  # not reached: batches fill their pattern


@compiled
def tell_of_lost_range(lists: Lists, inputs: Inputs, part: Partition, broker: int, lost: RecordRange) -> None:
    """Events for a range that an election lost: one of what was acknowledged in it, and one of what has acks=0."""
    acked_from = acked_to = sent_from = sent_to = UNKNOWN
    at = lost.from_offset
    while at < lost.to_offset:
        is_sent, end = alike_from(lists, inputs, part, lost.epoch, at, lost.to_offset)
        if is_sent:
            sent_from = at if sent_from == UNKNOWN else sent_from
            sent_to = end
        else:
            acked_from = at if acked_from == UNKNOWN else acked_from
            acked_to = end
        at = end
    sent, cause = sent_in_range(lists, inputs, part, lost), part.lead_cause
    acked = lost.to_offset - lost.from_offset - sent
    if acked:
        tell_of_some(lists, part, ACKED_LOST, broker, lost.epoch, acked_from, acked_to, cause, acked)
    if sent:
        tell_of_some(lists, part, UNACKNOWLEDGED_LOST, broker, lost.epoch, sent_from, sent_to, cause, sent)


@compiled
def count_sent_lost(lists: Lists, inputs: Inputs, part: Partition, replica: Replica) -> int:
    """How many records with acks=0 a log lacks, from its log start on."""
    count, work = 0, lists.work
    if part.sent.count == 0:
        return count
    log, lost = lists.filled[0].held, lists.filled[0].lost
    clear(log)
    add_log(lists.runs, lists.epochs, replica, work, log)
    for at in every(part.sent):
        entry = lists.sent[at]
        whole = work[last(log) + 1]
        whole.epoch = entry.epoch
        whole.from_offset = entry.from_offset
        whole.to_offset = entry.to_offset
        clear(lost)
        add_without(work, whole, log, replica.log_start, work, lost)
        for gap in every(lost):
            count += sent_between(inputs, entry, work[gap].from_offset, work[gap].to_offset)
    return count
