"""Reads from remote storage (RemoteLogManager.read): what a broker looks up, what the store allows, what its quota leaves.

Those of one partition share its brokers' reader threads (deal_requests.py) and quotas here.
Where reads of several partitions take turns, what each gets is settled before the round (engine/budgets/read_turns.py).
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.input_records import Inputs, Rules
from emulator.rounds.kafka.reading.check_reads import check_begin, check_read
from emulator.rounds.kafka.reading.choose_replica import out_of_range
from emulator.rounds.kafka.reading.deal_requests import deal_requests, give_up
from emulator.rounds.kafka.reading.in_hand import end_in_hand, request_fetches, requests_of_piece, requests_up_to
from emulator.rounds.kafka.reading.index_cache import bytes_of_indexes, is_cached, room_for_indexes, use_index, used_last
from emulator.rounds.kafka.reading.pieces import add_pieces, bytes_up_to, end_of_bytes, pieces_of, segment_for
from emulator.rounds.kafka.reading.place_reader import committed_end, end_for
from emulator.rounds.kafka.reading.records import (
    ALONE,
    NO_CAUSE,
    SEGMENT_GONE,
    SEGMENT_UNKNOWN,
    STORE_AWAY,
    STORE_SLOW,
    Piece,
    Reader,
    ReaderLists,
    RemoteRead,
)
from emulator.rounds.kafka.reading.stretches import wait
from emulator.rounds.kafka.reading.take_records import take_records
from emulator.rounds.kafka.reading.within_segment import bytes_between, epoch_within, is_gone
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.kafka.tier.duties import store_is_up
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
    """Look up the segments from the position on, as the broker knows them; the read waits for those of others."""
    replica, want = replicas[slot], inputs.wants[reader.want]
    if inputs.scenarios[part.scenario].by_list and not store_is_up(tiers, inputs):
        reader.remote_errors += 1
        wait(lists, readers, inputs, part, replicas, reader, STORE_AWAY, slot, committed_end(part, replicas))
        return
    number = segment_for(lists, tiers, replica, slot, reader.position, rules)
    if number < 0:
        out_of_range(lists, tiers, readers, inputs, part, replicas, reader, slot, serves, SEGMENT_UNKNOWN, rules)
        return
    read = readers.reads[append(lists.filled[0].reads)]
    read.reader = readers.whole[0].readers.start + reader.number
    read.slot = slot
    read.begin = reader.position
    read.limit_bytes = want.remote_bytes
    if reader.quota_bytes != UNKNOWN:
        read.limit_bytes = min(read.limit_bytes, max(reader.quota_bytes, 1))
    read.waits = 0
    add_pieces(lists, tiers, readers, read, replica, want, number, end_for(tiers, replica, want, rules), rules)


@compiled
def read_remote(
    lists: Lists,
    tiers: TierLists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
) -> None:
    """Make the remote reads of this round: what the store allows, then the requests that each is dealt and its part of quotas."""
    reads = lists.filled[0].reads
    for at in every(reads):
        read = readers.reads[at]
        reader = readers.readers[read.reader]
        cause = what_store_forbids(tiers, readers, inputs, read)
        if cause != NO_CAUSE:
            give_up(lists, readers, inputs, part, replicas, reader, read, cause, cause != STORE_SLOW)
        else:
            in_hand, fetch_bytes = end_in_hand(reader, read.slot), inputs.wants[reader.want].request_bytes
            read.wanted_end = end_of_bytes(tiers, readers, read, read.end, read.limit_bytes)
            read.wanted_bytes = bytes_up_to(tiers, readers, read, read.wanted_end)
            read.needs = requests_up_to(tiers, readers, read, in_hand, read.wanted_end, fetch_bytes)
            # With nothing in hand: so many at the most in the rounds of a leap, too, which goes by this one.
            most = requests_up_to(tiers, readers, read, read.begin, read.wanted_end, fetch_bytes)
            reader.most_requests = max(reader.most_requests, most)
    for slot in range(part.slots):
        deal_requests(lists, tiers, readers, inputs, part, replicas, slot)
        share_quota(lists, readers, inputs, part, replicas, slot)
        cached = readers.served[slot].cached
        count, changes, is_alike = cached.count, cached.changes, used_last(readers, cached, reads, slot)
        for at in every(reads):
            if readers.reads[at].slot == slot and not readers.reads[at].waits:
                read_pieces(lists, tiers, readers, inputs, part, replicas, readers.reads[at])
        if is_alike and cached.count == count:
            cached.changes = changes  # a leap may go on: it is in the order in which it was


@compiled
def what_store_forbids(tiers: TierLists, readers: ReaderLists, inputs: Inputs, read: RemoteRead) -> int:
    """Why the store does not give the read its first record; NO_CAUSE: it does, at its rate."""
    segment = tiers.remote[tiers.whole[0].segments.start + readers.pieces[read.first_piece].segment]
    if not store_is_up(tiers, inputs):
        return STORE_AWAY
    if is_gone(segment):
        return SEGMENT_GONE
    rate = inputs.store[tiers.whole[0].store].read_bytes
    if rate != UNKNOWN:
        read.limit_bytes = min(read.limit_bytes, rate)
        if rate < bytes_between(segment, read.begin, read.begin + 1):
            return STORE_SLOW
    return NO_CAUSE


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
def read_pieces(
    lists: Lists,
    tiers: TierLists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    read: RemoteRead,
) -> None:
    """Read what was granted, piece by piece; what is not in hand is requested, as whole fetches."""
    reader, slot = readers.readers[read.reader], read.slot
    end = end_of_bytes(tiers, readers, read, read.wanted_end, read.granted_bytes)
    in_hand, requests, epoch = end_in_hand(reader, slot), 0, reader.epoch
    check_begin(lists, inputs, part, replicas, reader, slot)
    for at in pieces_of(read):
        piece = readers.pieces[at]
        if at == read.first_piece or piece.begin < end:
            requests += request_piece(tiers, readers, inputs, part, replicas[slot], reader, slot, piece, in_hand, end)
            epoch = check_piece(lists, tiers, readers, inputs, part, replicas, reader, slot, piece, end)
    if requests:
        request_fetches(tiers, readers, reader, read, inputs.wants[reader.want].request_bytes, requests)
    if end < read.wanted_end:
        reader.throttled_rounds += 1
    size_bytes = bytes_up_to(tiers, readers, read, end)
    reader.remote_round = part.now
    reader.remote_bytes += size_bytes
    readers.served[slot].downloaded_bytes += size_bytes
    take_records(lists, readers, inputs, part, replicas, reader, slot, end, epoch, size_bytes)


@compiled
def request_piece(
    tiers: TierLists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    replica: Replica,
    reader: Reader,
    slot: int,
    piece: Piece,
    in_hand: int,
    end: int,
) -> int:
    """The requests that a piece takes up to an end, beyond what is in hand.

    Each needs the indexes of its segment, which the broker has or fetches (RemoteIndexCache).
    """
    segment = tiers.remote[tiers.whole[0].segments.start + piece.segment]
    index_bytes = bytes_of_indexes(segment.size_bytes, inputs.settings[part.settings].index_interval_bytes)
    room = room_for_indexes(inputs, part, replica)
    cached = readers.served[slot].cached
    requests = requests_of_piece(segment, piece, in_hand, end, inputs.wants[reader.want].request_bytes)
    was_kept = is_cached(readers.cached, cached, piece.segment)
    if requests or was_kept:
        use_index(readers.cached, cached, piece.segment, index_bytes, room)
    if requests:
        misses = requests
        if was_kept:
            misses = 0
        elif is_cached(readers.cached, cached, piece.segment):
            misses = 1
        reader.index_hits += requests - misses
        reader.index_misses += misses
        reader.index_bytes += misses * index_bytes
        readers.served[slot].downloaded_bytes += misses * index_bytes
    return requests


@compiled
def check_piece(
    lists: Lists,
    tiers: TierLists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    reader: Reader,
    slot: int,
    piece: Piece,
    read_end: int,
) -> int:
    """Hold what is read of a piece against the invariants, by epochs of its segment. Returns the last one."""
    segment = tiers.remote[tiers.whole[0].segments.start + piece.segment]
    begin, end, at = piece.begin, min(read_end, piece.limit), epoch_within(tiers, segment, piece.begin)
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
    return epoch
