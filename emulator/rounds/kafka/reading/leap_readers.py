"""Leaps of readers: in quiet rounds a reader moves linearly, or waits; where it may behave otherwise is a horizon.

Those of remote reads beside what all reads have: leap_remote.py.
"""

from __future__ import annotations

import numpy as np

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.batches import bytes_at, end_of_run, run_with
from emulator.rounds.kafka.constants import FOREVER, NOBODY, UNKNOWN
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.leap import HW, LEO, REMOTE_LEO, meeting
from emulator.rounds.kafka.probe import look_at, masks_of, move, take_drift
from emulator.rounds.kafka.reading.in_hand import leap_requests
from emulator.rounds.kafka.reading.leap_remote import until_read_otherwise
from emulator.rounds.kafka.reading.read_ranges import first_ending_above, range_at_or_ending
from emulator.rounds.kafka.reading.records import (
    NO_CAUSE,
    NO_POSITION,
    NO_RACK,
    Reader,
    ReaderLists,
    ReadPartition,
    ReadRange,
    ReadReplica,
    Waited,
)
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.kafka.traffic import last_of_bucket
from emulator.rounds.leaps import remember
from emulator.rounds.lists import every, last
from emulator.rounds.records import Rows, kinds_of, word_of

READER_MASKS, WAITED_MASKS = masks_of(kinds_of(Reader)), masks_of(kinds_of(Waited))
RANGE_MASKS, WHOLE_MASKS = masks_of(kinds_of(ReadRange)), masks_of(kinds_of(ReadPartition))
SERVED_MASKS = masks_of(kinds_of(ReadReplica))
POSITION, MAX_LAG, ACCOUNTED_TO = (word_of(Reader, name) for name in ("position", "max_lag", "accounted_to"))
PAGE_CACHE_BYTES, DISK_BYTES = word_of(Reader, "page_cache_bytes"), word_of(Reader, "disk_bytes")
TO_OFFSET = word_of(ReadRange, "to_offset")
LOG_BYTES = word_of(Replica, "log_bytes")
"""Places of fields among the words of their records."""


@compiled
def look_at_readers(readers: ReaderLists, part: Partition) -> int:
    """What the round changed in what a partition has of readers: bits (probe.py)."""
    whole, words, before, drift = readers.whole[0], readers.words, readers.before, readers.drift
    if whole.readers.count == 0:
        return 0
    found = look_at(WHOLE_MASKS, words.whole[0], before.whole[0], drift.whole[0])
    for slot in range(part.slots):
        found |= look_at(SERVED_MASKS, words.served[slot], before.served[slot], drift.served[slot])
    for at in every(whole.readers):
        found |= look_at(READER_MASKS, words.readers[at], before.readers[at], drift.readers[at])
    for at in every(whole.waits):
        found |= look_at(WAITED_MASKS, words.waits[at], before.waits[at], drift.waits[at])
    for at in every(whole.ranges):
        found |= look_at(RANGE_MASKS, words.read_ranges[at], before.read_ranges[at], drift.read_ranges[at])
    return found


@compiled
def take_reader_drifts(readers: ReaderLists, part: Partition) -> None:
    """Note how counters of readers moved in the round."""
    whole, words, before, drift = readers.whole[0], readers.words, readers.before, readers.drift
    if whole.readers.count == 0:
        return
    for slot in range(part.slots):
        take_drift(words.served[slot], before.served[slot], drift.served[slot])
    for at in every(whole.readers):
        take_drift(words.readers[at], before.readers[at], drift.readers[at])
    for at in every(whole.waits):
        take_drift(words.waits[at], before.waits[at], drift.waits[at])
    for at in every(whole.ranges):
        take_drift(words.read_ranges[at], before.read_ranges[at], drift.read_ranges[at])


