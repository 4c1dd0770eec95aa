"""Workloads of all partitions at once against one partition at a time."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from emulator.inputs.arrays import prepare, read_block
from emulator.inputs.arrays.columns import PackedLists, distinct_rows, distinct_sequences, narrow, widen
from emulator.inputs.arrays.topics import TopicPlaces
from emulator.inputs.arrays.workload import workloads
from emulator.inputs.workload_rows import partition_ranges
from emulator.rounds.kafka.constants import ACKS_ALL
from emulator.scenario import matching_topics
from emulator.scenario.model import WORKLOAD_SCHEMA

from .as_before import Told
from .test_against_builders import WHOLE, scenario_of

ROUNDS = 90
TOPICS = {"orders": 9, "or.b": 3, "payments": 4}


def random_rows(rng: random.Random) -> list[dict[str, Any]]:
    rows = []
    for _ in range(rng.choice((0, 1, 3, 10, 60))):
        from_round = rng.choice((0, rng.randrange(2 * ROUNDS)))
        low = rng.randrange(9)
        texts = (None, str(low), f"{low}-{rng.randint(low, 8)}", f"0-{low},2,{low}", "1,1")
        rows.append(
            {
                "topic": rng.choice(("*", "or*", "orders", "payments", "[op]*s")),
                "partitions": rng.choice(texts),
                "from_round": from_round,
                "to_round": from_round + rng.randint(1, ROUNDS),
                "records_per_round": rng.choice((0, 1, 2)),
                "record_bytes": rng.choice((1, 10, 2**31 - 1)),
                "acks": rng.choice(("0", "1", "all")),
            }
        )
    return rows


def rows_for(rows: list[dict[str, Any]], topic: str, partition: int) -> list[dict[str, Any]]:
    """The rows for one partition, in their order, as often as they name it."""
    return [
        row
        for row in rows
        if matching_topics(row["topic"], TOPICS) and topic in matching_topics(row["topic"], TOPICS)
        for low, high in partition_ranges(row["partitions"], TOPICS[topic])
        if low <= partition <= high
    ]


@pytest.mark.parametrize("seed", range(25))
def test_partitions_have_the_rows_that_name_them(tmp_path: Path, seed: int) -> None:
    rows = random_rows(random.Random(seed))
    scenario = scenario_of(WHOLE, tmp_path)
    config = {**scenario.config, "max.message.bytes": 2**31 - 1}
    scenario = replace(scenario, config=config, workload=pa.Table.from_pylist(rows, WORKLOAD_SCHEMA))
    prepared = prepare([scenario], {}, True, 60)
    told = Told(read_block(prepared.block(np.arange(prepared.partition_count))))
    appended = workloads(scenario, TopicPlaces(scenario))
    for place in range(prepared.partition_count):
        _, topic, partition = prepared.names(place)
        mine = rows_for(rows, topic, partition)
        acks_all = appended.first_acks[appended.of_partition[place]] == ACKS_ALL
        assert acks_all == (not mine or mine[0]["acks"] == "all")
        for round_ in range(0, ROUNDS, 4):
            now = [r for r in mine if r["from_round"] <= round_ < r["to_round"] and r["records_per_round"]]
            wanted = [(r["records_per_round"], r["records_per_round"] * r["record_bytes"], r["acks"]) for r in now]
            found = told.feed(place, round_)
            flags = {"acked_on_append": found["unconditional_records"] > 0, "unacknowledged": found["unacknowledged_records"] > 0}
            batches = found["batches"] or ([found | flags] if now else [])
            assert [(b["records"], b["bytes"], acks_of(b)) for b in batches] == wanted, f"{place} in {round_}"


def acks_of(batch: dict[str, Any]) -> str:
    assert batch["acked_on_append"] or not batch["unacknowledged"]
    return "0" if batch["unacknowledged"] else "1" if batch["acked_on_append"] else "all"


def test_equal_partitions_share_spans_and_patterns(tmp_path: Path) -> None:
    rows = [{"topic": "*", "from_round": 0, "to_round": ROUNDS, "records_per_round": 5, "record_bytes": 7, "acks": "all"}]
    scenario = replace(scenario_of(WHOLE, tmp_path), workload=pa.Table.from_pylist(rows, WORKLOAD_SCHEMA))
    block = read_block(prepare([scenario], {}, True, 60).block(np.arange(16)))
    assert len(block.inputs.workload) == 2
    assert len(block.inputs.patterns) == 2, "the workload's and that of initial records"


def test_distinct_sequences_of_any_length() -> None:
    rng = np.random.default_rng(0)
    counts = rng.choice([0, 1, 2, 9, 12], 300)
    values = rng.integers(0, 2, counts.sum())
    examples, kind = distinct_sequences(counts, values)
    ends = np.cumsum(counts)
    texts = [tuple(values[end - count : end].tolist()) for end, count in zip(ends, counts, strict=True)]
    assert len(examples) == len(set(texts)) == kind.max() + 1
    assert all(texts[examples[k]] == text for k, text in zip(kind.tolist(), texts, strict=True))


def test_distinct_rows_of_large_numbers() -> None:
    big = np.array([2**62, -(2**62), 2**62, 0, -(2**62)])
    first, group = distinct_rows([big, big, np.array([1, 2, 1, 3, 4])])
    assert len(first) == 4 and group[0] == group[2] and len(set(group.tolist())) == 4


@pytest.mark.parametrize("values", [[], [5], [7, 7, 7], [-1, 3], [300, 0], [2**40, -(2**62)], [[1, 1], [1, 1]], [[], []]])
def test_narrow_columns_come_back(values: list[Any]) -> None:
    column = np.array(values, np.int64)
    assert np.array_equal(widen(narrow(column), len(column)), column) and widen(narrow(column), len(column)).dtype == np.int64


def test_picked_lists() -> None:
    lists = PackedLists.of([[(1,), (2,)], [], [(3,)]], 1)
    picked = lists.pick(np.array([2, 0, 2]))
    assert picked.rows.reshape(-1).tolist() == [3, 1, 2, 3] and picked.offsets.tolist() == [0, 1, 3, 4]
