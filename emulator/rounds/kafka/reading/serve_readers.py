"""Step 11, after everything else: every reader in force gets one answer (docs/consumer_rounds.md, The round of a reader)."""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.constants import CLIENTS_CUT, NOBODY
from emulator.rounds.kafka.fence_and_elect import is_ready
from emulator.rounds.kafka.input_records import Inputs, Rules
from emulator.rounds.kafka.reading.choose_replica import choose_replica
from emulator.rounds.kafka.reading.in_hand import give_up_fetch
from emulator.rounds.kafka.reading.place_reader import committed_end, place_reader
from emulator.rounds.kafka.reading.read_log import read_log
from emulator.rounds.kafka.reading.read_remote import read_remote
from emulator.rounds.kafka.reading.records import (
    LEADERLESS,
    NO_CAUSE,
    NO_POSITION,
    TOPIC_GONE,
    Reader,
    ReaderLists,
    ReadReplica,
)
from emulator.rounds.kafka.reading.stretches import end_stretch, wait
from emulator.rounds.kafka.reading.watch_memory import watch_memory
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.lists import clear, every
from emulator.rounds.records import Rows


@compiled
def serve_readers(
    lists: Lists,
    tiers: TierLists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    rules: Rules,
) -> None:
    """Reads of brokers' own logs first, then the remote ones, which share what brokers have."""
    whole = readers.whole[0]
    if whole.readers.count == 0:
        return
    watch_memory(readers, inputs, part, replicas)
    for slot in range(part.slots):
        served = readers.served[slot]
        served.before_sent_bytes = served.sent_bytes
        served.before_downloaded_bytes = served.downloaded_bytes
    clear(lists.filled[0].reads)
    clear(lists.filled[0].pieces)
    serves = is_ready(part, replicas) and not replicas[part.client_leader].status & CLIENTS_CUT
    for at in every(whole.readers):
        reader = readers.readers[at]
        reader.asked = asked_slot(part, reader)
        if is_in_force(lists, readers, inputs, part, replicas, reader):
            serve_reader(lists, tiers, readers, inputs, part, replicas, reader, serves, rules)
    if lists.filled[0].reads.count:
        read_remote(lists, tiers, readers, inputs, part, replicas)
    for at in every(whole.readers):
        note_lag(inputs, part, replicas, readers.readers[at])
    for slot in range(part.slots):
        readers.served[slot].log_start_before = replicas[slot].log_start
        note_what_is_sent(readers.served[slot])


@compiled_into_callers
def asked_slot(part: Partition, reader: Reader) -> int:
    """The slot that the reader asks in this round: the follower that T named as long as that lasts, else T, else the first."""
    knows_leader = reader.leader == part.client_leader and reader.leader_epoch == part.client_epoch
    if reader.replica != NOBODY and knows_leader and part.now < reader.replica_until:
        return reader.replica
    return max(part.client_leader, 0)


@compiled_into_callers
def note_what_is_sent(served: ReadReplica) -> None:
    """The most that readers had of a replica in a round: what shared budgets are held against (shared_budgets.py)."""
    served.most_sent_bytes = max(served.most_sent_bytes, served.sent_bytes - served.before_sent_bytes)
    downloaded = served.downloaded_bytes - served.before_downloaded_bytes
    served.most_downloaded_bytes = max(served.most_downloaded_bytes, downloaded)


@compiled_into_callers
def is_in_force(
    lists: Lists, readers: ReaderLists, inputs: Inputs, part: Partition, replicas: Rows[Replica], reader: Reader
) -> bool:
    """Whether the group reads in this round; else a stretch without records ends, and the reader has no follower nor fetch."""
    while inputs.wants[reader.want + 1].from_round <= part.now:
        reader.want += 1
    if inputs.wants[reader.want].in_force:
        return True
    end_stretch(lists, readers, inputs, part, replicas, reader)
    reader.replica = NOBODY
    give_up_fetch(reader)
    return False


@compiled_into_callers
def note_lag(inputs: Inputs, part: Partition, replicas: Rows[Replica], reader: Reader) -> None:
    """The largest lag at the end of a round in force."""
    if inputs.wants[reader.want].in_force and reader.position != NO_POSITION:
        reader.max_lag = max(reader.max_lag, committed_end(part, replicas) - reader.position)


@compiled
def stop_readers(lists: Lists, readers: ReaderLists, inputs: Inputs, part: Partition, replicas: Rows[Replica]) -> None:
    """The topic was deleted: who reads it stops, and brokers drop its indexes."""
    if readers.whole[0].readers.count == 0:
        return
    for at in every(readers.whole[0].readers):
        reader = readers.readers[at]
        if is_in_force(lists, readers, inputs, part, replicas, reader):
            if reader.stopped == NO_CAUSE:
                reader.stopped = TOPIC_GONE
            note_lag(inputs, part, replicas, reader)
    for slot in range(part.slots):
        clear(readers.served[slot].cached)


@compiled_into_callers
def serve_reader(
    lists: Lists,
    tiers: TierLists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    reader: Reader,
    serves: bool,
    rules: Rules,
) -> None:
    """A reader's round, up to a remote read, which waits for those of others. `serves`: T does."""
    if reader.stopped != NO_CAUSE:
        return
    if part.now >= reader.replica_until:
        reader.replica = NOBODY
    knows_leader = reader.leader == part.client_leader and reader.leader_epoch == part.client_epoch
    if not serves and (reader.replica == NOBODY or not knows_leader):
        wait(lists, readers, inputs, part, replicas, reader, LEADERLESS, NOBODY, committed_end(part, replicas))
        return
    if serves and place_reader(lists, tiers, readers, inputs, part, replicas, reader, rules):
        return
    slot = choose_replica(lists, readers, inputs, part, replicas, reader, serves)
    if slot != NOBODY:
        read_log(lists, tiers, readers, inputs, part, replicas, reader, slot, serves, rules)
