"""Followers and their leaders: the fetch request (step 4) and its response (7); what the variants ask is in truncation.py.

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
* A case that says nothing of how many fetches a round holds is of one.
* A round's fetches end with the first that brings nothing: the log's end, or the allowance, is reached.
* "If data came": if at least one batch arrived. A fetch that a slow link leaves without a whole batch is answered
  like an empty one.
* The credit of a slow link changes only with a data answer that arrives (also an empty one); it is 0 when no limit
  holds. rate * round_ms / 1000 is rounded down.
* After OUT_OF_RANGE the flushed offset is the new log start; the HW checkpoint stays as it was written.
* In the variants too "noted if B = T" means a T that knows of its epoch, whatever the follower believes in.
* An out-of-order append changes nothing of the follower, but its fetch was noted. "Inside a batch" needs both records in
  B's log: at B's log start no batch lies before.
* `fetch_state` of a variant: null when no request leaves (also when the link drops it); asked when a question was
  answered and the answer arrived; unanswered when nothing came back; out_of_order; truncated when the LEO fell (above
  the leader's LEO); out_of_range (below its log start); fetched or empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .broker_status import longest_round_trip_us, slowest_rate_bytes_per_second
from .leading import append_chunk
from .log import UNDEFINED, Record, bytes_of
from .partition import NO_LEADER, LateResponse, Partition, Replica
from .settings import fetching_of
from .truncation import LogEnds, answer_question, cut, is_inside_batch, take_answer

DIVERGING, BELOW_LOG_START, ABOVE_LEO, DATA = "diverging", "below_log_start", "above_leo", "data"
EPOCH_END = "epoch_end"


@dataclass(frozen=True)
class Answer:
    """What a leader says to one fetch or question; `end` belongs to DIVERGING and EPOCH_END: (epoch, end offset)."""

    follower: int
    leader: int
    kind: str
    end: tuple[int, int] = UNDEFINED


def fetch(partition: Partition, ends_at_start: Mapping[int, LogEnds]) -> list[Answer]:
    """Followers ask, leaders answer and take note; nothing of any log changes yet.

    Returns the answers, also those that will be lost on the way; `partition.noted` maps followers to noted offsets.
    """
    partition.noted, partition.fetch_states = {}, {}
    answers = []
    for broker in partition.controller.replicas:
        follower = partition.replicas[broker]
        if not partition.may_fetch(follower) or not can_send(partition, follower):
            continue
        partition.fetch_states[broker] = "unanswered"
        leader = answering_leader(partition, follower)
        if leader is None:
            continue
        answer = answer_by_protocol(partition, follower, leader, ends_at_start)
        if answer is None:
            continue
        answers.append(answer)
        if answer.kind == DATA:
            _note(partition, follower, leader)
    return answers


def can_send(partition: Partition, follower: Replica) -> bool:
    """Whether the follower sends a request that gets to somebody."""
    broker, believed = follower.broker, follower.believed_leader
    if not partition.status(broker).running or broker == partition.controller.leader:
        return False
    return believed not in (NO_LEADER, broker) and partition.message_passes(broker, believed)


def answering_leader(partition: Partition, follower: Replica) -> Replica | None:
    """The replica that the follower believes in, if it runs and leads, in whatever epoch."""
    leader = partition.replicas.get(follower.believed_leader)
    if leader is None or not partition.status(leader.broker).running:
        return None
    return leader if leader.leading_epoch is not None else None


def answer_by_protocol(
    partition: Partition, follower: Replica, leader: Replica, ends_at_start: Mapping[int, LogEnds]
) -> Answer | None:
    """What the leader says; None: nothing that changes anything. `ends_at_start`: what questions are answered from."""
    if partition.protocol != "kafka":
        if follower.truncating:
            end = answer_question(partition.protocol, follower.log.cache.latest, ends_at_start[leader.broker])
            return Answer(follower.broker, leader.broker, EPOCH_END, end)
        return _answer_without_epochs(follower, leader)
    if follower.believed_epoch != leader.leading_epoch and partition.rules.fetch_in_leader_epoch:
        partition.coverage["fenced_or_unknown_epoch"] += 1
        return None
    if not partition.rules.check_every_fetch and _is_in_line(partition, follower, leader):
        kind = BELOW_LOG_START if follower.log.leo < leader.log.local_log_start else DATA
        return Answer(follower.broker, leader.broker, kind)
    answer = _answer(follower, leader)
    partition.coverage["no_end_offset"] += answer is None
    return answer


def _answer(follower: Replica, leader: Replica) -> Answer | None:
    """The answer to a fetch in the right leader epoch, or None if it changes nothing."""
    mine, theirs = follower.log, leader.log
    ids = (follower.broker, leader.broker)
    if mine.leo < theirs.log_start:
        return Answer(*ids, BELOW_LOG_START)
    last_epoch = mine.cache.latest
    if last_epoch is None:
        if mine.leo < theirs.local_log_start:
            return Answer(*ids, BELOW_LOG_START)
        return Answer(*ids, ABOVE_LEO if mine.leo > theirs.leo else DATA)
    end = theirs.cache.end_offset_for(last_epoch, theirs.leo)
    if end == UNDEFINED:
        return Answer(*ids, ABOVE_LEO) if mine.leo > theirs.leo else None
    if end[0] < last_epoch or end[1] < mine.leo:
        return Answer(*ids, DIVERGING, end)
    return Answer(*ids, BELOW_LOG_START if mine.leo < theirs.local_log_start else DATA)


def _answer_without_epochs(follower: Replica, leader: Replica) -> Answer:
    """The answer to a fetch of a variant, which carries no epoch at all."""
    mine, theirs = follower.log, leader.log
    ids = (follower.broker, leader.broker)
    if mine.leo < theirs.log_start:
        return Answer(*ids, BELOW_LOG_START)
    return Answer(*ids, ABOVE_LEO if mine.leo > theirs.leo else DATA)


def _leads_clients(partition: Partition, leader: Replica) -> bool:
    """Whether what this leader notes counts: it is T, and knows that it leads in T's epoch."""
    leadership = partition.leadership
    if leadership is None or leadership.broker != leader.broker:
        return False
    return leadership.epoch == leader.leading_epoch


