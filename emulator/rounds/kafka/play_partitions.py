"""A block of partitions: each plays its own rounds to its end, with its lists in scratch arrays; leaps included."""

from __future__ import annotations

from emulator.rounds.calls import DONE, OUTPUT_FULL, SCRATCH_FULL
from emulator.rounds.compiled import compiled, entry_point, merged_into_caller
from emulator.rounds.kafka.constants import LOCAL_DELETE, NO_EPOCH, NOBODY, SEGMENT_ROLL, UNKNOWN
from emulator.rounds.kafka.epochs import end_of_epoch, latest_epoch
from emulator.rounds.kafka.finish import finish
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.leap import horizon, keep_distance, leap_through_buckets
from emulator.rounds.kafka.look_at_all import look_at_all, remember_all, take_drifts, take_tier_drifts
from emulator.rounds.kafka.play_round import play_round
from emulator.rounds.kafka.probe import CHANGED_APART, LETS_PASS, PROVEN, UNPROVEN, Probe, judge, nothing_aside
from emulator.rounds.kafka.reading.keep_readers import end_reading, is_reading_full, load_readers, store_readers
from emulator.rounds.kafka.reading.leap_readers import (
    leap_readers,
    look_at_readers,
    reader_horizon,
    remember_readers,
    take_reader_drifts,
)
from emulator.rounds.kafka.reading.records import ReaderLists
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists, Spans, TierLists
from emulator.rounds.kafka.state import State
from emulator.rounds.kafka.tier.copy_segments import is_tier_full
from emulator.rounds.kafka.tier.expire import note_lineage
from emulator.rounds.kafka.tier.keep_tiers import load_tiers, store_tiers
from emulator.rounds.kafka.tier.leap_tiers import leap_tiers, tier_horizon
from emulator.rounds.kafka.told_records import Traffic
from emulator.rounds.kafka.traffic import book_traffic, forget_traffic
from emulator.rounds.kafka.words import Words
from emulator.rounds.leaps import remember
from emulator.rounds.packed import load, store
from emulator.rounds.records import Rows
from emulator.rounds.slots import MAX_SLOTS

WORTH_LEAPING = 8
"""Rounds of a stretch from which on it is looked for leaps: before one, two rounds are played, and one at the stretch's end."""
LONG = 32
"""Rounds of a stretch from which on it is looked for them in every round; in a shorter one only in its first `LOOKS`."""
LOOKS = 4
CHECK_ROUNDS = 64
"""Rounds between two looks for lists that are full: what comes after that is played for nothing."""


@compiled
def load_lists(old: State, part: Partition, replicas: Rows[Replica], number: int, words: Words) -> None:
    """A partition's lists into the scratch arrays, whose room its lists share."""
    room = len(words.runs) // (2 * MAX_SLOTS)
    epochs_room, segments_room = len(words.epochs) // MAX_SLOTS, len(words.segments) // MAX_SLOTS
    for slot in range(part.slots):
        replica, at = replicas[slot], part.first_replica + slot
        load(replica.runs, old.runs, 2 * at, words.runs, 2 * slot * room, room)
        load(replica.late_runs, old.runs, 2 * at + 1, words.runs, (2 * slot + 1) * room, room)
        load(replica.epochs, old.epochs, at, words.epochs, slot * epochs_room, epochs_room)
        load(replica.segments, old.segments, at, words.segments, slot * segments_room, segments_room)
    room = len(words.ranges) // 7
    load(part.lead_entries, old.ranges, 7 * number, words.ranges, 0, room)
    load(part.acked_ranges, old.ranges, 7 * number + 1, words.ranges, room, room)
    load(part.missing, old.ranges, 7 * number + 2, words.ranges, 2 * room, room)
    load(part.acked, old.ranges, 7 * number + 3, words.ranges, 3 * room, room)
    load(part.committed, old.ranges, 7 * number + 4, words.ranges, 4 * room, room)
    load(part.acked_for_all, old.ranges, 7 * number + 5, words.ranges, 5 * room, room)
    load(part.given_up, old.ranges, 7 * number + 6, words.ranges, 6 * room, room)
    load(part.sent, old.sent, number, words.sent, 0, len(words.sent))
    load(part.news, old.news, number, words.news, 0, len(words.news))


@compiled
def store_lists(new: State, part: Partition, replicas: Rows[Replica], number: int, words: Words) -> bool:
    """Pack a partition's lists behind those of the partitions before. False: there is no room."""
    fits = store(part.lead_entries, new.ranges, 7 * number, words.ranges)
    fits = fits and store(part.acked_ranges, new.ranges, 7 * number + 1, words.ranges)
    fits = fits and store(part.missing, new.ranges, 7 * number + 2, words.ranges)
    fits = fits and store(part.acked, new.ranges, 7 * number + 3, words.ranges)
    fits = fits and store(part.committed, new.ranges, 7 * number + 4, words.ranges)
    fits = fits and store(part.acked_for_all, new.ranges, 7 * number + 5, words.ranges)
    fits = fits and store(part.given_up, new.ranges, 7 * number + 6, words.ranges)
    fits = fits and store(part.sent, new.sent, number, words.sent)
    fits = fits and store(part.news, new.news, number, words.news)
    for slot in range(part.slots):
        replica, at = replicas[slot], part.first_replica + slot
        fits = fits and store(replica.runs, new.runs, 2 * at, words.runs)
        fits = fits and store(replica.late_runs, new.runs, 2 * at + 1, words.runs)
        fits = fits and store(replica.epochs, new.epochs, at, words.epochs)
        fits = fits and store(replica.segments, new.segments, at, words.segments)
    return fits


