"""Followers and their leaders: the fetch request (step 4) and its response (7).

Choices where docs/kafka_rounds.md is silent:

* "Caught up" never goes back in time: a fetch that reached the leader's LEO of the previous noted fetch sets
  max(caught up, previous round). An election forgets the previous fetch (Partition.Replica.resetReplicaState).
* A last fetched epoch above the leader's cache, or a leader with an empty cache, has no end offset: OUT_OF_RANGE, and
  the follower truncates to the leader's LEO if above it, else nothing changes; nothing noted. Only odd initial logs
  get there.
* After a diverging answer the follower cuts to min(LEO, end, own end offset for e); if it knows nothing of e the last
  term is its first entry's start, or its LEO when the epoch is above its last. The log start follows a cut below it.
* `truncated` counts records, not offsets: an empty log that starts again elsewhere cuts none. OUT_OF_RANGE below the
  log start raises the LEO: no event.
* The high watermark of a replica never falls below its log start (UnifiedLog.updateHighWatermark), neither here nor
  at a restart.
* A follower in the middle of a batch gets the rest of it, and only these bytes count.
* "If data came": if at least one batch arrived. A fetch that a slow link leaves without a whole batch is answered
  like an empty one.
* The credit of a slow link changes only with a data answer that arrives (also an empty one); it is 0 when no limit
  holds. rate * round_ms / 1000 is rounded down.
* After OUT_OF_RANGE the flushed offset is the new log start; the HW checkpoint stays as it was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .broker_status import slowest_rate_bytes_per_second
from .leading import append_chunk
from .log import UNDEFINED, Log, Record
from .partition import NO_LEADER, Partition, Replica

DIVERGING, BELOW_LOG_START, ABOVE_LEO, DATA = "diverging", "below_log_start", "above_leo", "data"


@dataclass(frozen=True)
class Answer:
    """What a leader says to one fetch; `end` belongs to DIVERGING: (epoch, end offset)."""

    follower: int
    leader: int
    kind: str
    end: tuple[int, int] = UNDEFINED


def fetch(partition: Partition) -> list[Answer]:
    """Followers ask, leaders answer and take note; nothing of any log changes yet.

    Returns the answers, also those that will be lost on the way; `partition.noted` maps followers to noted offsets.
    """
    partition.noted = {}
    answers = []
    for broker in partition.controller.replicas:
        follower = partition.replicas[broker]
        leader = _asked_leader(partition, follower)
        if leader is None:
            continue
        if follower.believed_epoch != leader.leading_epoch:
            partition.coverage["fenced_or_unknown_epoch"] += 1
            continue
        answer = _answer(follower, leader)
        if answer is None:
            partition.coverage["no_end_offset"] += 1
            continue
        answers.append(answer)
        if answer.kind == DATA:
            _note(partition, follower, leader)
    return answers


def _asked_leader(partition: Partition, follower: Replica) -> Replica | None:
    """The replica that gets the follower's fetch and answers it, if any."""
    broker, believed = follower.broker, follower.believed_leader
    if not partition.status(broker).running or broker == partition.controller.leader:
        return None
    if believed in (NO_LEADER, broker) or believed not in partition.replicas:
        return None
    leader = partition.replicas[believed]
    if not partition.message_passes(broker, believed):
        return None
    return leader if partition.status(believed).running and leader.leading_epoch is not None else None


def _answer(follower: Replica, leader: Replica) -> Answer | None:
    """The answer to a fetch in the right leader epoch, or None if it changes nothing."""
    mine, theirs = follower.log, leader.log
    ids = (follower.broker, leader.broker)
    if mine.leo < theirs.log_start:
        return Answer(*ids, BELOW_LOG_START)
    last_epoch = mine.cache.latest
    if last_epoch is None:
        return Answer(*ids, ABOVE_LEO if mine.leo > theirs.leo else DATA)
    end = theirs.cache.end_offset_for(last_epoch, theirs.leo)
    if end == UNDEFINED:
        return Answer(*ids, ABOVE_LEO) if mine.leo > theirs.leo else None
    if end[0] < last_epoch or end[1] < mine.leo:
        return Answer(*ids, DIVERGING, end)
    return Answer(*ids, DATA)


