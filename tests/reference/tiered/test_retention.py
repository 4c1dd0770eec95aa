"""Segments and what goes from a replica's own disk: the tables of Kafka's UnifiedLogTest, and runs without remote storage."""

from __future__ import annotations

from typing import Any

import pytest

from ..accounting import Event
from ..kafka import simulate as simulate_plain
from ..log import Record
from ..random_scenarios import random_case
from .cases import RECORD_BYTES, alter, at, fault, given_log, happened, produce, tiered_case
from .partition import TieredPartition
from .retention import delete_old_segments
from .segments import TieredLog, tiered_initial_log
from .simulate import simulate

Log = tuple[list[int], int, int]
"""(bases of segments, log start, local log start)."""


def _partition(bases: list[int], leo: int, highest_remote: int, hw: int | None = None, **topic_config: Any) -> TieredPartition:
    """One replica with records of one byte, in these segments, that knows how far it is tiered; a round is 1 ms."""
    given = given_log(leo, [[0, 0]], segments=bases[1:], record_bytes=1)
    given["hw"] = leo if hw is None else hw
    case = tiered_case(
        config={"log.retention.check.interval.ms": 1},
        topic_config=topic_config,
        rounds=5000,
        round_ms=1,
        brokers=[1],
        replicas=[1],
        initial={"leader": 1, "leader_epoch": 0, "isr": [1], "replicas": {1: given}},
    )
    partition = TieredPartition(case)
    partition.tier_of(1).highest_remote = highest_remote
    return partition


def _after_check(partition: TieredPartition, now: int) -> Log:
    partition.now = now
    delete_old_segments(partition)
    log = partition.log_of(partition.replicas[1])
    return [segment.base_offset for segment in log.segments], log.log_start, log.local_log_start


SIX = list(range(6))


@pytest.mark.parametrize("config", [{"retention.bytes": 1}, {"retention.ms": 1000}])
def test_local_retention_is_retention_by_default(config: dict[str, int]) -> None:
    assert _after_check(_partition(SIX, 6, highest_remote=1, **config), 1001) == ([2, 3, 4, 5], 0, 2)


def test_local_retention_needs_a_copy() -> None:
    partition = _partition(SIX, 6, -1, **{"local.retention.bytes": 1, "retention.bytes": 5})
    assert _after_check(partition, 1) == (SIX, 0, 0)
    partition.tier_of(1).highest_remote = 1
    assert _after_check(partition, 2) == ([2, 3, 4, 5], 0, 2)


def test_local_retention_without_copies_is_total() -> None:
    partition = _partition(SIX, 6, 1, **{"local.retention.bytes": 1, "retention.bytes": 5})
    assert _after_check(partition, 2) == ([2, 3, 4, 5], 0, 2)
    partition.settings.alter(alter(3, remote_log_copy_disable=True))
    assert _after_check(partition, 3) == ([2, 3, 4, 5], 0, 2)
    partition.raise_log_start(partition.replicas[1], 2)
    log = partition.log_of(partition.replicas[1])
    for offset in (6, 7, 8):
        log.roll()
        log.append([Record(0, offset, (3, 0, offset), 1)], 1, 3)
    partition.replicas[1].hw = 9
    assert _after_check(partition, 4) == ([4, 5, 6, 7, 8], 4, 4)
    partition.settings.alter(alter(4, retention_bytes=-1, retention_ms=1000))
    assert _after_check(partition, 10) == ([4, 5, 6, 7, 8], 4, 4)
    assert _after_check(partition, 1010) == ([9], 9, 9)


def test_local_log_start_after_deletion() -> None:
    """Its segments end at 10, 20, 30, 40; 30 is the last offset that is copied."""
    partition = _partition([0, 11, 21, 31, 41], 50, 30, **{"local.retention.bytes": 1})
    assert _after_check(partition, 1) == ([31, 41], 0, 31)


def test_active_segment_is_rolled_and_waits_for_its_copy() -> None:
    partition = _partition([0], 1, -1, **{"retention.ms": 3, "local.retention.ms": 1})
    assert _after_check(partition, 2) == ([0, 1], 0, 0)
    partition.tier_of(1).highest_remote = 0
    assert _after_check(partition, 3) == ([1], 0, 1)
    assert partition.replicas[1].log.leo == 1


def test_what_lies_below_the_log_start_needs_no_copy() -> None:
    partition = _partition([0, 4], 5, -1, **{"local.retention.bytes": 1})
    assert _after_check(partition, 1) == ([0, 4], 0, 0)
    partition.raise_log_start(partition.replicas[1], 3)
    assert _after_check(partition, 2) == ([0, 4], 3, 3)
    partition.raise_log_start(partition.replicas[1], 4)
    assert _after_check(partition, 3) == ([4], 4, 4)
    partition.raise_log_start(partition.replicas[1], 5)
    assert _after_check(partition, 4) == ([4], 5, 5)
    assert partition.replicas[1].log.records == []


@pytest.mark.parametrize("hw", [0, 7, 50, 99, 100])
def test_nothing_at_or_above_the_high_watermark_goes(hw: int) -> None:
    partition = _partition(list(range(100)), 100, -1, hw, **{"remote.storage.enable": False, "retention.ms": 10})
    bases, log_start, _ = _after_check(partition, 1000)
    assert (bases[0], log_start) == (hw, hw)
    assert all(base > hw for base in bases[1:])
    assert partition.replicas[1].log.leo == 100