@compiled
def is_full(tiers: TierLists | None, readers: ReaderLists | None, part: Partition, replicas: Rows[Replica], spans: Spans) -> bool:
    """Whether a list of the partition, or an output, had no room."""
    full = part.lead_entries.full | part.acked_ranges.full | part.missing.full | part.acked.full
    full |= part.committed.full | part.acked_for_all.full | part.given_up.full | part.sent.full | part.news.full
    full |= spans.held.full | spans.lost.full
    full |= spans.events.full | spans.trace_rows.full | spans.trace_epochs.full | spans.trace_partitions.full
    if tiers is not None:
        for slot in range(part.slots):
            full |= is_tier_full(tiers, slot)
    if readers is not None:
        full |= is_reading_full(readers, part) | spans.reads.full | spans.pieces.full | spans.unread.full
    full |= spans.violations.full | spans.witness_epochs.full | spans.trace_segments.full
    for slot in range(part.slots):
        replica = replicas[slot]
        full |= replica.runs.full | replica.late_runs.full | replica.epochs.full | replica.segments.full
    return full != 0


@merged_into_caller
def play_partition(
    lists: Lists,
    tiers: TierLists | None,
    readers: ReaderLists | None,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    number: int,
    words: Words,
    probe: Probe,
) -> None:
    """A partition's rounds up to its end; they stop short where a list was full. One that is there already stays as it is."""
    if part.now >= part.end:
        return
    part.quiet_until = part.now
    part_words = words.partitions[number]
    replica_words = words.replicas[part.first_replica : part.first_replica + part.slots]
    leaps = inputs.scenarios[part.scenario].leaps and not part.traced and part.end - part.now >= WORTH_LEAPING
    looks_until = part.end if part.end - part.now >= LONG else part.now + LOOKS
    spans = lists.filled[0]
    if part.now == 0 and part.client_leader != NOBODY:
        part.leader_hw = replicas[part.client_leader].hw
    proven, is_odd = UNPROVEN, False
    remember_all(tiers, part, part_words, replica_words, words, probe)
    if readers is not None:
        remember_readers(readers, part)
    while part.now < part.end:
        told = spans.events.count
        play_round(lists, tiers, readers, inputs, part, replicas)
        if part.now % CHECK_ROUNDS == 0 and is_full(tiers, readers, part, replicas, spans):
            return
        if not leaps or part.now > looks_until:
            continue
        found = look_at_all(tiers, part, part_words, replica_words, words, probe)
        if tells_more(lists, spans, told):
            found |= CHANGED_APART
        if readers is not None and readers.whole[0].readers.count > 0:
            found = nothing_aside(found) | look_at_readers(readers, part)
        proven, is_odd, is_new = judge(found, proven, is_odd)
        if is_new:
            take_drifts(tiers, part, part_words, replica_words, words, probe)
            if readers is not None:
                take_reader_drifts(readers, part)
        if proven == PROVEN and not found & ~LETS_PASS:
            if found:
                take_tier_drifts(tiers, part, words, probe)
            then = horizon(lists, inputs, part, replicas, part_words, replica_words, probe.part_drift, probe.drifts)
            if tiers is not None and part.tiered:
                tier_words, tier_drifts = words.tier[0], probe.tier_drifts
                rest = (probe.drifts, tier_drifts, probe.paces)
                then = min(then, tier_horizon(lists, tiers, inputs, part, replicas, tier_words, words.tiers, *rest))
            if tiers is not None and readers is not None:
                then = min(then, reader_horizon(lists, tiers, readers, inputs, part, replicas, probe.drifts))
            if keep_distance(part, probe.drifts):
                part.quiet_until = then
            then = min(then, part.end - 1)
            if then > part.now:
                if tiers is not None and part.tiered:
                    settings = inputs.settings[part.settings]
                    leap_tiers(
                        tiers, settings, part, words.tier[0], words.tiers, probe.tier_drift, probe.tier_drifts, probe.paces, then
                    )
                if tiers is not None and readers is not None:
                    leap_readers(lists, tiers, readers, inputs, part, then)
                leap_through_buckets(
                    lists, tiers, readers, inputs, part, replicas, part_words, replica_words, probe.part_drift, probe.drifts, then
                )
        remember_all(tiers, part, part_words, replica_words, words, probe)
        if readers is not None:
            remember_readers(readers, part)
    if part.now == inputs.scenarios[part.scenario].rounds and not is_full(tiers, readers, part, replicas, lists.filled[0]):
        if tiers is not None:
            note_lineage(lists, tiers, part, replicas)
        finish(lists, inputs, part, replicas)
        if readers is not None:
            end_reading(lists, readers, inputs, part, replicas)
    look_up_last_epochs(lists, part, replicas)