def _is_in_line(partition: Partition, follower: Replica, leader: Replica) -> bool:
    """Whether T noted the follower before, or believes that it did (`Rules.check_every_fetch`)."""
    assert partition.leadership is not None
    return _leads_clients(partition, leader) and partition.leadership.progress[follower.broker].in_line


def _note(partition: Partition, follower: Replica, leader: Replica) -> None:
    leadership = partition.leadership
    if leadership is None or not _leads_clients(partition, leader):
        partition.coverage["superseded_leader_served"] += 1
        return
    partition.noted[follower.broker] = follower.log.leo
    progress = leadership.progress[follower.broker]
    progress.remote_leo, progress.in_line = follower.log.leo, True
    if follower.log.leo >= leader.log.leo:
        progress.caught_up_round = partition.now
    elif progress.previous_leader_leo is not None and follower.log.leo >= progress.previous_leader_leo:
        assert progress.previous_round is not None
        progress.caught_up_round = max(progress.previous_round, progress.caught_up_round or 0)
    progress.previous_round, progress.previous_leader_leo = partition.now, leader.log.leo


def respond(partition: Partition, answers: list[Answer], hw_at_start: Mapping[int, int]) -> None:
    """Every answer that arrives changes its follower."""
    moved = _take_late_responses(partition)
    for answer in answers:
        if not partition.message_passes(answer.leader, answer.follower):
            partition.coverage["answer_lost"] += 1
            continue
        follower, leader = partition.replicas[answer.follower], partition.replicas[answer.leader]
        if follower.broker in moved:
            continue
        partition.coverage[f"answer_{answer.kind}"] += 1
        partition.fetch_states[follower.broker] = _take(partition, follower, leader, answer, hw_at_start[leader.broker])


def _take(partition: Partition, follower: Replica, leader: Replica, answer: Answer, leader_hw_at_start: int) -> str:
    """Do what the answer asks for. Returns the state of the follower's fetching."""
    if answer.kind == DATA:
        return _take_data(partition, follower, leader, leader_hw_at_start)
    if answer.kind == EPOCH_END:
        take_answer(partition, follower, answer.end)
        return "asked"
    if answer.kind == BELOW_LOG_START:
        return partition.start_again(follower, leader)
    cut(partition, follower, leader.log.leo if answer.kind == ABOVE_LEO else _diverging_offset(partition, follower, answer.end))
    return "truncated"


def _diverging_offset(partition: Partition, follower: Replica, end: tuple[int, int]) -> int:
    """Where a diverging answer cuts the follower's log."""
    log = follower.log
    if not partition.rules.cut_by_epoch:
        return min(log.leo, follower.hw)
    epoch, end_offset = end
    own = log.cache.end_offset_for(epoch, log.leo)
    return min(log.leo, end_offset, log.leo if own == UNDEFINED else own[1])


def _take_data(partition: Partition, follower: Replica, leader: Replica, leader_hw_at_start: int) -> str:
    if partition.protocol != "kafka" and is_inside_batch(leader.log, follower.log.leo):
        partition.coverage["out_of_order"] += 1
        return "out_of_order"
    chunks = _deliver(partition, follower, leader)
    for chunk in chunks:
        size_bytes = append_chunk(partition, follower, chunk)
        partition.carried.append((partition.now, leader.broker, follower.broker, size_bytes))
        partition.ledger.counts["replicated_bytes"] += size_bytes
    partition.coverage["several_fetches"] += len(chunks) > 1
    hw_before = follower.hw
    at_once = bool(chunks) or not partition.settings.fetch_waits(follower.broker)
    follower.lower_hw(leader_hw_at_start if at_once else leader.hw)
    partition.coverage["follower_hw_down"] += follower.hw < hw_before
    if follower.log.log_start < leader.log.log_start <= follower.hw:
        follower.log.raise_log_start(leader.log.log_start)
        partition.coverage["follower_log_start_up"] += 1
    return "fetched" if chunks else "empty"


