"""What the replica that a reader asks answers: out of range, nothing, records of its own log, or a remote read (7)."""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.batches import bytes_at, end_of_run, run_with
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.input_records import Inputs, Rules
from emulator.rounds.kafka.reading.check_reads import check_begin, check_read
from emulator.rounds.kafka.reading.choose_replica import out_of_range
from emulator.rounds.kafka.reading.place_reader import committed_end, end_for
from emulator.rounds.kafka.reading.read_remote import ask_remote
from emulator.rounds.kafka.reading.records import (
    ABOVE_END,
    BELOW_START,
    FOLLOWER_BEHIND,
    NOT_COMMITTED,
    OPEN_TRANSACTION,
    Reader,
    ReaderLists,
    ReadReplica,
)
from emulator.rounds.kafka.reading.stretches import end_stretch, wait
from emulator.rounds.kafka.reading.take_records import take_records
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.records import Rows


@compiled_into_callers
def read_log(
    lists: Lists,
    tiers: TierLists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    reader: Reader,
    slot: int,
    serves: bool,
    rules: Rules,
) -> None:
    """The fetches of a round. `serves`: T answers clients."""
    replica, want = replicas[slot], inputs.wants[reader.want]
    position = reader.position
    if position < replica.log_start:
        out_of_range(lists, tiers, readers, inputs, part, replicas, reader, slot, serves, BELOW_START, rules)
    elif position > replica.leo:
        out_of_range(lists, tiers, readers, inputs, part, replicas, reader, slot, serves, ABOVE_END, rules)
    elif position < replica.local_start:
        if inputs.settings[part.settings].tiered:
            ask_remote(lists, tiers, readers, inputs, part, replicas, reader, slot, serves, rules)
        else:
            out_of_range(lists, tiers, readers, inputs, part, replicas, reader, slot, serves, BELOW_START, rules)
    else:
        end = end_for(tiers, replica, want, rules)
        if position >= end:
            find_nothing(lists, readers, inputs, part, replicas, reader, slot)
        else:
            read_local(lists, readers, inputs, part, replicas, reader, slot, end)


@compiled_into_callers
def find_nothing(
    lists: Lists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    reader: Reader,
    slot: int,
) -> None:
    """The fetch is empty; what is not committed, or not known to be, counts as waiting."""
    replica = replicas[slot]
    reader.empty_fetches += 1
    cause, end = NOT_COMMITTED, replica.leo
    if slot != reader.leader:
        cause, end = FOLLOWER_BEHIND, committed_end(part, replicas)
    elif reader.position < replica.hw:
        cause = OPEN_TRANSACTION
    if end > reader.position:
        wait(lists, readers, inputs, part, replicas, reader, cause, slot, end)
    else:
        end_stretch(lists, readers, inputs, part, replicas, reader)


@compiled_into_callers
def read_local(
    lists: Lists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    reader: Reader,
    slot: int,
    end: int,
) -> None:
    """Records of the replica's own log from the position on, below an end: so many as fit, one at least.

    None where the broker's network leaves it less than the first one; what it leaves is kept for the next round.
    """
    replica, want = replicas[slot], inputs.wants[reader.want]
    position = reader.position
    if want.records_per_round != UNKNOWN:
        end = min(end, position + want.records_per_round)
    begin_bytes = bytes_at(lists.runs, inputs, replica, position)
    end_bytes = bytes_at(lists.runs, inputs, replica, end)
    limit_bytes = want.round_bytes
    if reader.quota_bytes != UNKNOWN:
        reader.credit_bytes += reader.quota_bytes
        limit_bytes = min(limit_bytes, reader.credit_bytes)
        if reader.credit_bytes < bytes_at(lists.runs, inputs, replica, position + 1) - begin_bytes:
            end_stretch(lists, readers, inputs, part, replicas, reader)
            return
    is_held = end_bytes - begin_bytes > limit_bytes
    if is_held:
        end = last_that_fits(lists, inputs, replica, position, end, begin_bytes + limit_bytes)
        end_bytes = bytes_at(lists.runs, inputs, replica, end)
    reader.credit_bytes = max(0, limit_bytes - (end_bytes - begin_bytes)) if is_held and limit_bytes < want.round_bytes else 0
    in_memory = is_in_page_cache(readers.served[slot], position, replica.log_bytes - begin_bytes)
    check_begin(lists, inputs, part, replicas, reader, slot)
    at = run_with(lists.runs, replica.runs, position)
    begin = position
    while True:
        until = min(end, end_of_run(lists.runs, replica.runs, at, replica.leo))
        epoch = lists.runs[at].epoch
        if begin < until:
            check_read(lists, readers, inputs, part, replicas, reader, slot, epoch, begin, until)
        begin = until
        if until >= end:
            break
        at += 1
    size_bytes = end_bytes - begin_bytes
    requests = min(want.fetches, max(1, -(-size_bytes // want.request_bytes)))
    if in_memory:
        reader.page_cache_bytes += size_bytes
        reader.page_cache_requests += requests
    else:
        reader.disk_bytes += size_bytes
        readers.served[slot].disk_bytes += size_bytes
        reader.disk_requests += requests
    take_records(lists, readers, inputs, part, replicas, reader, slot, end, epoch, size_bytes)


@compiled_into_callers
def is_in_page_cache(served: ReadReplica, position: int, behind_bytes: int) -> bool:
    """Whether a read finds its records in memory: they came since it was empty, and the log from there on fits the share."""
    if position < served.cold_below:
        return False
    return served.share_bytes == UNKNOWN or behind_bytes <= served.share_bytes


@compiled
def last_that_fits(lists: Lists, inputs: Inputs, replica: Replica, position: int, end: int, limit: int) -> int:
    """The largest end, one record behind the position at least, below which the log has so many bytes at the most."""
    low, high = position + 1, end
    while low < high:
        middle = (low + high + 1) // 2
        if bytes_at(lists.runs, inputs, replica, middle) <= limit:
            low = middle
        else:
            high = middle - 1
    return low