@compiled
def remember_readers(readers: ReaderLists, part: Partition) -> None:
    """What a partition has of readers, as it is, for the next round's look."""
    whole, words, before = readers.whole[0], readers.words, readers.before
    if whole.readers.count == 0:
        return
    remember(words.whole[0], before.whole[0])
    for slot in range(part.slots):
        remember(words.served[slot], before.served[slot])
    for at in every(whole.readers):
        remember(words.readers[at], before.readers[at])
    for at in every(whole.waits):
        remember(words.waits[at], before.waits[at])
    for at in every(whole.ranges):
        remember(words.read_ranges[at], before.read_ranges[at])


@compiled
def leap_readers(lists: Lists, tiers: TierLists, readers: ReaderLists, inputs: Inputs, part: Partition, then: int) -> None:
    """All counters of readers as of a later round."""
    rounds = then - part.now
    whole, words, drift = readers.whole[0], readers.words, readers.drift
    if whole.readers.count == 0:
        return
    for slot in range(part.slots):
        move(SERVED_MASKS, words.served[slot], drift.served[slot], rounds)
    for at in every(whole.readers):
        move(READER_MASKS, words.readers[at], drift.readers[at], rounds)
    for at in every(whole.waits):
        move(WAITED_MASKS, words.waits[at], drift.waits[at], rounds)
    for at in every(whole.ranges):
        move(RANGE_MASKS, words.read_ranges[at], drift.read_ranges[at], rounds)
    leap_requests(lists, tiers, readers, inputs, then)


@compiled
def reader_horizon(
    lists: Lists,
    tiers: TierLists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    drifts: np.ndarray,
) -> int:
    """The next round, from `part.now` on, that has to be played for what a reader may do in it."""
    due = FOREVER
    if tiers.whole[0].has_transactions:
        due = inputs.store[tiers.whole[0].store + 1].from_round
    for at in every(readers.whole[0].readers):
        reader = readers.readers[at]
        due = min(due, last_of_bucket(inputs, part), inputs.wants[reader.want + 1].from_round)
        if not inputs.wants[reader.want].in_force or part.client_leader == NOBODY:
            continue
        moved = readers.drift.readers[at]
        due = min(due, until_leader_knows_end(part, replicas, reader, drifts))
        due = min(due, until_largest_lag(part, replicas, reader, moved, drifts))
        if reader.stopped == NO_CAUSE and reader.position != NO_POSITION:
            due = min(due, until_served_otherwise(lists, tiers, readers, inputs, part, replicas, reader, moved, drifts))
    return max(due, part.now)


@compiled
def until_leader_knows_end(part: Partition, replicas: Rows[Replica], reader: Reader, drifts: np.ndarray) -> int:
    """The round in which T's high watermark may reach the start of its epoch, for which "latest" waits (KIP-207)."""
    if reader.position != NO_POSITION and reader.reset_cause == NO_CAUSE:
        return FOREVER
    leader = part.client_leader
    return meeting(part.now, part.epoch_start, 0, replicas[leader].hw, drifts[leader, HW])


@compiled
def until_largest_lag(part: Partition, replicas: Rows[Replica], reader: Reader, moved: np.ndarray, drifts: np.ndarray) -> int:
    """The round in which the lag may exceed the largest one so far."""
    leader = part.client_leader
    lag, lag_drift = replicas[leader].hw - reader.position, drifts[leader, HW] - moved[POSITION]
    return meeting(part.now, reader.max_lag, moved[MAX_LAG], lag, lag_drift)


