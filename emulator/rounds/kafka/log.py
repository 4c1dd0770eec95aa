"""A replica's log without its records: runs of equal rounds of batches, its active segment, what was flushed.

A run repeats the batches of a pattern from its start offset on, `phase` records into it; it ends where the next one starts.
Bytes count from offset 0, so two logs of one lineage agree on them.
"""

from __future__ import annotations

from emulator.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.epochs import cut_epochs_below, cut_epochs_from
from emulator.rounds.kafka.input_records import Inputs, Pattern, Settings
from emulator.rounds.kafka.records import Lists, Partition, Replica, Run
from emulator.rounds.kafka.segments import (
    base_of_first,
    close_segment,
    cut_segments,
    disk_bytes,
    segment_cut_at,
    start_segment_at,
)
from emulator.rounds.kafka.tell import tell_of_segment
from emulator.rounds.lists import List, append, clear, keep_first, last
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
def chunk_end(
    runs: Rows[Run], inputs: Inputs, leader: Replica, at: int, offset: int, begin: int, max_bytes: int, allowance: int
) -> int:
    """The end of what one response brings from an offset on: whole batches within `max_bytes`, at least one, if it is allowed.

    `at`: where the run stands that holds the offset; `begin`: bytes of the log below it; `allowance`: bytes that slow links and
    disks let through, below which not even one batch may come; -1: any.
    """
    limit = max_bytes if allowance < 0 else min(max_bytes, allowance)
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


