"""Placement against Kafka's own tables (AdminRackAwareTest, StripedReplicaPlacerTest) and the seed's."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest

from emulator.placement.assignments import StripedPlacer, admin_utils, modulo, rack_alternated, striped

SIX_BROKERS = {0: "r1", 1: "r3", 2: "r3", 3: "r2", 4: "r2", 5: "r1"}


def test_admin_utils_without_racks() -> None:
    placed = admin_utils(range(5), 10, 3)
    expected = ["012", "123", "234", "340", "401", "023", "134", "240", "301", "412"]  # the shift grows each time round
    assert ["".join(map(str, row)) for row in placed.tolist()] == expected
    assert placed.dtype == np.int32


def test_admin_utils_with_racks() -> None:
    assert rack_alternated(SIX_BROKERS) == [0, 3, 1, 5, 4, 2]
    assert rack_alternated({b: r for b, r in SIX_BROKERS.items() if b != 5}) == [0, 3, 1, 4, 2]
    placed = admin_utils(list(SIX_BROKERS), 7, 3, racks=SIX_BROKERS).tolist()
    assert placed == [[0, 3, 1], [3, 1, 5], [1, 5, 4], [5, 4, 2], [4, 2, 0], [2, 0, 3], [0, 4, 2]]


@pytest.mark.parametrize(("replication_factor", "racks_each"), [(5, 3), (2, 2), (3, 3)])
def test_admin_utils_spans_as_many_racks_as_it_can(replication_factor: int, racks_each: int) -> None:
    for row in admin_utils(list(SIX_BROKERS), 60, replication_factor, 4, 2, SIX_BROKERS).tolist():
        assert len(set(row)) == replication_factor
        assert len({SIX_BROKERS[broker] for broker in row}) == racks_each


def test_one_rack_gives_every_broker_one_leader() -> None:
    placed = admin_utils(range(6), 6, 3, racks=dict.fromkeys(range(6), "r1"))
    assert sorted(placed[:, 0].tolist()) == list(range(6))


def test_rack_placement_repeats_only_where_kafkas_does() -> None:
    # one period is brokers x (brokers - 1) partitions; beyond it nothing but repetition may follow
    period = 6 * 5
    placed = admin_utils(list(SIX_BROKERS), 2 * period + 7, 3, racks=SIX_BROKERS)
    assert (placed[period : 2 * period] == placed[:period]).all()
    assert len({tuple(row) for row in placed[:period].tolist()}) > 6


def _placed_one_by_one(racks: Mapping[int, str], partition: int, replicas: int, start: int, shift: int) -> list[int]:
    """AdminUtils.assignReplicasToBrokersRackAware, partition by partition as it stands there."""
    ordered, rack_count = rack_alternated(racks), len(set(racks.values()))
    brokers = len(ordered)
    leader, shift = (partition + start) % brokers, (shift + partition // brokers) * rack_count
    placed = [ordered[leader]]
    step = 0
    while len(placed) < replicas:
        broker = ordered[(leader + 1 + (shift + step) % (brokers - 1)) % brokers]
        step += 1
        used = {racks[b] for b in placed}
        if broker not in placed and (racks[broker] not in used or len(used) == rack_count):
            placed.append(broker)
    return placed


def test_all_partitions_at_once_are_placed_as_one_by_one() -> None:
    draw = random.Random(5)
    for _ in range(300):
        ids = draw.sample(range(50), draw.randint(1, 14))
        racks = {broker: str(draw.randint(1, draw.choice((1, 2, 3, 5)))) for broker in ids}
        partitions, replicas = draw.randint(1, 120), draw.randint(1, min(len(ids), 6))
        start, shift = draw.randrange(len(ids)), draw.randint(0, 9)
        expected = [_placed_one_by_one(racks, p, replicas, start, shift) for p in range(partitions)]
        assert admin_utils(ids, partitions, replicas, start, shift, racks).tolist() == expected


def test_seed_cases() -> None:
    assert modulo([0, 1, 2], 3, 2).tolist() == [[0, 1], [1, 2], [2, 0]]
    assert admin_utils([0, 1, 2], 3, 2, start_index=2).tolist() == [[2, 0], [0, 1], [1, 2]]


def test_shift_and_start_are_independent() -> None:
    assert admin_utils(range(5), 2, 3, start_index=1, shift=2).tolist() == [[1, 4, 0], [2, 0, 1]]


def test_a_single_broker() -> None:
    assert admin_utils([7], 3, 1).tolist() == [[7]] * 3
    assert admin_utils([7], 3, 1, racks={7: "a"}).tolist() == [[7]] * 3
    assert modulo([7], 2, 1).tolist() == [[7]] * 2


@pytest.mark.parametrize("place", [admin_utils, modulo, striped])
@pytest.mark.parametrize(("partitions", "replication_factor"), [(0, 1), (1, 0), (1, 4)])
def test_impossible_counts_are_refused(place, partitions: int, replication_factor: int) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError):
        place([1, 2, 3], partitions, replication_factor)


def test_mixed_racks_are_refused() -> None:
    with pytest.raises(ValueError, match="broker 3 has no rack"):
        admin_utils([1, 2, 3], 3, 2, racks={1: "a", 2: "b"})


RACKS = {11: "1", 10: "1", 30: "3", 31: "3", 21: "2", 20: "2"}
STRIPED_CASES = [
    ([3, 1, 0, 4, 2], {}, {1}, 4, [[3, 4, 0, 2], [4, 0, 2, 3], [0, 2, 3, 4], [2, 3, 4, 0], [0, 4, 3, 2]]),
    ([3, 1, 2], {}, {1}, 3, [[3, 2, 1], [2, 3, 1], [3, 2, 1], [2, 3, 1]]),
    ([*RACKS], RACKS, {20}, 4, [[11, 21, 31, 10], [21, 30, 10, 20], [31, 11, 21, 30]]),
    (
        [11, 10, 30, 31, 20, 21, 41, 40],
        {**RACKS, 41: "4", 40: "4"},
        {30, 31, 20, 21, 40},
        4,
        [[41, 11, 21, 30], [10, 20, 31, 41], [41, 21, 30, 11]],
    ),
    ([0, 3, 2, 1], {}, set(), 3, [[2, 3, 0], [3, 0, 1], [0, 1, 2], [1, 2, 3], [1, 0, 2]]),
    ([0, 1], {}, {1}, 1, [[0], [0], [0]]),
]


@pytest.mark.parametrize(("brokers", "racks", "fenced", "replication_factor", "expected"), STRIPED_CASES)
def test_striped(brokers, racks, fenced, replication_factor, expected) -> None:  # type: ignore[no-untyped-def]
    assert striped(brokers, len(expected), replication_factor, racks, fenced).tolist() == expected


def test_striped_over_time() -> None:
    counts = Counter(map(tuple, striped(range(4), 200, 2).tolist()))
    expected = "01:14 02:22 03:14 10:17 12:17 13:16 20:13 21:17 23:20 30:20 31:19 32:11"
    assert " ".join(f"{a}{b}:{counts[a, b]}" for a, b in sorted(counts)) == expected


def test_striped_refusals() -> None:
    with pytest.raises(ValueError, match=r"^All brokers are currently fenced\.$"):
        StripedPlacer([10, 11], {10: "1", 11: "1"}, {10, 11}).place(1)
    with pytest.raises(ValueError, match=r"3 cannot be reached because only 2 broker\(s\) are registered\.$"):
        StripedPlacer([10, 11]).place(3)
    for replication_factor in (0, -1):
        with pytest.raises(ValueError, match=f"^Invalid replication factor {replication_factor}"):
            StripedPlacer([10, 11]).place(replication_factor)
