"""The output tables of a final state made by hand: two scenarios, three topics, a reassignment, faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from emulator.expressions.kafka.count_outcomes import EVENT_KINDS
from emulator.inputs import ScenarioInputs, scenario_inputs
from emulator.outcomes.accounting import losses_at_elections
from emulator.outcomes.assemble import assemble
from emulator.outcomes.broker_rounds import broker_bucket
from emulator.outcomes.trace import trace_tables
from emulator.scenario import load_run
from emulator.schema import OUTPUT_TABLES
from emulator.storage import OutputDirectory

from .state_rows import epochs, log, state_frame, state_row

SCENARIO = """
rounds = 60
[cluster]
brokers = 5
racks = 2
session_timeout_rounds = 4
[[topics]]
name = "a"
assignment = [[5, 4], [1, 2]]
[[topics]]
name = "b"
assignment = [[3, 1], [5, 4], [4, 5]]
[[workload]]
topic = "*"
records_per_round = 1
record_bytes = 10
acks = "1"
[[faults]]
kind = "broker_crash"
broker = 4
from_round = 10
to_round = 20
[[commands]]
round = 30
kind = "reassign"
topic = "b"
partition = 0
replicas = [1, 2]
[[variants]]
name = "third"
topics = [{ name = "c", assignment = [[2, 5]] }]
faults = [{ kind = "isolation", broker = 2, from_round = 50 }]
"""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> list[ScenarioInputs]:
    path = tmp_path_factory.mktemp("scenario") / "scenario.toml"
    path.write_text(SCENARIO, "utf-8")
    return [scenario_inputs(scenario) for scenario in load_run(str(path)).scenarios]


def rows_of(
    inputs: list[ScenarioInputs], scenario: int, topic: str, partition: int, slots: list[dict[str, Any]], **common: Any
) -> list[dict[str, Any]]:
    """The rows of one partition; ids as the engine has them."""
    table = inputs[scenario].partitions
    assert table is not None
    at = inputs[scenario].partition_id(topic, partition)
    ids = {
        "scenario_id": scenario,
        "partition_id": at,
        "world_id": int(table.world_id[at]) + sum(len(i.worlds) for i in inputs[:scenario]),
        "feed_id": int(table.feed_id[at]) + sum(len(i.feeds) for i in inputs[:scenario]),
        "replica_order": int(table.replica_order[at]),
        "assigned": int(table.assigned[at]),
        "isr": 3,
    }
    return [state_row(**{**ids, "slot": slot, **common, **own}) for slot, own in enumerate(slots)]


@pytest.fixture(scope="module")
def state(spark: SparkSession, inputs: list[ScenarioInputs]) -> DataFrame:
    offline = {"running": 0, "offline": 0, "controller_up": True}
    first_offline: dict[str, Any] = {**offline, "offline": 1, "running": 2}
    running: dict[str, Any] = {**offline, "running": 7}
    election = {"round": 3, "kind": EVENT_KINDS.index("election"), "leader_epoch": 2, "cause": 0}
    truncate = {"round": 4, "kind": EVENT_KINDS.index("truncate"), "from_offset": 9, "to_offset": 7, "cause": -1}
    rows = [
        *rows_of(
            inputs, 0, "a", 0,
            [
                {"leo": 9, "hw": 7, "believed_epoch": 1, "is_leader": True, "log": log((0, 0)), "refused": 3,
                 "log_bytes": 90, "served_bytes": 0, "produced_bytes": 20},
                {"leo": 8, "hw": 6, "believed_epoch": 2, "is_leader": True, "log_start_offset": 2, "log_bytes": 80,
                 "log": log((0, 0), (0, 4), (2, 6)), "events": [election, truncate], "refused": 4,
                 "served_bytes": 30, "served": [{"slot": 0, "bytes": 5}, {"slot": 0, "bytes": 6}],
                 "believed_leader": 0},
            ],
            leader=1, leader_epoch=2, isr=2, world=first_offline, elections=1, leaderless_rounds=5,
        ),
        *rows_of(inputs, 0, "a", 1, [{}, {}], leader=-1, client_leader=-1, leader_epoch=4, isr=1, world=running),
        *rows_of(
            inputs, 0, "b", 0, [{"leo": 4}, {"leo": 5, "log_bytes": 50}, {"leo": 6}],
            leader=1, replica_order=2 | 3 << 5, assigned=6, isr=6, world=running,
        ),
        *rows_of(inputs, 0, "b", 1, [{}, {}], leader=-1, client_leader=1, isr=3, world=running),
        *rows_of(inputs, 0, "b", 2, [{}, {}], world=running),
        *rows_of(inputs, 1, "a", 1, [{}, {}], world=running),
        *rows_of(inputs, 1, "b", 0, [{}, {}, {}], world=running),
        *rows_of(inputs, 1, "c", 0, [{"leo": 3}, {}], leader=0, world=running, log_bytes=1),
    ]  # fmt: skip
    return state_frame(spark, rows)


@pytest.fixture(scope="module")
def tables(
    spark: SparkSession, state: DataFrame, inputs: list[ScenarioInputs], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, DataFrame]:
    """All tables, written as a run writes them."""
    return written(spark, assemble(spark, state, losses_at_elections(state), inputs), tmp_path_factory.mktemp("run"))


def written(spark: SparkSession, frames: dict[str, DataFrame], folder: Path) -> dict[str, DataFrame]:
    output = OutputDirectory(spark, str(folder))
    output.stage()
    for name, frame in frames.items():
        output.write(name, frame)
    output.commit()
    return {name: spark.read.parquet(output.table_uri(name)) for name in frames}


def values(frame: DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.select(*columns).collect()), key=str)


def test_tables_of_the_contract(tables: dict[str, DataFrame]) -> None:
    assert set(tables) == {
        "partitions", "outcomes", "events", "replicas", "leader_epochs", "brokers", "faults", "remote_segments", "invariants",
        "violations", "consumer_groups", "event_counts", "unread",
    }  # fmt: skip
    assert tables["remote_segments"].count() == tables["violations"].count() == 0


def test_partitions_and_outcomes(tables: dict[str, DataFrame]) -> None:
    keys = ("scenario_id", "topic", "partition")
    assert values(tables["partitions"], *keys, "replicas") == [
        (0, "a", 0, [5, 4]), (0, "a", 1, [1, 2]), (0, "b", 0, [1, 2]), (0, "b", 1, [5, 4]), (0, "b", 2, [4, 5]),
        (1, "a", 1, [1, 2]), (1, "b", 0, [3, 1]), (1, "c", 0, [2, 5]),
    ]  # fmt: skip
    columns = ("leader", "leader_epoch", "isr", "hw", "leo", "refused", "elections", "leaderless_rounds", "acked")
    assert values(tables["outcomes"], *keys, *columns) == [
        (0, "a", 0, 4, 2, [4], 6, 8, 7, 1, 5, 0),
        (0, "a", 1, -1, 4, [1], 0, 0, 0, 0, 0, 0),
        (0, "b", 0, 1, 0, [1, 2], 0, 5, 0, 0, 0, 0),
        (0, "b", 1, -1, 0, [4, 5], 0, 0, 0, 0, 0, 0),
        (0, "b", 2, 4, 0, [4, 5], 0, 0, 0, 0, 0, 0),
        (1, "a", 1, 1, 0, [1, 2], 0, 0, 0, 0, 0, 0),
        (1, "b", 0, 3, 0, [1, 3], 0, 0, 0, 0, 0, 0),
        (1, "c", 0, 2, 0, [2, 5], 0, 3, 0, 0, 0, 0),
    ]


def test_replicas_and_leader_epochs(tables: dict[str, DataFrame]) -> None:
    replicas = values(tables["replicas"], "scenario_id", "topic", "partition", "broker", "role", "leo", "in_isr")
    assert replicas == [
        (0, "a", 0, 4, "leader", 8, True), (0, "a", 0, 5, "offline", 9, False), (0, "a", 1, 1, "follower", 0, True),
        (0, "a", 1, 2, "follower", 0, False), (0, "b", 0, 1, "follower", 5, True), (0, "b", 0, 2, "follower", 6, True),
        (0, "b", 1, 4, "follower", 0, True), (0, "b", 1, 5, "follower", 0, True), (0, "b", 2, 4, "follower", 0, True),
        (0, "b", 2, 5, "follower", 0, True), (1, "a", 1, 1, "follower", 0, True), (1, "a", 1, 2, "follower", 0, True),
        (1, "b", 0, 1, "follower", 0, True), (1, "b", 0, 3, "follower", 0, True), (1, "c", 0, 2, "follower", 3, True),
        (1, "c", 0, 5, "follower", 0, True),
    ]  # fmt: skip
    assert values(tables["leader_epochs"], "topic", "broker", "epoch", "start_offset", "end_offset") == [
        ("a", 4, 0, 2, 6), ("a", 4, 2, 6, None), ("a", 5, 0, 0, None),
    ]  # fmt: skip


def test_events_of_rounds_and_of_sessions(tables: dict[str, DataFrame]) -> None:
    columns = ("kind", "broker", "leader_epoch", "from_offset", "to_offset", "cause")
    events = values(tables["events"], "scenario_id", "topic", "partition", "round", *columns)
    assert [e for e in events if not e[4].endswith("fenced")] == [
        (0, "a", 0, 3, "election", 4, 2, None, None, 0),
        (0, "a", 0, 4, "truncate", 4, None, 9, 7, None),
    ]
    # Broker 4 dies at 10, is fenced at 14, is back at 20; b-0 does not have broker 2 at the start.
    assert [e for e in events if e[4] == "fenced"] == [
        (0, "a", 0, 14, "fenced", 4, None, None, None, 0),
        (0, "b", 1, 14, "fenced", 4, None, None, None, 0),
        (0, "b", 2, 14, "fenced", 4, None, None, None, 0),
        (1, "a", 1, 54, "fenced", 2, None, None, None, 1),
        (1, "c", 0, 54, "fenced", 2, None, None, None, 1),
    ]
    assert [(e[1], e[2], e[3]) for e in events if e[4] == "unfenced"] == [("a", 0, 20), ("b", 1, 20), ("b", 2, 20)]


def test_brokers_and_faults(tables: dict[str, DataFrame]) -> None:
    brokers = values(tables["brokers"], "scenario_id", "broker", "rack")
    assert brokers[:2] == [(0, 1, "0"), (0, 2, "1")]
    assert len(brokers) == 10
    faults = values(tables["faults"], "scenario_id", "fault_id", "kind", "broker", "from_round")
    assert faults == [(0, 0, "broker_crash", 4, 10), (1, 0, "broker_crash", 4, 10), (1, 1, "isolation", 2, 50)]


def test_broker_bucket(spark: SparkSession, state: DataFrame, inputs: list[ScenarioInputs], tmp_path: Path) -> None:
    output = OutputDirectory(spark, str(tmp_path))
    output.stage()
    output.write_rows("broker_rounds", broker_bucket(spark, state, inputs, 5, 25))
    output.commit()
    bucket = spark.read.parquet(output.table_uri("broker_rounds"))
    columns = (
        "bytes_in",
        "bytes_out",
        "cross_rack_bytes_out",
        "leader_count",
        "follower_count",
        "local_bytes",
        "up",
        "up_rounds",
    )
    assert values(bucket, "scenario_id", "broker", *columns) == [
        (0, 1, 0, 0, 0, 1, 1, 50, True, 20),
        (0, 2, 0, 0, 0, 0, 2, 0, True, 20),
        (0, 3, 0, 0, 0, 0, 0, 0, True, 20),
        (0, 4, 41, 0, 0, 2, 1, 60, True, 10),
        (0, 5, 20, 41, 41, 0, 2, 90, True, 20),
        (1, 1, 0, 0, 0, 1, 1, 0, True, 20),
        (1, 2, 0, 0, 0, 1, 1, 1, True, 20),
        (1, 3, 0, 0, 0, 1, 0, 0, True, 20),
        (1, 4, 0, 0, 0, 0, 0, 0, True, 10),
        (1, 5, 0, 0, 0, 0, 1, 1, True, 20),
    ]
    cut_short = dict(zip(OUTPUT_TABLES["broker_rounds"].names, broker_bucket(spark, state, inputs, 50, 75)[0], strict=True))
    assert (cut_short["from_round"], cut_short["to_round"], cut_short["up_rounds"]) == (50, 60, 10)
    assert broker_bucket(spark, state, inputs, 60, 75) == []


def test_trace_tables(spark: SparkSession, inputs: list[ScenarioInputs], tmp_path: Path) -> None:
    def at(round_: int, **given: Any) -> dict[str, Any]:
        common: dict[str, Any] = {
            "round": round_, "running": True, "offline": False, "assigned": 3, "replica": True, "is_leader": False,
            "believed_epoch": 1, "log_start_offset": 0, "leo": 2, "hw": 1, "remote_leo": None, "in_isr": True,
            "fetch_state": None, "epochs": epochs((0, 0)), "leader": 1, "leader_epoch": 1, "isr": 3,
        }  # fmt: skip
        return {**common, **given}

    slots = [
        {"trace": [at(7, offline=True, is_leader=True), at(8, replica=False, leader=-1, isr=2)]},
        {"trace": [at(7, is_leader=True, leo=5), at(8, remote_leo=4)]},
    ]
    rows = rows_of(inputs, 0, "b", 1, slots) + rows_of(inputs, 0, "b", 2, [{}, {"trace": []}])
    trace, partitions = written(spark, trace_tables(spark, state_frame(spark, rows), inputs), tmp_path).values()
    assert [tuple(e) for e in values(trace, "epochs")[0][0]] == [(0, 0)]
    assert values(trace, "topic", "partition", "round", "broker", "role", "leo", "remote_leo") == [
        ("b", 1, 7, 4, "leader", 5, None),
        ("b", 1, 7, 5, "offline", 2, None),
        ("b", 1, 8, 4, "follower", 2, 4),
    ]
    assert values(partitions, *OUTPUT_TABLES["trace_partitions"].names) == [
        (0, "b", 1, 7, 4, 1, [4, 5], [], []),
        (0, "b", 1, 8, -1, 1, [4], [], []),
    ]
