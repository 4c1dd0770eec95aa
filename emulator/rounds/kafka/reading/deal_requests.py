"""Remote requests that readers need, dealt out in turn (RemoteStorageThreadPool; docs/consumer_rounds.md, Remote reads).

A partition's readers share their brokers' reader threads here.
What readers of several partitions share is settled before the round (engine/budgets/read_turns.py).
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.reading.in_hand import end_in_hand, end_of_fetches
from emulator.rounds.kafka.reading.pieces import bytes_up_to
from emulator.rounds.kafka.reading.place_reader import committed_end
from emulator.rounds.kafka.reading.records import (
    ALONE,
    IS_REFUSED,
    OTHER_PARTITION,
    READER_THREADS,
    WAITS_FOR_FETCH,
    WAITS_FOR_THREAD,
    Reader,
    ReaderLists,
    RemoteRead,
)
from emulator.rounds.kafka.reading.stretches import wait
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.lists import List, every
from emulator.rounds.records import Rows


@compiled
def deal_requests(
    lists: Lists, tiers: TierLists, readers: ReaderLists, inputs: Inputs, part: Partition, replicas: Rows[Replica], slot: int
) -> None:
    """Who is dealt fewer requests of a broker than it needs reads to the end of the last fetch it was dealt, or waits."""
    reads = lists.filled[0].reads
    deal_threads(readers, inputs, part, replicas[slot], reads, slot)
    for at in every(reads):
        read = readers.reads[at]
        reader = readers.readers[read.reader]
        if read.slot != slot or read.waits or read.needs == 0:
            continue
        if read.dealt > 0:
            reader.dealt_round, reader.dealt_place = part.now, read.place
        if read.dealt == read.needs:
            continue
        if read.dealt > 0:
            fetch_bytes, begin = inputs.wants[reader.want].request_bytes, end_in_hand(reader, slot)
            read.wanted_end = end_of_fetches(tiers, readers, read, begin, fetch_bytes, read.dealt)
            read.wanted_bytes = bytes_up_to(tiers, readers, read, read.wanted_end)
        else:
            cause = OTHER_PARTITION if read.turn == WAITS_FOR_FETCH else READER_THREADS
            give_up(lists, readers, inputs, part, replicas, reader, read, cause, read.turn == IS_REFUSED)


@compiled
def give_up(
    lists: Lists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    reader: Reader,
    read: RemoteRead,
    cause: int,
    is_error: bool,
) -> None:
    """The read is not made in this round."""
    read.waits = 1
    reader.remote_errors += is_error
    wait(lists, readers, inputs, part, replicas, reader, cause, read.slot, committed_end(part, replicas))


@compiled
def deal_threads(readers: ReaderLists, inputs: Inputs, part: Partition, replica: Replica, reads: List, slot: int) -> None:
    """Where reads take time, a broker makes so many requests in a round. Of who gets none so many wait, the others are errors."""
    at_once, needed = requests_at_once(inputs, part, replica), 0
    for at in every(reads):
        read = readers.reads[at]
        reader = readers.readers[read.reader]
        if read.slot != slot or read.waits:
            continue
        read.turn, read.dealt, read.place = reader.turn, read.needs, reader.turn_place
        if reader.turn == ALONE:
            needed += read.needs
        elif reader.turn_requests != UNKNOWN:
            read.dealt = min(read.needs, reader.turn_requests)
    if at_once == UNKNOWN or needed <= at_once:
        return
    for at in every(reads):
        if readers.reads[at].slot == slot and readers.reads[at].turn == ALONE:
            readers.reads[at].dealt = 0
    for place in range(1, at_once + 1):
        read = readers.reads[next_in_line(readers, reads, slot)]
        read.dealt += 1
        read.place = place
    settings, span = inputs.settings[part.settings], inputs.spans[replica.span]
    queue, waiting = settings.reader_queue if span.reader_queue == UNKNOWN else span.reader_queue, 0
    at = next_in_line(readers, reads, slot)
    while at >= 0 and readers.reads[at].dealt == 0:
        readers.reads[at].turn = WAITS_FOR_THREAD if waiting < queue else IS_REFUSED
        waiting += 1
        at = next_in_line(readers, reads, slot)


@compiled
def requests_at_once(inputs: Inputs, part: Partition, replica: Replica) -> int:
    """How many requests a broker makes in a round; UNKNOWN: any number, as reads take no time."""
    reads_per_thread = inputs.scenarios[part.scenario].reads_per_thread
    if not reads_per_thread:
        return UNKNOWN
    threads = inputs.spans[replica.span].reader_threads
    return reads_per_thread * (inputs.settings[part.settings].reader_threads if threads == UNKNOWN else threads)


@compiled
def next_in_line(readers: ReaderLists, reads: List, slot: int) -> int:
    """The read of a broker that is dealt the next request, -1: none needs more."""
    first = -1
    for at in every(reads):
        read = readers.reads[at]
        if read.slot != slot or read.waits or read.turn != ALONE or read.dealt >= read.needs:
            continue
        if first < 0 or comes_first(readers, read, readers.reads[first]):
            first = at
    return first


@compiled
def comes_first(readers: ReaderLists, read: RemoteRead, other: RemoteRead) -> bool:
    """Who has fewer comes first; then who was dealt its last one, in a round before this one, longest ago."""
    reader, of_other = readers.readers[read.reader], readers.readers[other.reader]
    if read.dealt != other.dealt:
        return read.dealt < other.dealt
    if reader.dealt_round != of_other.dealt_round:
        return reader.dealt_round < of_other.dealt_round
    return reader.dealt_place < of_other.dealt_place
