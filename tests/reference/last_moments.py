"""What a leader appends until its broker dies, and who has it (docs/kafka_rounds.md, Last moments), batch by batch.

Choices where the page is silent:

* Before round 0 every broker ran, and none was isolated.
* A fault of the round without a moment makes the moment not given, whatever others of the round say.
* A follower that a controlled shutdown stops counts as stopped by another dead fault of the same round, if there is one.
* A case that says nothing of a seed or its number has 0 of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from .broker_status import KILLING_KINDS, concerns, kind_at_broker, longest_round_trip_us
from .fetching import DATA, answer_by_protocol
from .leading import append_chunk, records_due
from .log import Record
from .partition import Leadership, Partition, Replica

MILLION = 1_000_000
AFTER_APPEND = MILLION
"""Later than any fraction of a round; all moments are in millionths."""
DRAW_BITS = 20
_MASK = 0xFFFFFFFF


@dataclass(frozen=True)
class Moment:
    """When in the round a broker stops; `given`: some fault says so."""

    millionths: int
    given: bool

    def brought(self, records: int) -> int:
        """How many of a round's records came until then."""
        return records if self.millionths == AFTER_APPEND else self.millionths * records // MILLION


@dataclass(frozen=True)
class Batch:
    """What a workload row brings in the round, and its place in the file."""

    index: int
    records: int
    record_bytes: int
    acks: str


def play_last_moments(partition: Partition) -> None:
    """T, whose broker dies in this round, appends what came until then; who kept up has it but for what it had not fetched."""
    leadership, leader = partition.leadership, partition.client_leader
    if leadership is None or leader is None or leader.leading_epoch != leadership.epoch:
        return
    status = partition.status(leader.broker)
    moment = moment_of(partition, leader.broker)
    if moment is None or not status.offline or status.clients_cut or not _ran_before(partition, leader.broker):
        return
    batches = _batches(partition, leadership, moment)
    lacking = {
        follower.broker: [_lacks(partition, follower, leader, moment, batch) for batch in batches]
        for follower in partition.replicas.values()
        if follower is not leader and _is_level(partition, follower, leader)
    }
    most = [max((lacks[at] for lacks in lacking.values()), default=0) for at in range(len(batches))]
    appended = _append(partition, leadership, leader, batches, moment, most)
    for broker, lacks in lacking.items():
        own = _moment_of_follower(partition, broker, moment)
        whole = len(appended) if own == moment else sum(own.brought(batch.records) for batch in batches)
        chunk = appended[: max(whole - sum(lacks), 0)]
        if chunk:
            size_bytes = append_chunk(partition, partition.replicas[broker], chunk)
            partition.carried.append((partition.now, leader.broker, broker, size_bytes))
            partition.ledger.counts["replicated_bytes"] += size_bytes
            partition.coverage["last_moments_fetched"] += 1
        partition.coverage["last_moments_lacked"] += len(chunk) < len(appended)
    partition.appended_before = partition.ledger.counts["appended"]  # step 10 is of what step 3 appended


def moment_of(partition: Partition, broker: int) -> Moment | None:
    """When in this round dead faults begin on the broker, other than a controlled shutdown; None: none does."""
    rack = partition.case["racks"].get(broker)
    begun = [
        fault.get("moment")
        for fault in partition.faults
        if fault["from_round"] == partition.now and kind_at_broker(fault) in KILLING_KINDS and concerns(fault, broker, rack)
    ]
    if not begun:
        return None
    if None in begun:
        return Moment(0, False)
    return Moment(min(AFTER_APPEND if said == "after-append" else round(said * MILLION) for said in begun), True)


def _ran_before(partition: Partition, broker: int) -> bool:
    return partition.now == 0 or partition.history[broker][partition.now - 1].running


def _were_apart(partition: Partition, one: int, other: int) -> bool:
    before = partition.now - 1
    if before < 0 or not any(partition.history[broker][before].isolated for broker in (one, other)):
        return False
    return not partition.are_rack_mates(one, other, before)


def _batches(partition: Partition, leadership: Leadership, moment: Moment) -> list[Batch]:
    """What counts of the round's workload."""
    isr_is_enough = len(leadership.known_isr) >= partition.min_insync_replicas
    rows = enumerate(partition.case.get("workload", []))
    round_ms, most = partition.settings.round_ms, partition.settings.max_message_bytes
    batches = [Batch(at, records_due(row, partition.now, round_ms), row["record_bytes"], str(row["acks"])) for at, row in rows]
    batches = [b for b in batches if b.record_bytes <= most]
    return [b for b in batches if b.records > 0 and (b.acks != "all" or (moment.given and isr_is_enough))]


