"""Step 1, last moments: what T appends up to the moment its broker dies, and what of it followers have fetched by then.

Between two fetches of a follower a leader appends, and with acks=1 acknowledges (ReplicaManager.appendRecords), what nobody
else has: a broker that dies takes it along.
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.advance_high_watermark import is_enough
from emulator.rounds.kafka.batches import bytes_at, run_with
from emulator.rounds.kafka.constants import CLIENTS_CUT, DATA, NOBODY, NOT_RUNNING, OFFLINE, PAUSED, UNKNOWN
from emulator.rounds.kafka.epochs import assign_epoch
from emulator.rounds.kafka.fetch import answer, answer_without_epochs, are_apart, message_passes
from emulator.rounds.kafka.fetches_of_round import round_trip_us
from emulator.rounds.kafka.input_records import Batch, Inputs, Rules
from emulator.rounds.kafka.leaderships import acknowledge_on_append
from emulator.rounds.kafka.log import begin_chunk, end_chunk, extend_log
from emulator.rounds.kafka.moments import MOMENTS, NOT_GIVEN, NOT_STOPPED
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.respond import append_chunk
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.kafka.unacknowledged import note_unacknowledged
from emulator.rounds.records import Rows
from emulator.rounds.slots import has, size

DRAW_BITS = 20
LOW_BITS = 0xFFFFFFFF


@compiled
def slots_that_run(part: Partition, replicas: Rows[Replica]) -> int:
    """Mask of the replicas that are neither offline nor paused."""
    mask = 0
    for slot in range(part.slots):
        if not replicas[slot].status & NOT_RUNNING:
            mask |= 1 << slot
    return mask


@compiled
def slots_in_touch(part: Partition, replicas: Rows[Replica], ran: int) -> int:
    """Mask of those that run and that no isolation keeps from T."""
    mask = 0
    for slot in range(part.slots):
        if has(ran, slot) and part.client_leader != NOBODY and not are_apart(replicas[slot], replicas[part.client_leader]):
            mask |= 1 << slot
    return mask


@compiled
def last_moments(
    lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], rules: Rules, ran: int, in_touch: int
) -> None:
    """The last moments of T, if a fault that begins in this round kills its broker.

    Masks of the round before: `ran`: who was neither offline nor paused; `in_touch`: nor isolated from T.
    """
    if part.client_leader == NOBODY or part.deleted or inputs.workload[part.workload].pattern == UNKNOWN:
        return
    leader = replicas[part.client_leader]
    moment = inputs.spans[leader.span].moment
    if moment == NOT_STOPPED or not has(ran, part.client_leader) or leader.leading_epoch != part.client_epoch:
        return
    if leader.status & CLIENTS_CUT:
        return
    level = who_is_level(lists, inputs, part, replicas, rules, in_touch)
    first_offset = leader.leo
    append_moments(lists, inputs, part, replicas, rules, moment, level, 1)
    append_moments(lists, inputs, part, replicas, rules, moment, level, 0)
    for slot in range(part.slots):
        if has(level, slot):
            records = records_fetched(inputs, part, replicas, moment, slot, leader.leo - first_offset)
            fetch_moments(lists, inputs, part, replicas, slot, first_offset + records)


@compiled
def who_is_level(lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], rules: Rules, in_touch: int) -> int:
    """Mask of the followers that have all of T's log and fetch what it appends next."""
    level = 0
    for slot in range(part.slots):
        fetches = slot != part.client_leader and has(part.assigned & in_touch, slot)
        if fetches and is_level(lists, inputs, part, replicas, rules, slot):
            level |= 1 << slot
    return level


@compiled
def is_level(lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], rules: Rules, slot: int) -> bool:
    """Whether a follower's log ends where T's does, and T would answer its next fetch with data."""
    follower, leader = replicas[slot], replicas[part.client_leader]
    if follower.believed_leader != part.client_leader or follower.believed_epoch != part.client_epoch:
        return False
    if follower.leo != leader.leo or follower.truncating or follower.builds:
        return False
    if not (message_passes(follower, leader, part.client_leader) and message_passes(leader, follower, slot)):
        return False
    if rules.epochs_in_fetch:
        return answer(lists, follower, leader, follower.in_line != 0 and rules.check_every_fetch == 0) == DATA
    return answer_without_epochs(lists, inputs, follower, leader) == DATA


@compiled
def append_moments(
    lists: Lists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    rules: Rules,
    moment: int,
    level: int,
    is_fetched: int,
) -> None:
    """T appends of every batch of the round what all who are level have fetched in time (`is_fetched`), or what some lack."""
    pattern = inputs.patterns[inputs.workload[part.workload].pattern]
    begin, begin_bytes = 0, 0
    for at in range(pattern.first_batch, pattern.first_batch + pattern.batch_count):
        batch = inputs.batches[at]
        records = batch.end - begin
        if counts(inputs, part, batch, moment):
            lacking = 0
            for slot in range(part.slots):
                if has(level, slot):
                    lacking = max(lacking, records_lacking(inputs, part, replicas, moment, slot, records))
            fetched = max(brought(records, moment), lacking) - lacking
            record_bytes = (batch.end_bytes - begin_bytes) // records
            if is_fetched:
                append_part(lists, inputs, part, replicas, rules, batch, begin, fetched, record_bytes)
            else:
                append_part(lists, inputs, part, replicas, rules, batch, begin + fetched, lacking, record_bytes)
        begin, begin_bytes = batch.end, batch.end_bytes


