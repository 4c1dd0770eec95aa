"""Radii, islands, communities and chains of belief of clusters small enough to count by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from emulator.graphs.backends import BELIEFS, Graphs
from emulator.graphs.beliefs import belief_chains
from emulator.graphs.blast_radius import blast_radius
from emulator.graphs.communities import community_rows, shared_partitions
from emulator.graphs.failure_sets import chance_rows, copyset_rows, failure_sets
from emulator.graphs.hot_spots import hot_spot_rows
from emulator.graphs.islands import island_rows
from emulator.graphs.placed import Placed, padded, placed
from emulator.scenario.load import scenario_of

SIX = [(1, "a"), (2, "b"), (3, "c"), (4, "a"), (5, "b"), (6, "c")]
ASSIGNMENT = [[1, 2, 3], [4, 5, 6], [5, 1, 3], [3, 2, 1]]


def six(min_isr: int = 2) -> Placed:
    return placed(0, SIX, np.array(ASSIGNMENT), np.full(4, min_isr))


def test_copysets_of_six_brokers() -> None:
    rows = copyset_rows(six(), failure_sets(six())).to_pylist()
    assert [(r["brokers"], r["racks"], r["partitions"]) for r in rows if r["loses"] == "data"] == [
        ([1, 2, 3], 3, 2), ([1, 3, 5], 3, 1), ([4, 5, 6], 3, 1)
    ]  # fmt: skip
    assert [(*r["brokers"], r["partitions"]) for r in rows if r["loses"] == "writes"] == [
        (1, 2, 2), (1, 3, 3), (1, 5, 1), (2, 3, 2), (3, 5, 1), (4, 5, 1), (4, 6, 1), (5, 6, 1)
    ]  # fmt: skip


def test_chances_of_six_brokers() -> None:
    rows = list(chance_rows(six(), failure_sets(six()), 15, seed=0))
    by_failures = {(r[1], r[2], r[3]): r[5] for r in rows}
    assert by_failures["data", "brokers", 3] == 3 / 20
    assert by_failures["data", "brokers", 4] == 8 / 15
    assert by_failures["writes", "brokers", 2] == 8 / 15
    assert by_failures["writes", "brokers", 3] == 1
    assert max(r[3] for r in rows) == 6
    assert by_failures["data", "racks", 1] == by_failures["writes", "racks", 1] == 0


def test_a_rack_that_holds_a_whole_set() -> None:
    cluster = placed(0, [(1, "a"), (2, "a"), (3, "b"), (4, None)], np.array([[1, 2], [2, 3], [4, -1]]), np.array([1, 2, 1]))
    chances = {(r[1], r[2], r[3]): r[5] for r in chance_rows(cluster, failure_sets(cluster), 1, seed=0)}
    assert chances["data", "racks", 1] == 1 / 2
    assert chances["writes", "racks", 1] == 1
    assert chances["data", "brokers", 1] == 1 / 4  # broker 4 has the only replica of one
    radius = {tuple(r[1:5]): r[5:] for r in blast_radius(cluster)}
    #                                           leaderless, unavailable, unwritable, under-replicated, lost with next
    assert radius["rack", None, None, "a"] == (2, 1, 2, 2, 1)
    assert radius["broker", 4, None, None] == (1, 1, 1, 1, 0)


def test_blast_radius_of_six_brokers() -> None:
    """Each partition needs all three in sync, so whoever loses one can't be written, and two of them stay.

    Partition (leader first): 0 on 1 2 3, 1 on 4 5 6, 2 on 5 1 3, 3 on 3 2 1. So of broker
    1: member of 0 2 3, leads 0     2: member of 0 3, leads none    3: member of 0 2 3, leads 3
    4: member of 1, leads 1         5: member of 1 2, leads 2       6: member of 1, leads none
    and each rack has one member of each partition:
    a (1 4): leads 0 1              b (2 5): leads 2                c (3 6): leads 3
    """
    radius = {tuple(r[1:5]): r[5:] for r in blast_radius(six(3))}
    #         leaderless, unavailable, unwritable, under-replicated, lost with next
    assert {key[1]: numbers for key, numbers in radius.items() if key[0] == "broker"} == {
        1: (1, 0, 3, 3, 0), 2: (0, 0, 2, 2, 0), 3: (1, 0, 3, 3, 0), 4: (1, 0, 1, 1, 0), 5: (1, 0, 2, 2, 0), 6: (0, 0, 1, 1, 0)
    }  # fmt: skip
    assert {key[3]: numbers for key, numbers in radius.items() if key[0] == "rack"} == {
        "a": (2, 0, 4, 4, 0), "b": (1, 0, 4, 4, 0), "c": (1, 0, 4, 4, 0)
    }  # fmt: skip
    links = {key[1:3]: value[2:] for key, value in radius.items() if key[0] == "link"}
    assert links == {
        (1, 2): (1, 1, 0), (1, 3): (2, 2, 0), (1, 5): (1, 1, 0), (2, 3): (1, 1, 0), (3, 5): (1, 1, 0),
        (4, 5): (1, 1, 0), (4, 6): (1, 1, 0),
    }  # fmt: skip


def test_blast_radius_of_racks_that_hold_two_of_a_partition() -> None:
    """The same placement, two in sync suffice, racks a (1 2), b (3 4), c (5 6).

    a: of partitions 0 and 3 it has two of three, one member stays and can't be written alone; of 2 it has one; it leads 0.
    b: of each partition it has one, two stay; it leads 1 and 3.
    c: of 1 it has two, of 2 one; it leads 2.
    A broker's loss leaves two members each, which suffice.
    """
    racks = [(broker, "aabbcc"[broker - 1]) for broker in range(1, 7)]
    radius = list(blast_radius(placed(0, racks, np.array(ASSIGNMENT), np.full(4, 2))))
    assert {row[4]: row[5:] for row in radius if row[1] == "rack"} == {
        "a": (1, 0, 2, 3, 2), "b": (2, 0, 0, 4, 0), "c": (1, 0, 1, 2, 1)
    }  # fmt: skip
    assert {row[7:8] + row[9:] for row in radius if row[1] == "broker"} == {(0, 0)}


def test_blast_radius_of_partitions_that_lack_members() -> None:
    """One of two replicas in sync, the last one of three, and one without a leader."""
    in_sync = np.array([[1, 2, -1], [1, -1, -1], [-1, -1, -1]])
    cluster = placed(0, SIX, np.array([[1, 2, 3]] * 3), np.full(3, 2), in_sync, np.array([2, 1, -1]))
    radius = {tuple(r[1:4]): r[5:] for r in blast_radius(cluster)}
    assert radius["broker", 1, None] == (1, 1, 1, 2, 1)  # the second one was unwritable before
    assert radius["broker", 2, None] == (1, 0, 1, 1, 1)
    assert radius["broker", 3, None] == (0, 0, 0, 0, 0)
    assert radius["link", 1, 2] == (0, 0, 1, 1, 1)


def test_hot_spots_of_six_brokers(graphs: Graphs) -> None:
    assert [r[1:] for r in hot_spot_rows(six(), None, graphs)] == [
        (1, "a", 3, 1, 2, None, None), (2, "b", 2, 0, 0, None, None), (3, "c", 3, 1, 2, None, None),
        (4, "a", 1, 1, 2, None, None), (5, "b", 2, 1, 2, None, None), (6, "c", 1, 0, 0, None, None),
    ]  # fmt: skip
    assert next(hot_spot_rows(six(), {1: (7, 8)}, graphs))[-2:] == (7, 8)


def test_communities(graphs: Graphs) -> None:
    """Two triangles that share ten partitions each, and one partition across."""
    cluster = placed(0, SIX, np.array([[1, 2, 3]] * 10 + [[4, 5, 6]] * 10 + [[1, 4, -1]]), np.ones(21))
    pairs, shared = shared_partitions(cluster)
    assert dict(zip(map(tuple, (pairs + 1).tolist()), shared.tolist(), strict=True)) == {
        (1, 2): 10, (1, 3): 10, (1, 4): 1, (2, 3): 10, (4, 5): 10, (4, 6): 10, (5, 6): 10
    }  # fmt: skip
    assert list(community_rows(cluster, graphs)) == [(0, 1, [1, 2, 3], 3, 10), (0, 4, [4, 5, 6], 3, 10)]
    assert [row[2] for row in community_rows(six(), graphs)] == [[1, 3], [2], [4], [5], [6]]


def scenario(faults: list[dict[str, Any]], brokers: int = 4, **of_cluster: Any) -> Any:
    topic = {"name": "t", "assignment": [[1, 2]]}
    cluster = {"brokers": brokers, **of_cluster}
    return scenario_of("t.toml", {"rounds": 100, "cluster": cluster, "topics": [topic], "faults": faults})


def cut(broker: int, peer: int, from_round: int, to_round: int, **more: Any) -> dict[str, Any]:
    return {"kind": "link_cut", "broker": broker, "peer": peer, "from_round": from_round, "to_round": to_round, **more}


def test_a_network_cut_in_two(graphs: Graphs) -> None:
    faults = [cut(a, b, 20, 80, direction="out") for a in (1, 2) for b in (3, 4)]
    assert list(island_rows(scenario(faults), graphs)) == [
        (0, 0, 20, 1, [1, 2, 3, 4]), (0, 20, 80, 1, [1, 2]), (0, 20, 80, 3, [3, 4]), (0, 80, 100, 1, [1, 2, 3, 4])
    ]  # fmt: skip


def test_islands_reach_each_other_over_others_and_are_of_running_brokers(graphs: Graphs) -> None:
    faults = [
        cut(1, 2, 10, 90),
        {"kind": "isolation", "broker": 4, "from_round": 20, "to_round": 30},
        {"kind": "broker_pause", "broker": 3, "from_round": 40, "to_round": 50},
    ]
    assert list(island_rows(scenario(faults), graphs)) == [
        (0, 0, 20, 1, [1, 2, 3, 4]), (0, 20, 30, 1, [1, 2, 3]), (0, 20, 30, 4, [4]), (0, 30, 40, 1, [1, 2, 3, 4]),
        (0, 40, 50, 1, [1, 2, 4]), (0, 50, 100, 1, [1, 2, 3, 4]),
    ]  # fmt: skip


def test_a_rack_that_is_cut_off_is_an_island(graphs: Graphs) -> None:
    """Racks 1 4 7, 2 5 8 and 3 6 9. Links are cut in one rack, and between two that are cut off; 8 is cut off by itself."""
    faults: list[dict[str, Any]] = [
        {"kind": "rack_isolation", "rack": "0", "from_round": 10, "to_round": 40},
        {"kind": "rack_isolation", "rack": "1", "from_round": 20, "to_round": 30},
        {"kind": "isolation", "broker": 8, "from_round": 15, "to_round": 25},
        cut(1, 4, 12, 35), cut(7, 4, 22, 35, direction="in"), cut(1, 2, 20, 30),
    ]  # fmt: skip
    assert list(island_rows(scenario(faults, 9, racks=3), graphs)) == [
        (0, 0, 10, 1, [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        (0, 10, 15, 1, [1, 4, 7]), (0, 10, 15, 2, [2, 3, 5, 6, 8, 9]),
        (0, 15, 20, 1, [1, 4, 7]), (0, 15, 20, 2, [2, 3, 5, 6, 9]), (0, 15, 20, 8, [8]),
        (0, 20, 22, 1, [1, 4, 7]), (0, 20, 22, 2, [2, 5]), (0, 20, 22, 3, [3, 6, 9]), (0, 20, 22, 8, [8]),
        (0, 22, 25, 1, [1, 7]), (0, 22, 25, 2, [2, 5]), (0, 22, 25, 3, [3, 6, 9]), (0, 22, 25, 4, [4]), (0, 22, 25, 8, [8]),
        (0, 25, 30, 1, [1, 7]), (0, 25, 30, 2, [2, 5, 8]), (0, 25, 30, 3, [3, 6, 9]), (0, 25, 30, 4, [4]),
        (0, 30, 35, 1, [1, 7]), (0, 30, 35, 2, [2, 3, 5, 6, 8, 9]), (0, 30, 35, 4, [4]),
        (0, 35, 40, 1, [1, 4, 7]), (0, 35, 40, 2, [2, 3, 5, 6, 8, 9]),
        (0, 40, 100, 1, [1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ]  # fmt: skip


def test_chains_of_belief(graphs: Graphs, spark: SparkSession) -> None:
    t, u = (0, "t", 0), (0, "t", 1)
    beliefs = [
        (*t, 1, 1, 1, 1, 0, 20),
        (*t, 1, 1, 1, 2, 20, 30),  # a zombie
        (*t, 2, 2, 2, 2, 20, 50),
        (*t, 3, 1, 1, 1, 0, 20),
        (*t, 3, 1, 1, 2, 20, 40),
        (*t, 1, 2, 2, 2, 30, 50),
        (*t, 3, 2, 2, 2, 40, 50),
        (*u, 2, 1, 1, 2, 20, 40),  # of another partition
    ]
    rows = belief_chains(spark.createDataFrame(beliefs, BELIEFS), graphs).collect()
    assert [tuple(row) for row in rows] == [
        (0, "t", 0, 20, 30, [3, 1], [1, 1], 2),
        (0, "t", 0, 30, 40, [3, 1, 2], [1, 2], 2),
    ]


def test_nobody_believes_in_anything(graphs: Graphs, spark: SparkSession) -> None:
    assert belief_chains(spark.createDataFrame([], BELIEFS), graphs).collect() == []


def test_padded() -> None:
    lists = pa.chunked_array([pa.array([[9], [1, 2]]).slice(1), pa.array([[], [3]], pa.list_(pa.int64()))])
    assert padded(lists).tolist() == [[1, 2], [-1, -1], [3, -1]]