def _is_level(partition: Partition, follower: Replica, leader: Replica) -> bool:
    assert partition.leadership is not None
    broker = follower.broker
    if not _ran_before(partition, broker) or _were_apart(partition, broker, leader.broker):
        return False
    if broker not in partition.controller.replicas or follower.truncating or not partition.may_fetch(follower):
        return False
    if (follower.believed_leader, follower.believed_epoch) != (leader.broker, partition.leadership.epoch):
        return False
    if follower.log.leo != leader.log.leo:
        return False
    if not (partition.message_passes(broker, leader.broker) and partition.message_passes(leader.broker, broker)):
        return False
    answer = answer_by_protocol(partition, follower, leader, {})
    return answer is not None and answer.kind == DATA


def _moment_of_follower(partition: Partition, broker: int, moment: Moment) -> Moment:
    """Up to when the follower fetched, at the latest until the leader died."""
    status = partition.status(broker)
    own = moment_of(partition, broker) if status.offline else None
    if own is None and (status.paused or status.offline):
        own = Moment(0, True)
    return moment if own is None else min(moment, own, key=lambda of: of.millionths)


def _lacks(partition: Partition, follower: Replica, leader: Replica, moment: Moment, batch: Batch) -> int:
    """How many records of the batch the follower had not fetched when it, or the leader, stopped."""
    if moment.millionths == AFTER_APPEND:
        return batch.records
    fetching, round_us = partition.fetching, partition.settings.round_ms * 1000
    fetches = fetching["fetches_per_round"]
    if fetches is not None:
        own = _moment_of_follower(partition, follower.broker, moment)
        last_fetch = own.millionths * fetches // MILLION
        return own.brought(batch.records) - batch.records * last_fetch // fetches
    trip_us = longest_round_trip_us(leader.broker, follower.broker, partition.slow, partition.now)
    if trip_us is None:
        trip_us = round(fetching["fetch_round_trip_ms"] * 1000)
    trip_us += partition.case.get("fetch_wait_us", 0)
    lag_us, whole = batch.records * trip_us, 2 * round_us  # half the round trip
    number = drawn(int(partition.case.get("seed", 0)), int(partition.case.get("number", 0)), partition.now)
    return min(batch.records, ((lag_us << DRAW_BITS) + number * whole) // (whole << DRAW_BITS))


def _append(
    partition: Partition, leadership: Leadership, leader: Replica, batches: list[Batch], moment: Moment, most: list[int]
) -> list[Record]:
    """T appends what everybody may have of every batch, then what somebody lacks of every batch. Returns the records."""
    totals = [max(moment.brought(batch.records), lacked) for batch, lacked in zip(batches, most, strict=True)]
    parts = [(batch, total - lacked) for batch, total, lacked in zip(batches, totals, most, strict=True)]
    parts += list(zip(batches, most, strict=True))
    appended: list[Record] = []
    for batch, count in parts:
        if count == 0:
            continue
        first, name = leader.log.leo, (partition.now, leadership.epoch, batch.index)
        records = [Record(leadership.epoch, first + i, name, batch.record_bytes) for i in range(count)]
        size_bytes = append_chunk(partition, leader, records)
        partition.ledger.counts["appended"] += count
        partition.produced.append((partition.now, leader.broker, size_bytes))
        if batch.acks == "0":
            partition.ledger.send(records)
        elif batch.acks == "1":
            partition.ledger.acknowledge(records)
        appended += records
        partition.coverage["last_moments"] += 1
    return appended


def drawn(seed: int, number: int, round_: int) -> int:
    """The number of 20 bits that a partition draws in a round."""
    found = _mix((seed ^ seed >> 32) & _MASK ^ 0x9E3779B9)
    found = _mix(found ^ number)
    return _mix(found ^ round_ & _MASK) >> 32 - DRAW_BITS


def _mix(number: int) -> int:
    """The finalizer of MurmurHash3, 32 bits."""
    number ^= number >> 16
    number = number * 0x85EBCA6B & _MASK
    number ^= number >> 13
    number = number * 0xC2B2AE35 & _MASK
    return number ^ number >> 16