@compiled
def append_part(
    lists: Lists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    rules: Rules,
    batch: Batch,
    phase: int,
    records: int,
    record_bytes: int,
) -> None:
    """T appends records of a batch, which begin `phase` records into the round's, as one chunk."""
    if records == 0:
        return
    leader, settings = replicas[part.client_leader], inputs.settings[part.settings]
    chosen = inputs.workload[part.workload].pattern
    extend_log(lists.runs, inputs, leader, part.client_epoch, chosen, phase, part.now, part.keeps_segments)
    if not rules.entry_at_election:
        assign_epoch(lists.epochs, leader, part.client_epoch, leader.leo)
    begin_chunk(lists, inputs, part, leader, settings, records * record_bytes, part.client_epoch)
    if batch.acked_on_append:
        acknowledge_on_append(lists, part, leader, leader.leo, leader.leo + records)
    if batch.unacknowledged:
        note_unacknowledged(lists, part, leader.leo, leader.leo + records, UNKNOWN)
        part.sent_unacknowledged += records
    leader.leo += records
    leader.log_bytes += records * record_bytes
    end_chunk(leader, settings)
    leader.produced_bytes += records * record_bytes
    leader.compares = 1
    part.appended += records


@compiled
def counts(inputs: Inputs, part: Partition, batch: Batch, moment: int) -> bool:
    """Whether T takes a batch. Of acks=all alone nothing can be lost, so that only a moment that is given shows any of it."""
    if batch.acked_on_append:
        return True
    return moment != NOT_GIVEN and is_enough(part, inputs.settings[part.settings], size(part.known_isr))


@compiled
def brought(records: int, moment: int) -> int:
    """How many records of a batch clients have sent by a moment."""
    return records * max(moment, 0) // MOMENTS


@compiled
def end_of_fetches(inputs: Inputs, replicas: Rows[Replica], moment: int, slot: int) -> int:
    """The moment up to which a follower that is level fetches: T's, or an earlier one at which it stops itself."""
    follower, end = replicas[slot], max(moment, 0)
    if follower.status & OFFLINE:
        end = min(end, max(inputs.spans[follower.span].moment, 0))
    return 0 if follower.status & PAUSED else end


@compiled
def records_lacking(inputs: Inputs, part: Partition, replicas: Rows[Replica], moment: int, slot: int, records: int) -> int:
    """How many of a batch's records T has appended since the follower's last fetch."""
    if moment == MOMENTS:
        return records
    scenario, follower, leader = inputs.scenarios[part.scenario], replicas[slot], replicas[part.client_leader]
    fetches = scenario.fetches_per_round
    if fetches:
        end = end_of_fetches(inputs, replicas, moment, slot)
        return brought(records, end) - records * (end * fetches // MOMENTS) // fetches
    # Half of a fetch ago on average, with its wait.
    whole_us, lag_us = 2 * scenario.round_us, round_trip_us(inputs, scenario, leader, follower, slot) + scenario.fetch_wait_us
    if lag_us >= whole_us:
        return records
    lacking, rest = records * lag_us // whole_us, records * lag_us % whole_us
    if (rest << DRAW_BITS) + drawn(scenario.draws, part.number, part.now) * whole_us >= whole_us << DRAW_BITS:
        lacking += 1
    return min(records, lacking)


@compiled
def records_fetched(inputs: Inputs, part: Partition, replicas: Rows[Replica], moment: int, slot: int, appended: int) -> int:
    """How many of the records that T appended a follower has."""
    pattern, end = inputs.patterns[inputs.workload[part.workload].pattern], end_of_fetches(inputs, replicas, moment, slot)
    sent, lacking, begin = 0, 0, 0
    for at in range(pattern.first_batch, pattern.first_batch + pattern.batch_count):
        batch = inputs.batches[at]
        if counts(inputs, part, batch, moment):
            sent += brought(batch.end - begin, end)
            lacking += records_lacking(inputs, part, replicas, moment, slot, batch.end - begin)
        begin = batch.end
    return max((appended if end == max(moment, 0) else sent) - lacking, 0)


@compiled
def fetch_moments(lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], slot: int, end_offset: int) -> None:
    """A follower has T's records up to an offset."""
    follower, leader = replicas[slot], replicas[part.client_leader]
    follower.compares = 1
    if end_offset > follower.leo:
        follower.fetch_epoch = follower.believed_epoch
        at = run_with(lists.runs, leader.runs, follower.leo)
        begin_bytes = bytes_at(lists.runs, inputs, leader, follower.leo)
        append_chunk(lists, inputs, part, follower, leader, inputs.settings[part.settings], at, begin_bytes, end_offset)


def draws_of_seed(seed: int) -> int:
    """What draws begin with: a scenario's seed, of 64 bits."""
    return mixed((seed ^ seed >> 32) & LOW_BITS ^ 0x9E3779B9)


@compiled
def drawn(draws: int, number: int, round_: int) -> int:
    """A number below 2^DRAW_BITS, of the scenario's seed (`draws_of_seed`), a partition and a round."""
    return mixed(mixed(int(draws ^ number)) ^ int(round_ & LOW_BITS)) >> (32 - DRAW_BITS)


@compiled
def mixed(bits: int) -> int:
    """The finalizer of MurmurHash3 (Appleby): each of 32 bits depends on all of them."""
    bits ^= bits >> 16
    bits = bits * 0x85EBCA6B & LOW_BITS
    bits ^= bits >> 13
    bits = bits * 0xC2B2AE35 & LOW_BITS
    return bits ^ bits >> 16
