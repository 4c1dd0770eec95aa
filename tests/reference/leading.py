"""What T does in a round: append (step 3), join and shrink (5), advance the high watermark (6).

Choices where docs/kafka_rounds.md is silent:

* flush.messages is looked at after every chunk.
* In the round that confirms them: who was to leave is not shrunk again and can't join; who was to join does not shrink.
* A joiner that lags joins and leaves in the same round; both count.
* The second pass of the high watermark takes the maximal ISR anew over the shrunk ISR ("without the shrunk"); shrinks
  that stay pending still count. It is made only when members left.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from .elr import change_isr
from .log import Record, bytes_of
from .partition import Leadership, Partition, Replica


def append_chunk(partition: Partition, replica: Replica, chunk: Sequence[Record]) -> int:
    """Append one batch of a leader, or one response of a follower: roll first, flush after. Returns its bytes."""
    settings, log, size_bytes = partition.settings, replica.log, bytes_of(chunk)
    if log.roll_if_due(size_bytes, partition.now, settings.segment_bytes, settings.segment_rounds):
        partition.ledger.event(partition.now, "segment_roll", replica.broker, replica.believed_epoch, log.leo)
        partition.coverage["segment_roll"] += 1
    log.append(chunk, size_bytes, partition.now)
    if settings.flush_messages is not None and log.leo - log.flushed >= settings.flush_messages:
        log.flushed = log.leo
    return size_bytes


def append(partition: Partition) -> None:
    """T takes what its clients send in this round, and their order to delete records."""
    working = partition.working_leader()
    refused_before, partition.refusing = partition.refusing, None
    partition.taken_on_append = 0
    if working is None or partition.status(working[0].broker).clients_cut:
        return
    leadership, replica = working
    refused = 0
    isr_is_enough = len(partition.isr_known_to(leadership)) >= partition.min_insync_replicas
    rows = partition.case.get("workload", [])
    if partition.clients is not None:
        sent = partition.clients.sent(partition.now)
    else:
        sent = [(partition.now, at, records_due(row, partition.now, partition.case["round_ms"])) for at, row in enumerate(rows)]
    for due_in, index, count in sent:
        row = rows[index]
        if count == 0:
            continue
        too_large = row["record_bytes"] > partition.settings.max_message_bytes
        if too_large or (str(row["acks"]) == "all" and not isr_is_enough):
            refused += count
            continue
        first = replica.log.leo
        batch = (due_in, leadership.epoch, index)
        records = [Record(leadership.epoch, first + i, batch, row["record_bytes"]) for i in range(count)]
        size_bytes = append_chunk(partition, replica, records)
        partition.ledger.counts["appended"] += count
        partition.produced.append((partition.now, replica.broker, size_bytes))
        partition.taken_on_append += 0 if str(row["acks"]) == "all" else count
        if str(row["acks"]) == "0":
            partition.ledger.send(records)
        elif str(row["acks"]) == "1":
            partition.ledger.acknowledge(records)
        _cover_append(partition, leadership)
    if refused:
        partition.ledger.counts["refused"] += refused
        leo, partition.refusing = replica.log.leo, (replica.broker, refused)
        if partition.refusing == refused_before:
            partition.ledger.refuse_on(replica.broker, refused)
        else:
            partition.ledger.event(partition.now, "refused", replica.broker, leadership.epoch, leo, leo + refused)
    _delete_records(partition, leadership, replica)


def records_due(row: Mapping[str, Any], now: int, round_ms: int) -> int:
    """Records of a row in a round; of a rate in seconds, what brings the row to floor(rate x time since its start)."""
    to_round = row.get("to_round")
    if now < row["from_round"] or (to_round is not None and now >= to_round):
        return 0
    if row.get("records_per_second") is None:
        return int(row["records_per_round"])
    passed = now - row["from_round"]
    before, after = (records_by(row["records_per_second"], rounds * round_ms) for rounds in (passed, passed + 1))
    return after - before


def records_by(records_per_second: float, ms: int) -> int:
    """floor(rate x time), with the rate as it is written."""
    return math.floor(Decimal(str(records_per_second)) * ms / 1000)


def _cover_append(partition: Partition, leadership: Leadership) -> None:
    if partition.controller.leader != leadership.broker:
        partition.coverage["zombie_append_without_leader"] += 1
    if partition.status(leadership.broker).isolated:
        partition.coverage["zombie_append_isolated"] += 1
    if partition.status(leadership.broker).waking:
        partition.coverage["zombie_append_waking"] += 1


def _delete_records(partition: Partition, leadership: Leadership, replica: Replica) -> None:
    log_start = replica.log.log_start
    for command in partition.case.get("commands", []):
        if command["round"] != partition.now or command["kind"] != "delete_records":
            continue
        offset = replica.hw if command["offset"] == -1 else command["offset"]
        if replica.log.log_start < offset <= replica.hw:
            replica.log.raise_log_start(offset)
            partition.coverage["delete_records"] += 1
    if replica.log.log_start > log_start:
        partition.ledger.event(
            partition.now, "records_deleted", replica.broker, leadership.epoch, to_offset=replica.log.log_start
        )


def join_and_shrink(partition: Partition, hw_at_start: Mapping[int, int]) -> None:
    """T lets followers into the ISR and throws laggards out, and then advances its high watermark.

    The watermark is taken over the ISR with the joins, and again without those that left.
    """
    working = partition.working_leader()
    if working is None:
        return
    leadership, replica = working
    known = set(partition.isr_known_to(leadership))
    hears = partition.controller_up and not partition.is_untold(replica.broker)
    if hears and leadership.asked_in_vain:
        partition.coverage["change_refused"] += 1
        leadership.pending_joins, leadership.pending_shrinks = set(), set()
    joiners = {
        broker
        for broker, offset in partition.noted.items()
        if broker not in known | leadership.pending_joins | leadership.pending_shrinks
        and partition.is_unfenced(broker)
        and _has_caught_up(offset, *_needed_to_join(partition, leadership, hw_at_start[replica.broker]))
    }
    if not hears:
        if not leadership.pending_joins | leadership.pending_shrinks:
            _ask_for_one_change(partition, leadership, replica, known, joiners)
        _advance_high_watermark(partition, leadership, replica, known, len(known), known)
        return
    shrunk = _laggards(partition, leadership, replica, (known | joiners) - leadership.pending_shrinks)
    partition.coverage["pending_join_confirmed"] += len(leadership.pending_joins)
    partition.coverage["pending_shrink_confirmed"] += len(leadership.pending_shrinks)
    joins = joiners | {broker for broker in leadership.pending_joins - known if partition.is_unfenced(broker)}
    shrinks = (shrunk | leadership.pending_shrinks) & (known | joins)
    leadership.pending_joins, leadership.pending_shrinks, leadership.asked_in_vain = set(), set(), False
    _advance_high_watermark(partition, leadership, replica, known | joins, len(known | joins), known)
    _confirm(partition, replica, joins, shrinks)
    if shrinks:
        members = set(partition.controller.isr)
        _advance_high_watermark(partition, leadership, replica, members, len(members), known - shrinks)


def _ask_for_one_change(
    partition: Partition, leadership: Leadership, replica: Replica, known: set[int], joiners: set[int]
) -> None:
    """What T's one AlterPartition asks for, which stays without an answer: one joiner, or else who is to leave."""
    if joiners:
        leadership.pending_joins = {next(broker for broker in partition.controller.replicas if broker in joiners)}
    else:
        leadership.pending_shrinks = _laggards(partition, leadership, replica, known)
    partition.coverage["pending_join"] += len(leadership.pending_joins)
    partition.coverage["pending_shrink"] += len(leadership.pending_shrinks)


