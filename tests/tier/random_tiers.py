"""Random situations of a tiered partition in one round, as the reference has them: a leader, a follower, remote segments.

Broker 1 leads and is slot 1, broker 2 follows it; broker 3 is a former leader, which only writes events.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, fields, replace
from typing import Any

from tests.reference.log import EpochCache
from tests.reference.tiered.following import AuxState
from tests.reference.tiered.lineage import epochs_in_range
from tests.reference.tiered.metadata import (
    COPY_FINISHED,
    COPY_STARTED,
    DELETE_FINISHED,
    DELETE_STARTED,
    MetadataLog,
    RemoteSegment,
)
from tests.reference.tiered.partition import LEADER, Copy, TieredPartition
from tests.reference.tiered.rules import TierRules
from tests.reference.tiered.segments import Segment, TieredLog

STATES = (COPY_STARTED, COPY_FINISHED, DELETE_STARTED, DELETE_FINISHED)
ROUNDS, ROUND_MS = 30, 500
NOW = ROUNDS - 1
LEADING, FOLLOWING = 1, 2
Epochs = list[tuple[int, int]]


@dataclass
class Situation:
    """A partition in round NOW, and questions to it."""

    rng: random.Random
    partition: TieredPartition
    read_before: dict[int, int]
    """Per broker: the round before which it has read all events."""
    odd_epochs: Epochs
    """Epochs of which some may have no record."""

    @property
    def leader(self) -> Any:
        return self.partition.replicas[LEADING]

    @property
    def follower(self) -> Any:
        return self.partition.replicas[FOLLOWING]

    @property
    def log(self) -> TieredLog:
        return self.partition.log_of(self.leader)


def situation(seed: int) -> Situation:
    """One situation."""
    rng = random.Random(f"tiers/{seed}")
    lineages = _lineages(rng)
    segments = _segments(rng, lineages)
    partition = TieredPartition(_case(rng, rules := _rules(rng)))
    partition.now = NOW
    partition.segments = segments
    partition.metadata = MetadataLog(rules.check_transitions)
    read_before = _write_events(rng, partition)
    _set_log(rng, partition, rng.choice((lineages[0], lineages[0], *lineages)))
    leader, follower = partition.replicas[LEADING], partition.replicas[FOLLOWING]
    leader.hw = rng.choice((leader.log.leo, rng.randint(leader.log.log_start, leader.log.leo)))
    tier = partition.tier_of(LEADING)
    tier.duty, tier.epoch = LEADER, leader.leading_epoch
    tier.highest_remote = rng.choice((-1, -1, rng.randint(-1, leader.log.leo)))
    own = [one for one in segments if one.broker == LEADING]
    if own and rng.random() < 0.2:
        tier.copy = Copy(own[-1], rng.randint(0, own[-1].size_bytes))
    tier.pending_log_start = rng.choice((None, rng.randint(0, leader.log.leo)))
    for segment in segments:
        segment.moved_bytes = rng.choice((0, segment.size_bytes))
    if rng.random() < 0.5:
        follower.log = TieredLog(leo=5, segments=[Segment(0)])
    partition.tier_of(FOLLOWING).aux = AuxState(LEADING, follower.believed_epoch, 0)
    return Situation(rng, partition, read_before, _lineage(rng, lowest_step=0))


def _case(rng: random.Random, rules: TierRules) -> dict[str, Any]:
    outage = {"kind": "remote_storage_outage", "from_round": 0, "to_round": None}
    return {
        "rounds": ROUNDS,
        "round_ms": ROUND_MS,
        "session_timeout_rounds": 2,
        "brokers": [1, 2],
        "racks": {},
        "replicas": [1, 2],
        "config": {
            "remote.log.storage.system.enable": True,
            "remote.log.manager.task.retry.backoff.ms": rng.choice((1, 500, 1300)),
            "remote.log.manager.task.retry.backoff.max.ms": rng.choice((400, 5000, 30_000, 2**31 - 1)),
            "follower.fetch.last.tiered.offset.enable": rng.random() < 0.5,
        },
        "topic_config": {
            "remote.storage.enable": True,
            "retention.ms": rng.choice((-1, rng.randint(0, 30) * 400)),
            "retention.bytes": rng.choice((-1, rng.randint(0, 40) * 100)),
        },
        "faults": [outage] if rng.random() < 0.1 else [],
        "remote_storage": {
            "aux_state": rng.choice(("remote", "leader")),
        },
        "tier_rules": rules,
    }


def _rules(rng: random.Random) -> TierRules:
    """All guards, or none of some."""
    names = [
        one.name for one in fields(TierRules) if one.name not in ("check_transitions", "copy_before_delete", "finished_counts")
    ]
    off = {name: False for name in names if rng.random() < 0.1}
    if rng.random() < 0.1:
        off = {"check_transitions": False}
    return replace(TierRules(), **off)


def _lineage(rng: random.Random, lowest_step: int = 1, before: Epochs | None = None) -> Epochs:
    epochs = list(before or [(rng.randint(0, 2), rng.choice((0, 0, 0, 3)))])
    for _ in range(rng.randint(0, 4)):
        epochs.append((epochs[-1][0] + rng.choice((1, 1, 2)), epochs[-1][1] + rng.randint(lowest_step, 6)))
    return epochs


def _lineages(rng: random.Random) -> list[Epochs]:
    """A lineage, and some that have a part of it in common."""
    lineages = [_lineage(rng)]
    for _ in range(rng.choice((0, 1, 2))):
        known = rng.choice(lineages)
        lineages.append(_lineage(rng, before=known[: rng.randint(1, len(known))]))
    return lineages


def _segments(rng: random.Random, lineages: list[Epochs]) -> list[RemoteSegment]:
    """Attempts to copy, one behind the other in one lineage, again, or anywhere in another."""
    segments: list[RemoteSegment] = []
    lineage, base = lineages[0], lineages[0][0][1]
    for number in range(rng.choice((0, rng.randint(1, 4), rng.randint(3, 12)))):
        if rng.random() < 0.3:
            lineage = rng.choice(lineages)
            base = max(lineage[0][1], rng.choice((base, rng.randint(0, 15), *(one.base_offset for one in segments))))
        base = max(base, lineage[0][1])
        end = base + rng.randint(0, 5)
        epochs = epochs_in_range(lineage, base, end + 1)
        checkpoint = epochs_in_range(lineage, -1, end + 1)
        size, written, broker = rng.randint(0, 8) * 100, rng.randint(0, NOW), rng.choice((1, 1, 2, 3))
        segments.append(RemoteSegment(number, base, end, epochs, checkpoint, size, written, broker, epochs[-1][0]))
        base = end + 1
    return segments


def _write_events(rng: random.Random, partition: TieredPartition) -> dict[int, int]:
    """Events round by round, most of them as they should be; brokers read some rounds late. Returns what they have read."""
    metadata, read_before = partition.metadata, {1: 0, 2: 0, 3: 0}
    begun: list[RemoteSegment] = []
    left = list(partition.segments)
    for round_ in sorted(rng.randint(0, NOW - 1) for _ in range(rng.randint(1, 5) * len(left))):
        if left and (not begun or rng.random() < 0.4):
            segment, state = left.pop(0), COPY_STARTED
            begun.append(segment)
        else:
            segment = rng.choice(begun)
            state = _next_state(rng, segment)
        broker = segment.broker if rng.random() < 0.7 else rng.choice((1, 2, 3))
        if state == DELETE_FINISHED and not metadata.check_transitions:
            metadata.write(round_, segment, DELETE_STARTED, broker)  # as they always come
        metadata.write(round_, segment, state, broker)
        read_before[broker] = max(read_before[broker], round_)
        if rng.random() < 0.2:
            reader = rng.choice((1, 2, 3))
            read_before[reader] = max(read_before[reader], rng.randint(0, round_))
            metadata.read(reader, read_before[reader])
    partition.segments = begun
    for reader in (1, 2):
        if rng.random() < 0.6:
            read_before[reader] = NOW
            metadata.read(reader, NOW)
    return read_before


def _next_state(rng: random.Random, segment: RemoteSegment) -> str:
    """Most copies are done and stay; some events should not be."""
    if segment.state == COPY_STARTED and rng.random() < 0.8:
        return COPY_FINISHED
    if segment.state == COPY_FINISHED and rng.random() < 0.8:
        return COPY_FINISHED
    return rng.choice(STATES[1:])


def _set_log(rng: random.Random, partition: TieredPartition, lineage: Epochs) -> None:
    """The leader's log: some of the lineage's epochs, cut at both ends, in segments of which the first may be gone."""
    epochs = lineage[: rng.randint(1, len(lineage))]
    leo = epochs[-1][1] + rng.randint(0, 20)
    log_start = rng.choice((epochs[0][1], epochs[0][1], rng.randint(epochs[0][1], leo)))
    cache = EpochCache(epochs)
    cache.truncate_from_start(log_start)
    if rng.random() < 0.05:
        cache.entries = []
    bases = sorted({rng.randint(max(0, log_start - 3), leo) for _ in range(rng.randint(1, 5))})
    segments = [Segment(base, rng.randint(0, 5) * 100, 0, rng.randint(0, NOW)) for base in bases]
    leader = partition.replicas[LEADING]
    leader.log = TieredLog(log_start=log_start, leo=leo, cache=cache, flushed=leo, segments=segments)
