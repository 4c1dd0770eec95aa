"""What a reader has in hand of its remote requests: whole fetches, the last of which it takes over rounds (FetchCollector)."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.reading.pieces import pieces_of
from emulator.rounds.kafka.reading.records import Piece, Reader, ReaderLists, RemoteRead
from emulator.rounds.kafka.reading.within_segment import end_within
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.kafka.tier.records import RemoteSegment
from emulator.rounds.lists import every
from emulator.rounds.records import word_of

POSITION = word_of(Reader, "position")


@compiled
def give_up_fetch(reader: Reader) -> None:
    """Nothing is in hand."""
    reader.fetched_to = 0


@compiled
def end_in_hand(reader: Reader, slot: int) -> int:
    """The end of what its last requests, of this replica, brought: its position, if nothing is in hand."""
    return max(reader.position, reader.fetched_to) if reader.fetched_slot == slot else reader.position


@compiled
def end_of_fetches(tiers: TierLists, readers: ReaderLists, read: RemoteRead, begin: int, fetch_bytes: int, fetches: int) -> int:
    """Where so many whole fetches of a read end that follow each other from an offset on, each of one piece."""
    for at in pieces_of(read):
        piece = readers.pieces[at]
        segment = tiers.remote[tiers.whole[0].segments.start + piece.segment]
        while fetches > 0 and begin < piece.limit:
            begin = end_within(segment, begin, piece.limit, fetch_bytes)
            fetches -= 1
    return begin


@compiled
def requests_of_piece(segment: RemoteSegment, piece: Piece, in_hand: int, end: int, fetch_bytes: int) -> int:
    """How many whole fetches of a piece a read needs that ends there. `in_hand`: where what is in hand ends."""
    begin, requests = max(in_hand, piece.begin), 0
    while begin < min(end, piece.limit):
        begin = end_within(segment, begin, piece.limit, fetch_bytes)
        requests += 1
    return requests


@compiled
def requests_up_to(tiers: TierLists, readers: ReaderLists, read: RemoteRead, in_hand: int, end: int, fetch_bytes: int) -> int:
    """Likewise of all its pieces."""
    requests = 0
    for at in pieces_of(read):
        piece = readers.pieces[at]
        segment = tiers.remote[tiers.whole[0].segments.start + piece.segment]
        requests += requests_of_piece(segment, piece, in_hand, end, fetch_bytes)
    return requests


@compiled
def request_fetches(
    tiers: TierLists, readers: ReaderLists, reader: Reader, read: RemoteRead, fetch_bytes: int, requests: int
) -> None:
    """Fetch what comes after what is in hand, all that so many fetches bring."""
    reader.fetched_to = end_of_fetches(tiers, readers, read, end_in_hand(reader, read.slot), fetch_bytes, requests)
    reader.fetched_slot = read.slot
    reader.remote_requests += requests


@compiled
def records_of_fetch(segment: RemoteSegment, fetch_bytes: int) -> int:
    """Records of a whole fetch of a segment whose records have as many bytes each."""
    record_bytes = segment.size_bytes // (segment.end_offset - segment.base_offset + 1)
    return max(1, fetch_bytes // max(1, record_bytes))


@compiled
def leap_requests(lists: Lists, tiers: TierLists, readers: ReaderLists, inputs: Inputs, then: int) -> None:
    """Requests of the rounds before `then`, which were leapt over: one whenever a reader came to the end of what it had in hand.

    It stayed in one segment, whose records have as many bytes each, and its broker keeps the indexes (leap_remote.py). Who wanted
    more than a quota left it was dealt requests also for what it did not come to ask for.
    """
    for at in every(lists.filled[0].reads):
        read = readers.reads[at]
        reader = readers.readers[read.reader]
        if reader.remote_round < then - 1:
            continue  # it did not read remotely
        gained, missing = readers.drift.readers[read.reader, POSITION], reader.position - reader.fetched_to
        if missing > 0:  # else it had all that it read
            piece = readers.pieces[read.first_piece]
            segment = tiers.remote[tiers.whole[0].segments.start + piece.segment]
            fetch_records = records_of_fetch(segment, inputs.wants[reader.want].request_bytes)
            requests = (missing + fetch_records - 1) // fetch_records
            since_last = missing - (requests - 1) * fetch_records  # records read from the last request's first on
            reader.dealt_round, reader.dealt_place = then - 1 - (since_last - 1) // gained, 0
            reader.remote_requests += requests
            reader.index_hits += requests
            reader.fetched_to = min(reader.fetched_to + requests * fetch_records, piece.limit)
        wanted_to = reader.position - gained + read.wanted_end - read.begin  # in the last of these rounds
        if wanted_to > reader.fetched_to:
            reader.dealt_round, reader.dealt_place = then - 1, 0