@pytest.mark.parametrize(("kept_records", "expected"), [(10, [5, 10]), (15, [0, 5, 10])])
def test_size_retention_without_remote_storage(kept_records: int, expected: list[int]) -> None:
    partition = _partition([0, 5, 10], 15, -1, **{"remote.storage.enable": False, "retention.bytes": kept_records})
    assert _after_check(partition, 1) == (expected, expected[0], expected[0])


def test_epochs_go_with_their_segments() -> None:
    partition = _partition([0, 5, 10], 15, -1, **{"remote.storage.enable": False, "retention.bytes": 10})
    cache = partition.replicas[1].log.cache
    cache.entries = [(0, 0), (1, 7), (2, 10)]
    _after_check(partition, 1)
    assert cache.entries == [(0, 5), (1, 7), (2, 10)]


def _log_of(bases: list[int], leo: int) -> TieredLog:
    return tiered_initial_log(0, 0, leo, [[0, 0]], None, 10, bases)


@pytest.mark.parametrize(
    ("offset", "bases", "active_bytes"),
    [(29, [0, 10, 20], 90), (25, [0, 10, 20], 50), (20, [0, 10, 20], 0), (17, [0, 10], 70), (0, [0], 0), (30, [0, 10, 20], 100)],
)
def test_truncation_goes_back_into_the_segment_it_cuts(offset: int, bases: list[int], active_bytes: int) -> None:
    log = _log_of([0, 10, 20], 30)
    log.truncate_to(offset)
    assert [segment.base_offset for segment in log.segments] == bases
    assert log.segments[-1].size_bytes == log.segment_bytes == active_bytes
    assert (log.leo, log.local_log_start, len(log.records)) == (offset, 0, offset)


def test_truncation_below_the_first_segment_starts_anew() -> None:
    log = tiered_initial_log(0, 20, 30, [[0, 0]], None, 10, None)
    assert log.truncate_to(15) == 10
    assert (log.log_start, log.local_log_start, log.leo, log.cache.entries) == (15, 15, 15, [])


def test_log_start_within_a_segment() -> None:
    log = _log_of([0, 10, 20], 30)
    log.raise_log_start(14)
    assert (log.local_log_start, len(log.records), log.size_bytes) == (14, 16, 300)
    assert log.delete_first_segments(1) == []
    assert [record.offset for record in log.delete_first_segments(1)] == [14, 15, 16, 17, 18, 19]
    assert (log.local_log_start, log.log_start) == (20, 14)


def test_segments_roll_by_size_and_by_age_on_each_replica() -> None:
    """A follower appends a whole response at once, and may so have other boundaries than its leader."""
    case = tiered_case(
        rounds=12,
        topic_config={"segment.bytes": 3 * RECORD_BYTES, "segment.ms": 2500, "remote.storage.enable": False},
        workload=[produce(0, 4), produce(10)],
        faults=[fault("link_cut", 0, 6, broker=2, peer=1)],
    )
    result = simulate(case, watch=True)
    assert at(result, 11, 1)["local_segments"] == [0, 3, 4]
    assert at(result, 11, 2)["local_segments"] == [0, 4]
    assert [row[1:] for row in happened(result, "segment_roll")] == [(1, 3, None), (1, 4, None), (2, 4, None)]
    assert result.violations == []


def test_retention_without_remote_storage_moves_the_log_start() -> None:
    case = tiered_case(
        rounds=30,
        topic_config={"segment.bytes": 2 * RECORD_BYTES, "retention.ms": 2000, "remote.storage.enable": False},
        workload=[produce(0, 20)],
    )
    result = simulate(case, watch=True)
    last = at(result, 19, 1)
    assert last["log_start_offset"] == last["local_log_start_offset"] == last["earliest_offset"] > 0
    assert last["latest_tiered_offset"] == last["earliest_pending_upload_offset"] == -1
    assert at(result, 29, 1)["log_start_offset"] == at(result, 29, 1)["leo"] == 20
    assert at(result, 29, 2)["log_start_offset"] == 20
    assert result.remote_segments == [] and result.outcomes["acked_lost"] == 0
    assert result.violations == []


TIERED_KEYS = {
    "remote.log.copy.disable": True,
    "local.retention.ms": 1,
    "local.retention.bytes": 1,
    "remote.log.delete.on.disable": True,
}


@pytest.mark.parametrize("seed", range(60))
def test_without_remote_storage_nothing_changes(seed: int) -> None:
    """Keys that are there but disabled: every row of the plain round is the same.

    But for what is said of segments: after a truncation into an older one the plain round starts a new one.
    """
    case = random_case(seed)
    disabled = {**case, "topic_config": {**case["topic_config"], **TIERED_KEYS}}
    plain, tiered = simulate_plain(case), simulate(disabled)
    assert [{key: row[key] for key in plain.trace[0]} for row in tiered.trace] == plain.trace
    assert tiered.trace_partitions == plain.trace_partitions
    assert {key: tiered.outcomes[key] for key in plain.outcomes} == plain.outcomes
    assert _but_rolls(tiered.events) == _but_rolls(plain.events)


def _but_rolls(events: list[Event]) -> list[Event]:
    return [event for event in events if event.kind != "segment_roll"]
