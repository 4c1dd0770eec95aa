"""Tables of consumers of a block of compiled rounds that was played; no Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.inputs.arrays import prepare, read_block
from emulator.outcomes import invariants
from emulator.outcomes.compiled import Names, block_tables, fence_events
from emulator.rounds.kafka.invariants import OF_READS
from emulator.rounds.kafka.play_block import play
from emulator.scenario import load_run

SCENARIO = """
rounds = 12
[cluster]
brokers = 2
[[topics]]
name = "a"
partitions = 1
replication_factor = 2
[[topics]]
name = "b"
partitions = 2
replication_factor = 1
[[workload]]
topic = "*"
records_per_round = 2
[[faults]]
kind = "broker_crash"
broker = 1
from_round = 5
to_round = 8
[[consumers]]
group = "late"
topic = "b"
partitions = "1"
from_round = 6
start = "latest"
[[consumers]]
group = "first"
topic = "*"
start = "earliest"
records_per_round = 1
[[consumers]]
group = "eager"
topic = "a"
start = "earliest"
"""


def tables_of(folder: Path, **rules: int) -> dict[str, list[dict[str, Any]]]:
    """The tables of the scenario; `rules`: fields of rules that are to be otherwise."""
    path = folder / "scenario.toml"
    path.write_text(SCENARIO)
    block = read_block(prepare(load_run(str(path)).scenarios, {}, False, 12).block(np.arange(3)))
    for name, value in rules.items():
        np.asarray(block.inputs.rules)[name][:] = value
    names = Names(block)
    fences, counts = fence_events(names, block.inputs, block.state)
    state, told = play(block.state, block.inputs, block.traffic)
    return {name: table.to_pylist() for name, table in block_tables(names, block.inputs, fences, state, told, [], counts).items()}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    return tables_of(tmp_path_factory.mktemp("consumers"))


def test_a_row_a_reader(tables: dict[str, list[dict[str, Any]]]) -> None:
    columns = ("group", "topic", "partition", "position", "epoch", "lag", "records", "page_cache_bytes", "stopped")
    assert [tuple(row[name] for name in columns) for row in tables["consumer_groups"]] == [
        ("first", "a", 0, 4, 0, 4, 4, 4000, None),
        ("eager", "a", 0, 8, 0, 0, 8, 8000, None),
        ("first", "b", 0, 4, 0, 6, 4, 4000, None),
        ("late", "b", 1, 24, 0, 0, 10, 10_000, None),
        ("first", "b", 1, 11, 0, 13, 11, 11_000, None),
    ]


def test_what_could_not_be_read(tables: dict[str, list[dict[str, Any]]]) -> None:
    """Broker 1 crashes in round 5, and its partitions are without a leader from then on."""
    assert [dict(row["waited_rounds"]) for row in tables["consumer_groups"]] == [{"leaderless": 7}, {}, {"leaderless": 7}, {}, {}]
    row = {"scenario_id": 0, "partition": 0, "group": "first", "kind": "stretch", "from_round": 5, "to_round": 12}
    row |= {"from_offset": 4, "cause": "leaderless", "broker": None}
    assert tables["unread"] == [row | {"topic": "a", "to_offset": 8}, row | {"topic": "b", "to_offset": 10}]


def test_reads_that_break_an_invariant_have_a_witness(tmp_path: Path) -> None:
    told = [row for row in tables_of(tmp_path, reads_committed_only=0)["violations"] if row["invariant"] == "ReadCommitted"]
    assert [(row["topic"], row["round"]) for row in told] == [("a", at_round) for at_round in range(1, 5)]
    assert told[0]["witness"] == "group eager read offsets 2 to 3 of epoch 0; broker 1: LEO 4, HW 2"


def test_every_invariant_of_reads_is_told_of() -> None:
    assert {row.invariant for row in invariants.OF_READS} == {*OF_READS} - {"ConsistentRead"}
