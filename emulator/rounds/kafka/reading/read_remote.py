"""Reads from remote storage (RemoteLogManager.read): what a broker looks up, why a read waits, and what its quota leaves it.

Those of one partition share its brokers' reader threads and quotas here.
Where reads of several partitions take turns, what each gets is settled before the round (engine/budgets/read_turns.py).
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.input_records import Inputs, Rules
from emulator.rounds.kafka.reading.check_reads import check_begin, check_read
from emulator.rounds.kafka.reading.choose_replica import out_of_range
from emulator.rounds.kafka.reading.in_hand import has_in_hand, request_fetch
from emulator.rounds.kafka.reading.index_cache import bytes_of_indexes, is_cached, use_index, used_last
from emulator.rounds.kafka.reading.place_reader import committed_end, end_for
from emulator.rounds.kafka.reading.records import (
    ALONE,
    IS_REFUSED,
    NO_CAUSE,
    OTHER_PARTITION,
    READER_THREADS,
    SEGMENT_GONE,
    SEGMENT_UNKNOWN,
    STORE_AWAY,
    STORE_SLOW,
    WAITS_FOR_FETCH,
    WAITS_FOR_THREAD,
    Reader,
    ReaderLists,
    RemoteRead,
)
from emulator.rounds.kafka.reading.stretches import wait
from emulator.rounds.kafka.reading.take_records import take_records
from emulator.rounds.kafka.reading.within_segment import bytes_between, end_of_lineage, end_within, epoch_within
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.kafka.tier.duties import store_is_up
from emulator.rounds.kafka.tier.lineage import epoch_of_offset
from emulator.rounds.kafka.tier.metadata import look_up
from emulator.rounds.lists import append, every
from emulator.rounds.records import Rows


@compiled
def ask_remote(
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
    """Look up the segment that has the position, as the broker knows them; the read waits for those of others."""
    replica, want, position = replicas[slot], inputs.wants[reader.want], reader.position
    if inputs.scenarios[part.scenario].by_list and not store_is_up(tiers, inputs):
        give_up(lists, readers, inputs, part, replicas, reader, slot, STORE_AWAY, True)
        return
    number, epoch = -1, epoch_of_offset(lists.epochs, replica.epochs, position)
    if epoch != UNKNOWN:
        number = look_up(tiers, tiers.replicas[slot], epoch, position, rules)
    if number < 0:
        out_of_range(lists, tiers, readers, inputs, part, replicas, reader, slot, serves, SEGMENT_UNKNOWN, rules)
        return
    segment = tiers.remote[tiers.whole[0].segments.start + number]
    end = segment.end_offset + 1
    if rules.reads_within_lineage:
        end = min(end, max(position + 1, end_for(tiers, replica, want, rules)))
        end = min(end, end_of_lineage(lists, tiers, segment, replica, position))
    segment_end = end
    if want.records_per_round != UNKNOWN:
        end = min(end, position + want.records_per_round)
    read = readers.reads[append(lists.filled[0].reads)]
    read.reader = readers.whole[0].readers.start + reader.number
    read.slot = slot
    read.segment = number
    read.segment_end = segment_end
    read.end = end
    read.limit_bytes = want.remote_bytes
    if reader.quota_bytes != UNKNOWN:
        read.limit_bytes = min(read.limit_bytes, max(reader.quota_bytes, 1))
    read.waits = 0


@compiled
def give_up(
    lists: Lists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    reader: Reader,
    slot: int,
    cause: int,
    is_error: bool,
) -> None:
    """The read is not made in this round."""
    reader.remote_errors += is_error
    wait(lists, readers, inputs, part, replicas, reader, cause, slot, committed_end(part, replicas))


@compiled
def read_remote(
    lists: Lists,
    tiers: TierLists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
) -> None:
    """Make the remote reads of this round: what the store allows, then what each broker's threads and quota do."""
    reads = lists.filled[0].reads
    for at in every(reads):
        read = readers.reads[at]
        reader = readers.readers[read.reader]
        cause = what_store_forbids(tiers, inputs, reader, read)
        if cause == NO_CAUSE and reader.turn == WAITS_FOR_FETCH:
            cause = OTHER_PARTITION
        elif cause == NO_CAUSE and reader.turn in (WAITS_FOR_THREAD, IS_REFUSED):
            cause = READER_THREADS
        if cause != NO_CAUSE:
            read.waits = 1
            is_error = cause in (STORE_AWAY, SEGMENT_GONE) or (cause == READER_THREADS and reader.turn == IS_REFUSED)
            give_up(lists, readers, inputs, part, replicas, reader, read.slot, cause, is_error)
        else:
            segment = tiers.remote[tiers.whole[0].segments.start + read.segment]
            read.wanted_end = end_within(segment, reader.position, read.end, read.limit_bytes)
            read.wanted_bytes = bytes_between(segment, reader.position, read.wanted_end)
    for slot in range(part.slots):
        wait_for_threads(lists, readers, inputs, part, replicas, slot)
        share_quota(lists, readers, inputs, part, replicas, slot)
        cached = readers.served[slot].cached
        count, changes, is_alike = cached.count, cached.changes, used_last(readers.cached, cached, readers.reads, reads, slot)
        for at in every(reads):
            if readers.reads[at].slot == slot and not readers.reads[at].waits:
                read_segment(lists, tiers, readers, inputs, part, replicas, readers.reads[at])
        if is_alike and cached.count == count:
            cached.changes = changes  # a leap may go on: it is in the order in which it was


