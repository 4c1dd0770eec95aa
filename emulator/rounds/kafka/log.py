"""How a replica's log grows, is cut and begins anew: its runs, its active segment, what was flushed (batches.py: its bytes)."""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.entries import remove
from emulator.rounds.kafka.batches import bytes_at
from emulator.rounds.kafka.epochs import cut_epochs_below, cut_epochs_from
from emulator.rounds.kafka.input_records import Inputs, Settings
from emulator.rounds.kafka.list_records import Run
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.kafka.segments import (
    base_of_first,
    close_segment,
    cut_segments,
    disk_bytes,
    segment_cut_at,
    start_segment_at,
)
from emulator.rounds.kafka.tell import tell_of_segment
from emulator.rounds.lists import append, clear, keep_first, last
from emulator.rounds.records import Rows


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
        if not part.keeps_segments:  # else what is left of them dates the segment, though it lies below the log start
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
    remove(runs, replica.runs, replica.runs.start, gone)
    replica.local_start = offset


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
