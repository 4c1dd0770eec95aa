"""The engine against traces of real Kafka 4.1.1 brokers, each a scenario file in tests/scenarios.

What was seen after every step is in tests/reference/data. A step of trace_steps.json is some rounds in which the
partition settles; a step of fetch_rounds.json is one round in which only one follower, or none, reaches the leader.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.engine_helpers import Row, emulate, of_scenario, run_of

SCENARIOS = Path(__file__).parent / "scenarios"
DATA = Path(__file__).parent / "reference" / "data"

# Trace and topic of each scenario, and the steps' first rounds; a step has settled in the round before the next one.
STEPS: dict[str, tuple[str, str, list[int]]] = {
    "trace_a": ("a", "a", [8 * step for step in range(13)]),
    "trace_b": ("b", "b", [0, 4, 8, 12, 16, 34, 44, 50, 60]),
    "trace_b2": ("b", "b2", [0, 4, 10, 28, 34, 42, 52]),
    "trace_c": ("c", "c", [8 * step for step in range(12)]),
}
FETCHES = ("trace_rounds_r0", "trace_rounds_r1")

# (leader LEO, remote LEO, leader HW, follower LEO, follower HW) from the produce on: the table of the project's seed.
SEED_TABLE = [(1, 0, 0, 0, 0), (1, 0, 0, 1, 0), (1, 1, 1, 1, 1)]

Tables = dict[str, list[Row]]


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """Every scenario of this module, in one run."""
    names = [*STEPS, *FETCHES, "seed_table", "pr_9533"]
    run = run_of(SCENARIOS / f"{name}.toml" for name in names)
    return emulate(spark, run, tmp_path_factory.mktemp("real") / "out")


def rows_of(tables: Tables, round_: int, topic: str) -> dict[int, Row]:
    """The topic's replicas at the end of a round, by broker."""
    return {row["broker"]: row for row in tables["trace"] if row["round"] == round_ and row["topic"] == topic}


@pytest.mark.parametrize("name", STEPS)
def test_steps_of_a_real_cluster(tables: Tables, name: str) -> None:
    trace, topic, starts = STEPS[name]
    mine = of_scenario(tables, name)
    partitions = {row["round"]: row for row in mine["trace_partitions"]}
    steps = [s for s in json.loads((DATA / "trace_steps.json").read_text())[trace] if s["topic"] == topic]
    assert len(steps) == len(starts) - 1
    for step, next_start in zip(steps, starts[1:], strict=True):
        settled = partitions[next_start - 1]
        seen = {key: settled[key] for key in ("leader", "leader_epoch", "isr")}
        assert seen == {key: step[key] for key in seen}, step["step"]
        rows = rows_of(mine, next_start - 1, topic)
        for broker, expected in step["brokers"].items():
            row = rows[int(broker)]
            assert {key: row[key] for key in expected} == expected, (step["step"], broker)


@pytest.mark.parametrize("name", FETCHES)
def test_fetch_rounds_of_a_real_cluster(tables: Tables, name: str) -> None:
    topic = json.loads((DATA / "fetch_rounds.json").read_text())["topics"][FETCHES.index(name)]
    mine = of_scenario(tables, name)
    for round_, (*_, leo, hw, leo_2, hw_2, leo_3, hw_3) in enumerate(topic["steps"]):
        rows = rows_of(mine, round_, topic["topic"])
        seen = [(rows[broker]["leo"], rows[broker]["hw"]) for broker in (1, 2, 3)]
        assert seen == [(leo, hw), (leo_2, hw_2), (leo_3, hw_3)], f"step {round_}"


@pytest.mark.parametrize(
    ("topic", "leader", "follower", "from_round", "expected"),
    [
        ("at-once", 1, 2, 0, SEED_TABLE),
        ("idle", 3, 4, 5, SEED_TABLE),
        ("woken", 5, 6, 5, SEED_TABLE[1:]),
    ],
)
def test_one_record_from_produce_to_high_watermark(
    tables: Tables, topic: str, leader: int, follower: int, from_round: int, expected: list[tuple[int, ...]]
) -> None:
    mine = of_scenario(tables, "seed_table")
    rounds = [rows_of(mine, round_, topic) for round_ in range(8)]
    seen = [(r[leader]["leo"], r[follower]["remote_leo"], r[leader]["hw"], r[follower]["leo"], r[follower]["hw"]) for r in rounds]
    settled = [expected[-1]] * (8 - from_round - len(expected))
    assert seen == [(0, 0, 0, 0, 0)] * from_round + expected + settled


def test_an_unclean_election_loses_what_the_last_replica_lacks(tables: Tables) -> None:
    mine = of_scenario(tables, "pr_9533")
    outcomes = {row["topic"]: row for row in mine["outcomes"]}
    assert {topic: row["acked_lost"] for topic, row in outcomes.items()} == {"one": 8, "all": 3}
    assert all(row["unclean_elections"] == 1 and row["leader"] == 3 and row["leo"] == 2 for row in outcomes.values())
    told = {row["topic"]: (row["from_offset"], row["to_offset"]) for row in mine["events"] if row["kind"] == "acked_lost"}
    assert told == {"one": (2, 10), "all": (2, 5)}
