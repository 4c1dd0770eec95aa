"""What a reader has in hand of its last remote request: a whole fetch, which it takes over rounds (FetchCollector)."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.reading.records import Reader, ReaderLists, RemoteRead
from emulator.rounds.kafka.reading.within_segment import end_within
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.kafka.tier.records import RemoteSegment
from emulator.rounds.lists import every


@compiled
def has_in_hand(reader: Reader, slot: int, end: int) -> bool:
    """Whether its last request, of this replica, brought the records before an end."""
    return reader.fetched_slot == slot and end <= reader.fetched_to


@compiled
def give_up_fetch(reader: Reader) -> None:
    """Nothing is in hand."""
    reader.fetched_to = 0


@compiled
def request_fetch(segment: RemoteSegment, reader: Reader, read: RemoteRead, fetch_bytes: int) -> None:
    """Fetch what comes after what is in hand, all that a fetch brings."""
    begin = reader.position
    if reader.fetched_slot == read.slot:
        begin = max(begin, reader.fetched_to)
    reader.fetched_slot = read.slot
    reader.fetched_to = end_within(segment, begin, read.segment_end, fetch_bytes)
    reader.remote_requests += 1


@compiled
def leap_requests(lists: Lists, tiers: TierLists, readers: ReaderLists, inputs: Inputs, then: int) -> None:
    """Requests of the rounds before `then`, which were leapt over: one whenever a reader came to the end of what it had in hand.

    The records of its segment have as many bytes each, and its broker keeps the indexes (leap_remote.py).
    """
    for at in every(lists.filled[0].reads):
        read = readers.reads[at]
        reader = readers.readers[read.reader]
        missing = reader.position - reader.fetched_to
        if reader.remote_round < then - 1 or missing <= 0:
            continue  # it did not read remotely, or had all that it read
        segment = tiers.remote[tiers.whole[0].segments.start + read.segment]
        record_bytes = segment.size_bytes // (segment.end_offset - segment.base_offset + 1)
        fetch_records = max(1, inputs.wants[reader.want].request_bytes // max(1, record_bytes))
        requests = (missing + fetch_records - 1) // fetch_records
        reader.remote_requests += requests
        reader.index_hits += requests
        reader.fetched_to = min(reader.fetched_to + requests * fetch_records, read.segment_end)
