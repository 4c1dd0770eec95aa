"""Tables of Kafka's own tests: lineage, metadata of segments, candidates for a copy, expiry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ..log import EpochCache
from .copying import candidate_segments
from .expiry import expired
from .lineage import highest_remote_offset, is_in_lineage, remote_log_start, without_empty_epochs
from .metadata import (
    COPY_FINISHED,
    COPY_STARTED,
    DELETE_FINISHED,
    DELETE_STARTED,
    TRANSITIONS,
    EpochIndex,
    RemoteSegment,
    SegmentIndex,
)
from .partition import TieredPartition
from .segments import Segment

TABLES: dict[str, Any] = json.loads((Path(__file__).parents[2] / "data" / "tiered" / "remote_log_manager.json").read_text())

Pairs = list[tuple[int, int]]


def _pairs(rows: list[list[int]]) -> Pairs:
    return [(epoch, start) for epoch, start in rows]


def _segment(number: int, base: int, end: int, epochs: Pairs, size_bytes: int = 1024) -> RemoteSegment:
    return RemoteSegment(number, base, end, epochs, epochs, size_bytes, 0, 1, 0)


def _copied(*segments: RemoteSegment) -> SegmentIndex:
    index = SegmentIndex()
    for segment in segments:
        assert index.apply(segment, COPY_STARTED)
        assert index.apply(segment, COPY_FINISHED)
    return index


@pytest.mark.parametrize("row", TABLES["isRemoteSegmentWithinLeaderEpochs"], ids=lambda row: row["name"])
def test_lineage(row: dict[str, Any]) -> None:
    assert is_in_lineage(_pairs(row["segEpochs"]), row["segEnd"], _pairs(row["lineage"]), row["leo"]) == row["expect"]


LINEAGE = [(0, 0), (1, 10), (2, 20), (3, 30), (4, 40), (5, 50), (7, 70)]
SHORTENED = [(7, 51), (9, 100)]


@pytest.mark.parametrize(
    ("epochs", "end", "lineage", "expected"),
    [
        ([(5, 14), (7, 15), (9, 100)], 150, SHORTENED, True),  # the log started inside it
        ([(7, 15), (9, 100)], 150, SHORTENED, True),  # any start in the log's first epoch
        ([(7, 15)], 99, SHORTENED, True),
        ([(7, 15)], 100, SHORTENED, False),  # past the end of its epoch
        ([(9, 100)], 209, SHORTENED, True),
        ([(9, 100)], 210, SHORTENED, False),  # the LEO
        ([(5, 10), (6, 15)], 20, SHORTENED, False),  # all older
        ([(4, 41), (5, 50), (7, 70)], 80, LINEAGE, True),
        ([(4, 39), (5, 50)], 60, LINEAGE, False),  # starts before its epoch does
        ([(5, 50), (6, 70), (7, 70)], 80, LINEAGE, True),  # an epoch without records is left out
        ([(8, 80)], 85, LINEAGE, False),
    ],
)
def test_lineage_of_more(epochs: Pairs, end: int, lineage: Pairs, expected: bool) -> None:
    assert is_in_lineage(epochs, end, lineage, 210 if lineage is SHORTENED else 90) == expected


@pytest.mark.parametrize("row", TABLES["buildFilteredLeaderEpochMap"])
def test_epochs_without_records(row: dict[str, Any]) -> None:
    assert without_empty_epochs(_pairs(row["input"])) == _pairs(row["expect"])


@pytest.mark.parametrize("row", TABLES["findHighestRemoteOffset"], ids=lambda row: row["name"])
def test_highest_remote_offset(row: dict[str, Any]) -> None:
    def highest_of(epoch: int) -> int | None:
        known: dict[str, int] = row["highestOffsetForEpoch"]
        return known.get(str(epoch))

    assert highest_remote_offset(_pairs(row["epochs"]), row["leo"], highest_of) == tuple(row["expect"])


@pytest.mark.parametrize("row", TABLES["findLogStartOffset"])
def test_remote_log_start(row: dict[str, Any]) -> None:
    def first_of(epoch: int) -> int | None:
        segments: list[list[int]] = row["remoteByEpoch"].get(str(epoch), [])
        return segments[0][0] if segments else None

    assert remote_log_start(_pairs(row["epochs"]), first_of, row.get("localLogStartOffset", -1)) == row["expect"]


def _partition(**config: Any) -> TieredPartition:
    return TieredPartition(
        {
            "rounds": 100,
            "round_ms": 1,
            "session_timeout_rounds": 5,
            "brokers": [1],
            "racks": {},
            "config": {"remote.log.storage.system.enable": True},
            "topic_config": {"remote.storage.enable": True, "retention.ms": -1, **config},
            "replicas": [1],
        }
    )


def _give_log(partition: TieredPartition, bases: list[int], leo: int, hw: int, epochs: Pairs, size_bytes: int = 1) -> None:
    log = partition.log_of(partition.replicas[1])
    log.segments = [Segment(base, size_bytes, 0, 0) for base in bases]
    log.leo, log.cache = leo, EpochCache(epochs)
    partition.replicas[1].hw = hw


@pytest.mark.parametrize("row", TABLES["candidateLogSegments"])
def test_candidates_for_a_copy(row: dict[str, Any]) -> None:
    partition = _partition()
    _give_log(partition, row["segmentBases"], row["active"] + 5, row["lso"], [(0, 0)])
    found = candidate_segments(partition, partition.replicas[1], row["fromOffset"])
    log = partition.log_of(partition.replicas[1])
    assert [[one.base_offset, log.end_of(log.segments.index(one))] for one in found] == row["expect"]


def test_life_cycle_of_segments() -> None:
    first = _segment(0, 0, 100, [(0, 0), (1, 20), (2, 80)])
    second = _segment(1, 101, 200, [(2, 101)])
    third = _segment(2, 201, 300, [(2, 201), (3, 240)])
    fourth = _segment(3, 250, 400, [(3, 250), (4, 370)])
    index = _copied(first, second, third, fourth)
    found = {(1, 40): first, (2, 110): second, (3, 240): third, (3, 250): fourth, (4, 375): fourth}
    for (epoch, offset), segment in found.items():
        assert index.lookup(epoch, offset) is segment
    for epoch, offset in ((1, 110), (4, 401), (5, 301)):
        assert index.lookup(epoch, offset) is None
    index.apply(first, DELETE_STARTED)
    assert index.lookup(0, 10) is None
    assert [index.highest_offset(epoch) for epoch in range(6)] == [19, 79, 239, 369, 400, None]
    assert first in index.listed() and first in index.listed_of(0)
    index.apply(first, DELETE_FINISHED)
    assert first not in index.listed() and index.listed_of(0) == []
    assert index.highest_offset(0) == 19


def test_a_started_copy_is_listed_and_not_served() -> None:
    index, segment = SegmentIndex(), _segment(0, 0, 9, [(0, 0)])
    index.apply(segment, COPY_STARTED)
    assert index.lookup(0, 5) is None and index.highest_offset(0) is None
    assert index.listed_of(0) == [segment]


@pytest.mark.parametrize(
    ("older", "newer", "offset"),
    [((0, 100), (0, 200), 50), ((10, 90), (5, 100), 95)],
)
def test_a_longer_copy_replaces(older: tuple[int, int], newer: tuple[int, int], offset: int) -> None:
    """KAFKA-15168: what is replaced is kept for cleaning up."""
    one, other = _segment(0, *older, [(0, older[0])]), _segment(1, *newer, [(0, newer[0])])
    index = _copied(one, other)
    assert index.lookup(0, offset) is other
    assert index.epochs[0] == EpochIndex({newer[0]: other}, [one], newer[1])
    assert {segment.id for segment in index.listed_of(0)} == {0, 1}


@pytest.mark.parametrize("before", list(TRANSITIONS))
@pytest.mark.parametrize("after", [COPY_STARTED, COPY_FINISHED, DELETE_STARTED, DELETE_FINISHED])
def test_transitions(before: str | None, after: str) -> None:
    index, segment = SegmentIndex(), _segment(0, 0, 9, [(0, 0)])
    ways: dict[str | None, list[str]] = {
        None: [],
        COPY_STARTED: [COPY_STARTED],
        COPY_FINISHED: [COPY_STARTED, COPY_FINISHED],
        DELETE_STARTED: [COPY_STARTED, DELETE_STARTED],
        DELETE_FINISHED: [COPY_STARTED, DELETE_STARTED, DELETE_FINISHED],
    }
    for state in ways[before]:
        assert index.apply(segment, state)
    valid = {
        (None, COPY_STARTED),
        (COPY_STARTED, COPY_FINISHED),
        (COPY_STARTED, DELETE_STARTED),
        (COPY_FINISHED, DELETE_STARTED),
        (DELETE_STARTED, DELETE_FINISHED),
    }
    assert index.apply(segment, after) == ((before, after) in valid or before == after)


@pytest.mark.parametrize("deleted", TABLES["retention"]["size_time_breach"]["d"])
def test_expiry_by_size(deleted: int) -> None:
    table = TABLES["retention"]["size_time_breach"]
    count, records, size = table["segmentCount"], table["recordsPerSegment"], table["segmentSize"]
    epochs = _pairs(table["epochs"])
    limit = (count - deleted) * size + table["onlyLocalBytes"]
    partition = _partition(**{"retention.bytes": limit})
    leo = count * records + 1
    _give_log(partition, [count * records], leo, leo, epochs, table["onlyLocalBytes"])
    segments = []
    for number in range(count):
        base, end = number * records, (number + 1) * records - 1
        inside = [entry for entry in epochs if base < entry[1] <= end]
        at_base = [epoch for epoch, start in epochs if start <= base][-1]
        segments.append(_segment(number, base, end, [(at_base, base), *inside], size))
    tier = partition.tier_of(1)
    tier.highest_remote = count * records - 1
    verdict = expired(partition, partition.replicas[1], tier, _copied(*segments))
    assert verdict.segments == segments[:deleted]
    assert verdict.log_start == (deleted * records if deleted else None)


@pytest.mark.parametrize("config", TABLES["retention"]["two_segments_all_expired"]["configs"])
def test_expiry_of_everything(config: dict[str, int]) -> None:
    table = TABLES["retention"]["two_segments_all_expired"]
    partition = _partition(**{"retention.bytes": config["bytes"], "retention.ms": config["ms"]})
    _give_log(partition, [table["logEnd"]], table["logEnd"], table["logEnd"], [(0, 0)], 0)
    index = _copied(*[_segment(number, base, end, [(0, base)]) for number, (base, end) in enumerate(table["segments"])])
    tier = partition.tier_of(1)
    tier.highest_remote = table["logEnd"] - 1
    verdict = expired(partition, partition.replicas[1], tier, index)
    assert (len(verdict.segments), verdict.log_start) == (table["expectDeleted"], table["expectLogStart"])


def test_what_lies_below_the_log_start_counts_until_it_is_deleted() -> None:
    """As in Kafka: it goes without taking its bytes off what is too much, and a segment more goes for those."""
    partition = _partition(**{"retention.bytes": 2048})
    _give_log(partition, [30], 30, 30, [(0, 10)], 0)
    partition.replicas[1].log.log_start = 10
    index = _copied(*[_segment(number, 10 * number, 10 * number + 9, [(0, 10 * number)]) for number in range(3)])
    tier = partition.tier_of(1)
    tier.highest_remote = 29
    verdict = expired(partition, partition.replicas[1], tier, index)
    assert ([segment.id for segment in verdict.segments], verdict.log_start) == ([0, 1], 20)


def test_expiry_of_overlapping_segments() -> None:
    """The unreferenced one goes with the one that replaced it; the log start is behind both."""
    partition = _partition(**{"retention.ms": 0})
    _give_log(partition, [105], 200, 200, [(0, 0)], 0)
    index = _copied(_segment(1, 0, 99, [(0, 0)]), _segment(2, 0, 104, [(0, 0)], 1152))
    verdict = expired(partition, partition.replicas[1], partition.tier_of(1), index)
    assert [segment.id for segment in verdict.segments] == [2, 1]
    assert verdict.log_start == 105