@compiled
def what_store_forbids(tiers: TierLists, inputs: Inputs, reader: Reader, read: RemoteRead) -> int:
    """Why the store does not give the read a record; NO_CAUSE: it does, at its rate."""
    segment = tiers.remote[tiers.whole[0].segments.start + read.segment]
    if not store_is_up(tiers, inputs):
        return STORE_AWAY
    if segment.stored_bytes < segment.size_bytes:
        return SEGMENT_GONE
    rate = inputs.store[tiers.whole[0].store].read_bytes
    if rate != UNKNOWN:
        read.limit_bytes = min(read.limit_bytes, rate)
        if rate < bytes_between(segment, reader.position, reader.position + 1):
            return STORE_SLOW
    return NO_CAUSE


@compiled
def wait_for_threads(
    lists: Lists, readers: ReaderLists, inputs: Inputs, part: Partition, replicas: Rows[Replica], slot: int
) -> None:
    """Where reads take time, a broker serves so many requests in a round: whose last read is longest ago come first.

    Of the others so many may wait in its queue, the rest are errors (RemoteStorageThreadPool).
    """
    at_once = requests_at_once(inputs, part, replicas[slot])
    if at_once == UNKNOWN:
        return
    settings, span, reads = inputs.settings[part.settings], inputs.spans[replicas[slot].span], lists.filled[0].reads
    queue = settings.reader_queue if span.reader_queue == UNKNOWN else span.reader_queue
    for at in every(reads):
        read = readers.reads[at]
        reader = readers.readers[read.reader]
        needs_none = reader.turn != ALONE or has_in_hand(reader, slot, read.wanted_end)
        read.is_placed = read.slot != slot or read.waits or needs_none
    place = 0
    while True:
        first = -1
        for at in every(reads):
            if readers.reads[at].is_placed:
                continue
            if first < 0 or last_round(readers, at) < last_round(readers, first):
                first = at
        if first < 0:
            return
        read = readers.reads[first]
        read.is_placed = 1
        if place >= at_once:
            read.waits = 1
            is_error = place >= at_once + queue
            give_up(lists, readers, inputs, part, replicas, readers.readers[read.reader], slot, READER_THREADS, is_error)
        place += 1


@compiled
def requests_at_once(inputs: Inputs, part: Partition, replica: Replica) -> int:
    """How many requests a broker serves in a round; UNKNOWN: any number, as reads take no time."""
    reads_per_thread = inputs.scenarios[part.scenario].reads_per_thread
    if not reads_per_thread:
        return UNKNOWN
    threads = inputs.spans[replica.span].reader_threads
    return reads_per_thread * (inputs.settings[part.settings].reader_threads if threads == UNKNOWN else threads)


