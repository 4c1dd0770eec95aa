"""How long a remote read goes on with as many records a round, or waits for the store."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.constants import FOREVER, UNKNOWN
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.leap import meeting
from emulator.rounds.kafka.reading.deal_requests import requests_at_once
from emulator.rounds.kafka.reading.in_hand import records_of_fetch
from emulator.rounds.kafka.reading.index_cache import is_cached
from emulator.rounds.kafka.reading.records import SEGMENT_GONE, STORE_AWAY, STORE_SLOW, Reader, ReaderLists
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.lists import every
from emulator.rounds.records import Rows


@compiled
def until_read_otherwise(
    lists: Lists,
    tiers: TierLists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    slot: int,
    reader: Reader,
    gained: int,
    hw_drift: int,
) -> int:
    """The round in which a reader whose last read was a remote one may get otherwise many records, or from elsewhere.

    `gained`: records of that read. It goes on alike as long as what it wants, and shares a quota with others by, ends before the
    high watermark, and before the next offset at which there may be another segment or epoch, another answer to whether it was
    committed, or the replica's own log. What changes the store, what brokers know of it, or the log is played.
    """
    now, replica, rules = part.now, replicas[slot], inputs.rules[inputs.scenarios[part.scenario].rules]
    if gained <= 0:
        waits_for_store = reader.stretch_cause in (STORE_AWAY, STORE_SLOW, SEGMENT_GONE) and reader.stretch_last == now - 1
        return FOREVER if waits_for_store else now
    at = read_in(lists, readers, reader)
    if at < 0 or reader.remote_round != now - 1 or not (rules.lookup_by_epoch and rules.reads_within_lineage):
        return now
    read = readers.reads[at]
    if read.dealt < read.needs:
        return now
    before, wanted_end = reader.position - gained, read.wanted_end
    piece = readers.pieces[read.first_piece]
    segment = tiers.remote[tiers.whole[0].segments.start + piece.segment]
    if segment.size_bytes % (segment.end_offset - segment.base_offset + 1):
        return now  # as many records are not as many bytes
    if piece.limit <= segment.end_offset or not is_cached(readers.cached, readers.served[slot].cached, piece.segment):
        return now  # fetches may bring otherwise much, or indexes
    at_once = requests_at_once(inputs, part, replica)
    if at_once != UNKNOWN and most_requests(lists, tiers, readers, inputs, slot) > at_once:
        return now  # more may come to be needed in one round
    ends = nearer(before, min(replica.local_start, segment.end_offset + 1), replica.leo)
    for at in every(tiers.replicas[slot].known):
        ends = nearer(before, ends, tiers.known[at].start_offset)
        ends = nearer(before, ends, tiers.known[at].end_offset + 1)
    for at in every(replica.epochs):
        ends = nearer(before, ends, lists.epochs[at].start_offset)
    for at in every(part.lead_entries):
        ends = nearer(before, ends, lists.ranges[at].to_offset)
    for at in every(part.committed):
        ends = nearer(before, ends, lists.ranges[at].to_offset)
    for at in every(tiers.whole[0].pins):
        ends = nearer(before, ends, tiers.pins[at].offset)
    if min(ends, replica.hw) <= wanted_end:
        return now
    return min(meeting(now, ends, 0, wanted_end, gained), meeting(now, replica.hw, hw_drift, wanted_end, gained))


@compiled
def most_requests(lists: Lists, tiers: TierLists, readers: ReaderLists, inputs: Inputs, slot: int) -> int:
    """How many requests the reads of a broker may need in a round that is like the last one: as many as with nothing in hand."""
    most = 0
    for at in every(lists.filled[0].reads):
        read = readers.reads[at]
        if read.slot == slot and not read.waits:
            segment = tiers.remote[tiers.whole[0].segments.start + readers.pieces[read.first_piece].segment]
            records = records_of_fetch(segment, inputs.wants[readers.readers[read.reader].want].request_bytes)
            most += (read.wanted_end - read.begin + records - 1) // records
    return most


@compiled
def read_in(lists: Lists, readers: ReaderLists, reader: Reader) -> int:
    """Where the remote read stands that a reader made in the last round of the partition that had any, -1: it made none."""
    for at in every(lists.filled[0].reads):
        read = readers.reads[at]
        if read.reader == readers.whole[0].readers.start + reader.number and not read.waits:
            return at
    return -1


@compiled
def nearer(before: int, one: int, other: int) -> int:
    """The lower of two offsets; `one` if the other is not above where a read began."""
    return min(one, other) if other > before else one