@compiled
def tells_more(lists: Lists, spans: Spans, told: int) -> bool:
    """Whether the round told of more than segments that begin or go, which horizons foresee: it may be told again."""
    for at in range(spans.events.start + told, spans.events.start + spans.events.count):
        if lists.events[at].kind not in (SEGMENT_ROLL, LOCAL_DELETE):
            return True
    return False


@compiled
def look_up_last_epochs(lists: Lists, part: Partition, replicas: Rows[Replica]) -> None:
    """What T's epoch cache says of each replica's last epoch: what a fetch is held against (KIP-320)."""
    for slot in range(part.slots):
        replica = replicas[slot]
        replica.end_epoch, replica.end_offset = NO_EPOCH, UNKNOWN
        last_epoch = latest_epoch(lists.epochs, replica)
        if part.client_leader == NOBODY or last_epoch == NO_EPOCH:
            continue
        leader = replicas[part.client_leader]
        found, end_offset = end_of_epoch(lists.epochs, leader, leader.epochs.count, leader.leo, last_epoch)
        replica.end_epoch, replica.end_offset = found, end_offset


@merged_into_caller
def play_each(
    old: State,
    new: State,
    inputs: Inputs,
    lists: Lists,
    tiers: TierLists | None,
    readers: ReaderLists | None,
    words: Words,
    probe: Probe,
    traffic: Rows[Traffic],
    first: int,
    last: int,
    is_played: bool,
) -> tuple[int, int]:
    """Partitions [first, last), the first of which may be played and only lack room in the new state.

    Returns (where it stopped, why).
    """
    spans = lists.filled[0]
    for number in range(first, last):
        part = new.partitions[number]
        if not is_played:
            events, trace, trace_epochs = spans.events.count, spans.trace_rows.count, spans.trace_epochs.count
            trace_partitions, violations = spans.trace_partitions.count, spans.violations.count
            witness_epochs, trace_segments = spans.witness_epochs.count, spans.trace_segments.count
            unread = spans.unread.count
            remember(words.old_partitions[number], words.partitions[number])
            replicas = new.replicas[part.first_replica : part.first_replica + part.slots]
            for at in range(part.first_replica, part.first_replica + part.slots):
                remember(words.old_replicas[at], words.replicas[at])
            forget_traffic(inputs, part, lists.traffic)
            if tiers is not None:
                load_tiers(old, tiers, part, number, words)
            if readers is not None:
                load_readers(old, readers, part, number, words)
            load_lists(old, part, replicas, number, words)
            if not is_full(tiers, readers, part, replicas, spans):
                play_partition(lists, tiers, readers, inputs, part, replicas, number, words, probe)
            if is_full(tiers, readers, part, replicas, spans):
                spans.events.count = events
                spans.trace_rows.count = trace
                spans.trace_epochs.count = trace_epochs
                spans.trace_partitions.count = trace_partitions
                spans.violations.count = violations
                spans.witness_epochs.count = witness_epochs
                spans.trace_segments.count = trace_segments
                spans.unread.count = unread
                return number, SCRATCH_FULL
        replicas = new.replicas[part.first_replica : part.first_replica + part.slots]
        fits = store_lists(new, part, replicas, number, words)
        if tiers is not None:
            fits = fits and store_tiers(new, tiers, part, number, words)
        if readers is not None:
            fits = fits and store_readers(new, readers, part, number, words)
        if not fits:
            return number, OUTPUT_FULL
        book_traffic(inputs, part, replicas, lists.traffic, traffic)
        is_played = False
    return last, DONE


@entry_point
def play_partitions(
    old: State,
    new: State,
    inputs: Inputs,
    lists: Lists,
    words: Words,
    probe: Probe,
    traffic: Rows[Traffic],
    first: int,
    last: int,
    is_played: bool,
) -> tuple[int, int]:
    """As `play_each`, of a block without remote storage and readers: compiled without anything of them."""
    return play_each(old, new, inputs, lists, None, None, words, probe, traffic, first, last, is_played)


@entry_point
def play_tiered_partitions(
    old: State,
    new: State,
    inputs: Inputs,
    lists: Lists,
    tiers: TierLists,
    readers: ReaderLists,
    words: Words,
    probe: Probe,
    traffic: Rows[Traffic],
    first: int,
    last: int,
    is_played: bool,
) -> tuple[int, int]:
    """As `play_each`, of a block in which some partition has remote storage, or is read."""
    return play_each(old, new, inputs, lists, tiers, readers, words, probe, traffic, first, last, is_played)