@compiled
def until_served_otherwise(
    lists: Lists,
    tiers: TierLists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    reader: Reader,
    moved: np.ndarray,
    drifts: np.ndarray,
) -> int:
    """The round in which whom the reader asks, or what that one gives out, may be otherwise."""
    now, position, gained, leader = part.now, reader.position, moved[POSITION], part.client_leader
    due = FOREVER
    slot = leader
    if reader.replica != NOBODY:
        slot = reader.replica
        due = reader.replica_until
    elif inputs.wants[reader.want].rack != NO_RACK and inputs.settings[part.settings].followers_serve:
        for other in range(part.slots):
            due = min(due, meeting(now, replicas[other].remote_leo, drifts[other, REMOTE_LEO], position, gained))
            due = min(due, meeting(now, readers.served[other].log_start_before, 0, position, gained))
    replica = replicas[slot]
    is_remote = position - gained < replica.local_start  # the last read was a remote one, or the next one is
    if is_remote:
        rest = (part, replicas, slot, reader, gained, drifts[slot, HW])
        due = min(due, until_read_otherwise(lists, tiers, readers, inputs, *rest))
    due = min(due, meeting(now, replica.hw, drifts[slot, HW], position, gained))
    due = min(due, meeting(now, replica.leo, drifts[slot, LEO], position, gained))
    due = min(due, meeting(now, replicas[leader].hw, drifts[leader, HW], position, gained))
    for at in every(tiers.whole[0].pins):
        due = min(due, meeting(now, tiers.pins[at].offset, 0, position, gained))
    if gained == 0:
        return due
    due = min(due, meeting(now, reader.accounted_to, moved[ACCOUNTED_TO], position, gained))
    if not is_remote:
        due = min(due, meeting(now, readers.served[slot].cold_below, 0, position, gained))
        due = min(due, until_other_records(lists, inputs, now, replica, position, gained, drifts[slot, LEO]))
        due = min(due, until_other_memory(lists, readers, inputs, part, replica, slot, reader, moved, drifts))
    return min(due, until_other_range(readers, now, position, gained))


@compiled
def until_other_records(
    lists: Lists, inputs: Inputs, now: int, replica: Replica, position: int, gained: int, leo_drift: int
) -> int:
    """The round in which the reader gets to the end of the run that has its position; now, if its rounds have unlike bytes."""
    at = run_with(lists.runs, replica.runs, position)
    if replica.runs.count == 0 or position - gained < lists.runs[at].start_offset:
        return now  # the last read was not of this run alone
    pattern = inputs.patterns[lists.runs[at].pattern]
    if pattern.record_bytes < 0 and gained % pattern.records:
        return now
    end_drift = leo_drift if at == last(replica.runs) else 0
    return meeting(now, end_of_run(lists.runs, replica.runs, at, replica.leo), end_drift, position, gained)


@compiled
def until_other_memory(
    lists: Lists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    replica: Replica,
    slot: int,
    reader: Reader,
    moved: np.ndarray,
    drifts: np.ndarray,
) -> int:
    """The round in which the log behind the position may begin to fit the share of the page cache, or not to."""
    share = readers.served[slot].share_bytes
    if share == UNKNOWN:
        return FOREVER
    read = moved[PAGE_CACHE_BYTES] + moved[DISK_BYTES]
    behind = replica.log_bytes - bytes_at(lists.runs, inputs, replica, reader.position)
    closing = abs(drifts[slot, LOG_BYTES] - read)
    distance = abs(behind - share) - abs(drifts[slot, LOG_BYTES]) - read
    if distance <= 0:
        return FOREVER if closing == 0 else part.now
    return FOREVER if closing == 0 else part.now + max(0, distance // closing - 2)


@compiled
def until_other_range(readers: ReaderLists, now: int, position: int, gained: int) -> int:
    """The round in which what the reader reads may leave, or touch, a range that somebody read before."""
    ranges, known = readers.read_ranges, readers.whole[0].ranges
    due = FOREVER
    at = range_at_or_ending(ranges, known, position)
    if at >= 0:
        due = meeting(now, ranges[at].to_offset, readers.drift.read_ranges[at, TO_OFFSET], position, gained)
    following = at + 1 if at >= 0 else first_ending_above(ranges, known, position)
    if following < known.start + known.count:
        due = min(due, meeting(now, ranges[following].from_offset, 0, position, gained))
    return due