def _note(partition: Partition, follower: Replica, leader: Replica) -> None:
    leadership = partition.leadership
    if leadership is None or leadership.broker != leader.broker or leadership.epoch != leader.leading_epoch:
        partition.coverage["superseded_leader_served"] += 1
        return
    partition.noted[follower.broker] = follower.log.leo
    progress = leadership.progress[follower.broker]
    progress.remote_leo = follower.log.leo
    if follower.log.leo >= leader.log.leo:
        progress.caught_up_round = partition.now
    elif progress.previous_leader_leo is not None and follower.log.leo >= progress.previous_leader_leo:
        assert progress.previous_round is not None
        progress.caught_up_round = max(progress.previous_round, progress.caught_up_round or 0)
    progress.previous_round, progress.previous_leader_leo = partition.now, leader.log.leo


def respond(partition: Partition, answers: list[Answer], hw_at_start: Mapping[int, int]) -> None:
    """Every answer that arrives changes its follower."""
    for answer in answers:
        if not partition.message_passes(answer.leader, answer.follower):
            partition.coverage["answer_lost"] += 1
            continue
        follower, leader = partition.replicas[answer.follower], partition.replicas[answer.leader]
        partition.coverage[f"answer_{answer.kind}"] += 1
        if answer.kind == DATA:
            _take_data(partition, follower, leader, hw_at_start[leader.broker])
        elif answer.kind == BELOW_LOG_START:
            partition.ledger.counts["truncated"] += follower.log.restart_at(leader.log.log_start)
            follower.hw = follower.log.leo
        elif answer.kind == ABOVE_LEO:
            _truncate(partition, follower, leader.log.leo)
        else:
            _truncate(partition, follower, _truncation_offset(follower.log, answer.end))


def _truncation_offset(log: Log, end: tuple[int, int]) -> int:
    epoch, end_offset = end
    own = log.cache.end_offset_for(epoch, log.leo)
    return min(log.leo, end_offset, log.leo if own == UNDEFINED else own[1])


def _truncate(partition: Partition, follower: Replica, offset: int) -> None:
    old_leo, old_start = follower.log.leo, follower.log.log_start
    partition.ledger.counts["truncated"] += follower.log.truncate_to(offset)
    follower.lower_hw(follower.hw)
    if follower.log.leo < old_leo:
        partition.ledger.event(partition.now, "truncate", follower.broker, follower.believed_epoch, old_leo, follower.log.leo)
        partition.coverage["truncate_to_0"] += follower.log.leo == 0
        partition.coverage["truncate_below_log_start"] += follower.log.leo < old_start
    else:
        partition.coverage["truncate_cache_only"] += 1


def _take_data(partition: Partition, follower: Replica, leader: Replica, leader_hw_at_start: int) -> None:
    chunk = _deliver(partition, follower, leader)
    if chunk:
        append_chunk(partition, follower, chunk)
        partition.ledger.counts["replicated_bytes"] += sum(record.size_bytes for record in chunk)
    hw_before = follower.hw
    at_once = bool(chunk) or not partition.settings.fetch_waits(follower.broker)
    follower.lower_hw(leader_hw_at_start if at_once else leader.hw)
    partition.coverage["follower_hw_down"] += follower.hw < hw_before
    if follower.log.log_start < leader.log.log_start <= follower.hw:
        follower.log.raise_log_start(leader.log.log_start)
        partition.coverage["follower_log_start_up"] += 1


def _deliver(partition: Partition, follower: Replica, leader: Replica) -> list[Record]:
    """The whole batches that one response brings, within the fetch size and what a slow link lets through."""
    rate = slowest_rate_bytes_per_second(leader.broker, follower.broker, partition.faults, partition.now)
    allowance = None
    if rate is not None:
        allowance = follower.credit_bytes + rate * partition.settings.round_ms // 1000
    limit = partition.settings.fetch_max_bytes(follower.broker)
    chunk: list[Record] = []
    taken_bytes = 0
    batches = leader.log.batches_from(follower.log.leo)
    for batch in batches:
        batch_bytes = sum(record.size_bytes for record in batch)
        over_limit = bool(chunk) and taken_bytes + batch_bytes > limit
        over_allowance = allowance is not None and taken_bytes + batch_bytes > allowance
        if over_limit or over_allowance:
            partition.coverage["fetch_size_limited"] += over_limit
            partition.coverage["slow_limited"] += over_allowance
            break
        chunk += batch
        taken_bytes += batch_bytes
    waits = follower.log.leo + len(chunk) < leader.log.leo
    follower.credit_bytes = allowance - taken_bytes if allowance is not None and waits else 0
    return chunk