@compiled
def last_round(readers: ReaderLists, at: int) -> int:
    """The round of the last remote read of whose read this is."""
    return readers.readers[readers.reads[at].reader].remote_round


@compiled
def share_quota(lists: Lists, readers: ReaderLists, inputs: Inputs, part: Partition, replicas: Rows[Replica], slot: int) -> None:
    """All parts of a broker's quota rise together up to what each read wants (KIP-956; docs/consumer_rounds.md)."""
    settings, span, reads = inputs.settings[part.settings], inputs.spans[replicas[slot].span], lists.filled[0].reads
    quota = settings.read_quota_bytes if span.read_quota == UNKNOWN else span.read_quota
    count, left = 0, quota
    for at in every(reads):
        read = readers.reads[at]
        read.is_placed = read.slot != slot or read.waits
        if not read.is_placed:
            count += 1
            read.granted_bytes = read.wanted_bytes
            reader = readers.readers[read.reader]
            if reader.turn != ALONE:
                read.is_placed = 1
                count -= 1
                if reader.turn_bytes != UNKNOWN:
                    read.granted_bytes = min(read.wanted_bytes, reader.turn_bytes)
    while quota != UNKNOWN and count > 0:
        least = -1
        for at in every(reads):
            wanted = readers.reads[at].wanted_bytes
            if not readers.reads[at].is_placed and (least < 0 or wanted < readers.reads[least].wanted_bytes):
                least = at
        read = readers.reads[least]
        read.is_placed = 1
        read.granted_bytes = min(read.wanted_bytes, left // count)
        left -= read.granted_bytes
        count -= 1


@compiled
def read_segment(
    lists: Lists,
    tiers: TierLists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    read: RemoteRead,
) -> None:
    """Read what was granted; a request needs the segment's indexes, which the broker has or fetches (RemoteIndexCache)."""
    reader, slot = readers.readers[read.reader], read.slot
    segment = tiers.remote[tiers.whole[0].segments.start + read.segment]
    settings, span = inputs.settings[part.settings], inputs.spans[replicas[slot].span]
    index_bytes = bytes_of_indexes(segment.size_bytes, settings.index_interval_bytes)
    room = settings.index_cache_bytes if span.index_cache_bytes == UNKNOWN else span.index_cache_bytes
    position = reader.position
    end = end_within(segment, position, read.end, read.granted_bytes)
    is_request, cached = not has_in_hand(reader, slot, end), readers.served[slot].cached
    is_kept = is_cached(readers.cached, cached, read.segment)
    if is_request or is_kept:
        use_index(readers.cached, cached, read.segment, index_bytes, room)
    if is_request:
        request_fetch(segment, reader, read, inputs.wants[reader.want].request_bytes)
        if is_kept:
            reader.index_hits += 1
        else:
            reader.index_misses += 1
            reader.index_bytes += index_bytes
            readers.served[slot].downloaded_bytes += index_bytes
    if end < read.wanted_end:
        reader.throttled_rounds += 1
    check_begin(lists, inputs, part, replicas, reader, slot)
    begin, at = position, epoch_within(tiers, segment, position)
    last_epoch = tiers.whole[0].epochs.start + segment.first_epoch + segment.epochs - 1
    while True:
        epoch = tiers.remote_epochs[at].epoch
        until = end if at == last_epoch else min(end, tiers.remote_epochs[at + 1].start_offset)
        if begin < until:
            check_read(lists, readers, inputs, part, replicas, reader, slot, epoch, begin, until)
        begin = until
        if until >= end:
            break
        at += 1
    size_bytes = bytes_between(segment, position, end)
    reader.remote_round = part.now
    reader.remote_bytes += size_bytes
    readers.served[slot].downloaded_bytes += size_bytes
    take_records(lists, readers, inputs, part, replicas, reader, slot, end, epoch, size_bytes)