def _needed_to_join(partition: Partition, leadership: Leadership, hw_at_start: int) -> tuple[int, int]:
    """What a joiner has to reach: T's high watermark and, not in the variants, the start of T's epoch."""
    rules = partition.rules
    epoch_start_counts = partition.protocol == "kafka" and rules.join_at_epoch_start
    return hw_at_start if rules.join_at_high_watermark else 0, leadership.start_offset if epoch_start_counts else 0


def _has_caught_up(offset: int, hw_at_start: int, epoch_start: int) -> bool:
    return offset >= max(hw_at_start, epoch_start)


def _laggards(partition: Partition, leadership: Leadership, replica: Replica, members: set[int]) -> set[int]:
    if not partition.settings.is_due(partition.now, partition.settings.isr_check_ms):
        return set()
    return {
        broker
        for broker in members - {replica.broker}
        if leadership.progress[broker].remote_leo != replica.log.leo and not _caught_up_lately(partition, leadership, broker)
    }


def _caught_up_lately(partition: Partition, leadership: Leadership, broker: int) -> bool:
    caught_up_round = leadership.progress[broker].caught_up_round
    if caught_up_round is None:
        return False
    lag_ms = (partition.now - caught_up_round) * partition.settings.round_ms
    return lag_ms <= partition.settings.lag_time_max_ms


