"""Where the runs, batches and bytes of a log are; nothing here changes it.

A run repeats the batches of a pattern from its start offset on, `phase` records into it; it ends where the next one starts.
Bytes count from offset 0, so two logs of one lineage agree on them.
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.input_records import Inputs, Pattern
from emulator.rounds.kafka.list_records import Run
from emulator.rounds.kafka.records import Replica
from emulator.rounds.lists import List, last
from emulator.rounds.records import Rows


@compiled_into_callers
def run_with(runs: Rows[Run], entries: List, offset: int) -> int:
    """Where the run that holds an offset stands: the last that starts at or below it, the first if none does."""
    low, high = entries.start, last(entries)
    if high < low or runs[high].start_offset <= offset:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if runs[middle].start_offset <= offset:
            low = middle
        else:
            high = middle - 1
    return low


@compiled_into_callers
def end_of_run(runs: Rows[Run], entries: List, at: int, leo: int) -> int:
    """Its end: where the next one starts, the LEO for the last."""
    return leo if at == last(entries) else runs[at + 1].start_offset


@compiled
def pattern_bytes(inputs: Inputs, pattern: Pattern, records: int) -> int:
    """Bytes of the first records of a repeated pattern; within a batch they count in proportion."""
    if pattern.record_bytes >= 0:
        return records * pattern.record_bytes
    rest = records % pattern.records
    total = records // pattern.records * pattern.size_bytes
    begin, begin_bytes = 0, 0
    for at in range(pattern.first_batch, pattern.first_batch + pattern.batch_count):
        batch = inputs.batches[at]
        if rest < batch.end:
            return total + begin_bytes + (batch.end_bytes - begin_bytes) * (rest - begin) // (batch.end - begin)
        begin, begin_bytes = batch.end, batch.end_bytes
    return total


@compiled_into_callers
def bytes_below(inputs: Inputs, run: Run, offset: int) -> int:
    """Bytes of the log below an offset that lies in the run, or at its end."""
    pattern = inputs.patterns[run.pattern]
    if pattern.record_bytes >= 0:
        return run.start_bytes + (offset - run.start_offset) * pattern.record_bytes
    before = pattern_bytes(inputs, pattern, run.phase)
    return run.start_bytes + pattern_bytes(inputs, pattern, run.phase + offset - run.start_offset) - before


@compiled_into_callers
def bytes_at(runs: Rows[Run], inputs: Inputs, replica: Replica, offset: int) -> int:
    """Bytes of the log below an offset; 0 for an empty log."""
    if offset >= replica.leo:
        return replica.log_bytes
    if replica.runs.count == 0:
        return 0
    return bytes_below(inputs, runs[run_with(runs, replica.runs, offset)], offset)


@compiled
def batch_around(inputs: Inputs, run: Run, offset: int) -> tuple[int, int]:
    """(first offset, end) of the batch of the run that holds an offset."""
    pattern = inputs.patterns[run.pattern]
    place = (run.phase + offset - run.start_offset) % pattern.records
    begin = 0
    for at in range(pattern.first_batch, pattern.first_batch + pattern.batch_count):
        end = inputs.batches[at].end
        if place < end:
            return offset - place + begin, offset - place + end
        begin = end
    return offset, offset + 1  # not reached: batches fill their pattern


@compiled
def has_like_batches(inputs: Inputs, pattern: Pattern) -> bool:
    """Whether all batches of a pattern have as many records and bytes, and the same acks."""
    records, size_bytes = pattern.records // pattern.batch_count, pattern.size_bytes // pattern.batch_count
    first = inputs.batches[pattern.first_batch]
    for place in range(pattern.batch_count):
        batch = inputs.batches[pattern.first_batch + place]
        if batch.end != (place + 1) * records or batch.end_bytes != (place + 1) * size_bytes:
            return False
        if batch.acked_on_append != first.acked_on_append or batch.unacknowledged != first.unacknowledged:
            return False
    return True


@compiled
def start_of_batch(runs: Rows[Run], inputs: Inputs, replica: Replica, offset: int) -> int:
    """First offset of the batch that holds an offset; itself at the log's end.

    Of a batch that begins below the log start, what the log still has counts as all of it.
    """
    if offset <= replica.log_start or offset >= replica.leo:
        return offset
    run = runs[run_with(runs, replica.runs, offset)]
    begin, _ = batch_around(inputs, run, offset)
    return max(begin, run.start_offset, replica.log_start)


@compiled
def end_of_batch(runs: Rows[Run], inputs: Inputs, entries: List, at: int, leo: int, offset: int) -> int:
    """End of the batch at an offset; a truncation may have cut it."""
    _, end = batch_around(inputs, runs[at], offset)
    return min(end, end_of_run(runs, entries, at, leo))


@compiled_into_callers
def bytes_allowed(max_bytes: int, allowance: int) -> int:
    """How many bytes one response brings at most, but for a larger first batch; `allowance` as below."""
    return max_bytes if allowance < 0 else min(max_bytes, allowance)


@compiled_into_callers
def chunk_end(
    runs: Rows[Run], inputs: Inputs, leader: Replica, at: int, offset: int, begin: int, max_bytes: int, allowance: int
) -> int:
    """The end of what one response brings from an offset on: whole batches within `max_bytes`, at least one, if it is allowed.

    `at`: where the run stands that holds the offset; `begin`: bytes of the log below it; `allowance`: bytes that slow links and
    disks let through, below which not even one batch may come; -1: any.
    """
    limit = bytes_allowed(max_bytes, allowance)
    if leader.log_bytes - begin <= limit:
        return leader.leo
    return end_within(runs, inputs, leader, at, offset, begin, limit, allowance)


@compiled
def end_within(
    runs: Rows[Run], inputs: Inputs, leader: Replica, at: int, offset: int, begin: int, limit: int, allowance: int
) -> int:
    """As `chunk_end`, where not all of the log is within the limit."""
    leo = leader.leo
    end = end_of_batch(runs, inputs, leader.runs, at, leo, offset)
    if 0 <= allowance < bytes_below(inputs, runs[at], end) - begin:
        return offset
    while end < leo:
        run_end = end_of_run(runs, leader.runs, at, leo)
        if end == run_end:
            at += 1
            continue
        run = runs[at]
        pattern = inputs.patterns[run.pattern]
        if bytes_below(inputs, run, run_end) - begin <= limit:
            end = run_end
            continue
        rounds = max(0, (limit - (bytes_below(inputs, run, end) - begin)) // pattern.size_bytes)
        end += min(rounds, (run_end - end) // pattern.records) * pattern.records
        further = end_of_batch(runs, inputs, leader.runs, at, leo, end)
        if bytes_below(inputs, run, further) - begin > limit:
            return end
        end = further
    return end