def _deliver(partition: Partition, follower: Replica, leader: Replica) -> list[list[Record]]:
    """What each fetch of the round brings: whole batches within the fetch size, and all of them what a slow link lets through."""
    rate = slowest_rate_bytes_per_second(leader.broker, follower.broker, partition.slow, partition.now)
    rates = [] if rate is None else [rate * partition.settings.round_ms // 1000]
    rates += [partition.quotas[follower.broker]] if follower.broker in partition.quotas else []
    allowance = follower.credit_bytes + min(rates) if rates else None
    waiting = leader.log.batches_from(follower.log.leo)
    chunks: list[list[Record]] = []
    fetching = partition.fetching
    most_fetches, taken_us = fetching["fetches_per_round"], 0
    while True:
        batches = _whole_batches(waiting, partition.settings.fetch_limit(follower.broker), allowance)
        if not batches:
            partition.coverage["slow_limited"] += bool(waiting)
            break
        chunk = [record for batch in batches for record in batch]
        chunk_bytes = bytes_of(chunk)
        if most_fetches is None:
            taken_us += _fetch_us(partition, fetching, leader.broker, follower.broker, chunk_bytes)
        in_round = taken_us <= partition.settings.round_ms * 1000 if most_fetches is None else len(chunks) < most_fetches
        if chunks and not in_round:
            break
        chunks.append(chunk)
        del waiting[: len(batches)]
        if allowance is not None:
            allowance -= chunk_bytes
    partition.coverage["fetch_size_limited"] += bool(waiting) and bool(batches)
    follower.credit_bytes = allowance if allowance is not None and waiting else 0
    return chunks


def _fetch_us(partition: Partition, fetching: Mapping[str, Any], leader: int, follower: int, size_bytes: int) -> int:
    """How long a fetch takes: as one that is full, or longer, if it brings a batch that is larger."""
    trip_us = longest_round_trip_us(leader, follower, partition.slow, partition.now)
    if trip_us is None:
        trip_us = round(fetching["fetch_round_trip_ms"] * 1000)
    most = max(size_bytes, partition.settings.fetch_limit(follower))
    return int(trip_us + most * 1_000_000 // fetching["fetch_bytes_per_second"])


def full_fetches(case: Mapping[str, Any], round_ms: int, limit: int, more_ms: int = 0) -> int:
    """How many fetches of `limit` bytes a round holds, with the round trip of all, each `more_ms` longer; at least one."""
    given = fetching_of(case)
    if given["fetches_per_round"] is not None:
        return int(given["fetches_per_round"])
    trip_us = round(given["fetch_round_trip_ms"] * 1000) + more_ms * 1000
    return max(1, int(round_ms * 1000 // (trip_us + limit * 1_000_000 // given["fetch_bytes_per_second"])))


def _whole_batches(batches: Sequence[list[Record]], limit: int, allowance: int | None) -> list[list[Record]]:
    """The first batches within a fetch's limit, at least one, but none beyond the allowance."""
    taken_bytes = 0
    for count, batch in enumerate(batches):
        taken_bytes += bytes_of(batch)
        if (count > 0 and taken_bytes > limit) or (allowance is not None and taken_bytes > allowance):
            return list(batches[:count])
    return list(batches)


def keep_late_responses(partition: Partition, news: Mapping[int, tuple[int, int]]) -> None:
    """A mutant's step 8: who learns of another leader or epoch gets one more answer of the old one in the next round."""
    for broker, told in news.items():
        follower = partition.replicas[broker]
        if told == (follower.believed_leader, follower.believed_epoch) or not can_send(partition, follower):
            continue
        leader = answering_leader(partition, follower)
        if leader is None or leader.leading_epoch != follower.believed_epoch:
            continue
        if not partition.message_passes(leader.broker, follower.broker):
            continue
        answer = _answer(follower, leader)
        limit = partition.settings.fetch_limit(follower.broker)
        chunk = [r for batch in _whole_batches(leader.log.batches_from(follower.log.leo), limit, None) for r in batch]
        if answer is not None and answer.kind == DATA and chunk:
            follower.late_response = LateResponse(leader.broker, follower.log.leo, chunk, leader.hw)


def _take_late_responses(partition: Partition) -> set[int]:
    """Append what comes late, if its offset still fits. Returns the followers that moved on by it."""
    moved = set()
    for follower in partition.replicas.values():
        late, follower.late_response = follower.late_response, None
        if late is None or not partition.status(follower.broker).running or follower.leading_epoch is not None:
            continue
        if late.offset != follower.log.leo or not partition.message_passes(late.leader, follower.broker):
            continue
        append_chunk(partition, follower, late.chunk)
        follower.lower_hw(late.hw)
        moved.add(follower.broker)
        partition.coverage["late_response"] += 1
    return moved