@compiled_into_callers
def extend_log(
    runs: Rows[Run], inputs: Inputs, replica: Replica, epoch: int, pattern: int, phase: int, round_: int, dated: int
) -> None:
    """Make sure that the log's last run goes on with records of an epoch, `phase` records into a pattern.

    `round_`: of the pattern's first record. Where records are `dated`, rounds without records end a run.
    """
    if replica.runs.count:
        run = runs[last(replica.runs)]
        if run.epoch == epoch and run.pattern == pattern:
            ahead = replica.leo - run.start_offset + run.phase - phase
            if ahead == 0 and (not dated or run.first_round == round_):
                return
            records = inputs.patterns[pattern].records
            if ahead % records == 0 and (not dated or goes_on(run.first_round, round_, ahead // records)):
                return
    run = runs[append(replica.runs)]
    run.start_offset = replica.leo
    run.epoch = epoch
    run.pattern = pattern
    run.phase = phase
    run.start_bytes = replica.log_bytes
    run.first_round = round_


@compiled
def goes_on(first_round: int, round_: int, rounds: int) -> bool:
    """Whether a run that began in a round has come to another one so many rounds later; what is of the start only goes on so."""
    return round_ == first_round if first_round < 0 or round_ < 0 else round_ == first_round + rounds


@compiled_into_callers
def begin_chunk(
    lists: Lists, inputs: Inputs, part: Partition, replica: Replica, settings: Settings, chunk_bytes: int, epoch: int
) -> None:
    """Roll the active segment if the chunk is too big for it or comes too late (LogSegment.shouldRoll)."""
    if replica.active_bytes > 0:
        is_old = part.now - replica.active_round >= settings.segment_rounds
        if is_old or replica.active_bytes + chunk_bytes > settings.segment_bytes:
            close_segment(lists, inputs, part, replica)
            tell_of_segment(lists, part, replica.broker, epoch, replica.leo)
    if replica.active_bytes == 0:
        replica.active_round = part.now
    replica.active_bytes += chunk_bytes


@compiled_into_callers
def end_chunk(replica: Replica, settings: Settings) -> None:
    """flush.messages: the log is flushed when so many records are not."""
    if settings.flush_messages and replica.leo - replica.flushed >= settings.flush_messages:
        replica.flushed = replica.leo


@compiled
def cut_log(lists: Lists, inputs: Inputs, part: Partition, replica: Replica, offset: int) -> int:
    """Cut everything from an offset on (UnifiedLog.truncateTo). Returns records cut; the log start follows a cut below it.

    Below the first segment, where segments are kept, nothing is left, log start and epochs included.
    """
    cut_epochs_from(lists.epochs, replica, offset)
    if offset >= replica.leo:
        return 0
    cut_bytes = bytes_at(lists.runs, inputs, replica, offset)
    records = replica.leo - max(offset, replica.local_start)
    if part.keeps_segments and offset < base_of_first(lists.segments, replica):
        start_segment_at(replica, offset)
        replica.log_start = offset
    elif part.keeps_segments:
        end_bytes = bytes_at(lists.runs, inputs, replica, segment_cut_at(lists.segments, replica, offset))
        begin_bytes = bytes_at(lists.runs, inputs, replica, max(offset, replica.local_start))
        cut_segments(lists.segments, replica, offset, max(end_bytes - begin_bytes, 0))
    elif offset <= replica.active_base:
        replica.active_base = offset
        replica.active_bytes = 0
    else:
        replica.active_bytes = max(replica.active_bytes - (replica.log_bytes - cut_bytes), 0)
    kept = replica.runs.count
    while kept and lists.runs[replica.runs.start + kept - 1].start_offset >= offset:
        kept -= 1
    keep_first(replica.runs, kept)
    replica.leo = offset
    replica.log_bytes = cut_bytes
    replica.log_start = min(replica.log_start, offset)
    replica.local_start = min(replica.local_start, offset)
    if replica.log_start == offset:
        clear(replica.runs)
        clear(replica.epochs)
    replica.flushed = min(replica.flushed, offset)
    replica.hw = min(replica.hw, offset)
    return records


@compiled
def empty_log(replica: Replica) -> None:
    """A log that has nothing, at offset 0: the disk is new."""
    clear(replica.runs)
    clear(replica.epochs)
    start_segment_at(replica, 0)
    replica.log_start = 0
    replica.local_start = 0
    replica.leo = 0
    replica.hw = 0
    replica.log_bytes = 0
    replica.checkpoint = 0
    replica.flushed = 0
    replica.credit_bytes = 0


@compiled
def raise_log_start(lists: Lists, replica: Replica, offset: int) -> None:
    """The log starts at a higher offset: what lies below is gone, but for its segments."""
    if offset > replica.local_start:
        forget_below(lists.runs, replica, offset)
    cut_epochs_below(lists.epochs, replica, offset)
    replica.log_start = offset


@compiled
def forget_below(runs: Rows[Run], replica: Replica, offset: int) -> None:
    """The replica itself has nothing below an offset any more."""
    gone = 0
    while gone + 1 < replica.runs.count and runs[replica.runs.start + gone + 1].start_offset <= offset:
        gone += 1
    if gone:
        for at in range(replica.runs.start, replica.runs.start + replica.runs.count - gone):
            move_run(runs, at + gone, at)
        keep_first(replica.runs, replica.runs.count - gone)
    replica.local_start = offset


@compiled
def move_run(runs: Rows[Run], source: int, target: int) -> None:
    """Copy a run to another place."""
    runs[target].start_offset = runs[source].start_offset
    runs[target].epoch = runs[source].epoch
    runs[target].pattern = runs[source].pattern
    runs[target].phase = runs[source].phase
    runs[target].start_bytes = runs[source].start_bytes
    runs[target].first_round = runs[source].first_round


@compiled_into_callers
def follow_high_watermark(replica: Replica, hw: int) -> None:
    """Take a high watermark that may be below the own one; it stays within local log start and LEO."""
    replica.hw = max(replica.local_start, min(replica.leo, hw))


@compiled
def local_bytes(lists: Lists, inputs: Inputs, part: Partition, replica: Replica) -> int:
    """Bytes on the replica's disk: those of its segments where they are kept, else of the log from its log start on."""
    if part.keeps_segments:
        return disk_bytes(lists.segments, replica)
    below = bytes_at(lists.runs, inputs, replica, replica.log_start) if replica.log_start > 0 else 0
    return replica.log_bytes - below