def _confirm(partition: Partition, replica: Replica, joins: set[int], shrinks: set[int]) -> None:
    ledger, controller = partition.ledger, partition.controller
    for broker in sorted(joins):
        ledger.counts["isr_expands"] += 1
        ledger.event(partition.now, "isr_expand", broker, controller.epoch, cause=partition.cause_of(broker))
        offset = partition.noted.get(broker)
        partition.coverage["joined_below_leo"] += offset is not None and offset < replica.log.leo
    for broker in sorted(shrinks):
        ledger.counts["isr_shrinks"] += 1
        ledger.event(partition.now, "isr_shrink", broker, controller.epoch, cause=partition.cause_of(broker))
        partition.coverage["lag_shrink"] += 1
        partition.coverage["joined_and_shrunk"] += broker in joins
    if joins:
        change_isr(partition, controller.isr | joins)
    if shrinks:
        change_isr(partition, controller.isr - shrinks)


def _advance_high_watermark(
    partition: Partition, leadership: Leadership, replica: Replica, members: set[int], isr_size: int, known_isr: set[int]
) -> None:
    """Raise T's high watermark to what the maximal ISR over `members` has, if the ISR is big enough.

    `known_isr` is the ISR without this round's joins, which a mutant is content with.
    """
    if isr_size < partition.min_insync_replicas and partition.rules.hold_below_min_isr:
        partition.coverage["hw_held_by_min_isr"] += 1
        return
    leo = replica.log.leo
    catching_up = {
        broker
        for broker in partition.controller.replicas
        if partition.is_unfenced(broker)
        and broker != replica.broker
        and (leadership.progress[broker].remote_leo == leo or _caught_up_lately(partition, leadership, broker))
    }
    partition.coverage["hw_held_by_outsider"] += bool(catching_up - members - leadership.pending_joins)
    maximal_isr = members | leadership.pending_joins | catching_up
    awaited = maximal_isr if partition.rules.wait_for_maximal_isr else known_isr
    offsets = [leadership.progress[broker].remote_leo or 0 for broker in awaited - {replica.broker}]
    reached = min([leo, *offsets])
    if reached > replica.hw:
        # What is below its high watermark so far was committed, and what it appended of that acknowledged.
        before, replica.hw = replica.hw, reached
        owes_from = leadership.start_offset if leadership.owes_from is None else leadership.owes_from
        partition.ledger.acknowledge(replica.log.slice(max(owes_from, before), reached))
        partition.ledger.commit(replica.log, reached, before)
        partition.coverage["committed_in_cut_rack"] += partition.status(replica.broker).isolated and bool(offsets)
