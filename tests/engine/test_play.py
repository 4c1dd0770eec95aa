"""`emulator.rounds.play`: rounds one by one, many at once, and a run of the same scenario are equal."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from emulator.arrow.schemas import to_arrow_schema
from emulator.engine.carried import unpack, words_from
from emulator.engine.play_blocks import play_payload
from emulator.engine.state_frames import STATE_COLUMNS
from emulator.engine.state_inputs import states_scenario
from emulator.engine.state_rows import play_rows
from emulator.errors import InputError
from emulator.inputs.arrays import prepare
from emulator.rounds import play
from emulator.rounds.kafka.list_records import Sent
from emulator.rounds.kafka.records import Partition
from emulator.rounds.records import word_of
from emulator.scenario import Scenario, load_run
from tests.engine.test_state_at import SCENARIO

SCHEMA = to_arrow_schema(STATE_COLUMNS)
CLUSTER = {"brokers": 5, "session_timeout_rounds": 3, "config": {
    "replica.lag.time.max.ms": 2000, "replica.high.watermark.checkpoint.interval.ms": 2500}}  # fmt: skip
TOPICS = [{"name": "orders", "config": {
    "min.insync.replicas": 2, "unclean.leader.election.enable": True, "flush.messages": 7}}]  # fmt: skip
WORKLOAD = [{"topic": "*", "records_per_round": 3, "record_bytes": 100, "acks": "all"}]


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    path = tmp_path_factory.mktemp("play") / "scenario.toml"
    path.write_text(SCENARIO)
    return load_run(str(path)).scenarios[1]


@pytest.fixture(scope="module")
def faults(faulty: Scenario) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if value} for row in faulty.faults.to_pylist()]


def start(faulty: Scenario) -> pa.Table:
    rows = [
        {"scenario_id": 0, "topic": "orders", "partition": number, "broker": broker, "replicas": replicas}
        for number, replicas in enumerate(faulty.topics[0].assignment.tolist())
        for broker in replicas
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


def texts(table: pa.Table) -> list[str]:
    columns = [name for name in table.schema.names if name not in ("scenario_id", "replicas", "carried")]
    return sorted(map(str, table.select(columns).to_pylist()))


def of_run(faulty: Scenario, at_round: int) -> list[str]:
    prepared = prepare([faulty], {}, True, 25)
    return texts(play_payload(0, prepared.block(np.arange(10)), (at_round,))["replica_states"])


def test_rounds_one_by_one_equal_many_at_once(faulty: Scenario, faults: list[dict[str, Any]]) -> None:
    scenario = states_scenario(faults, WORKLOAD, CLUSTER, TOPICS, "kafka", 500)
    state = start(faulty)
    for _ in range(50):
        state = play_rows(scenario, 1, state)
    assert texts(state) == texts(play_rows(scenario, 50, start(faulty))) == of_run(faulty, 49)


def sent_of(state: pa.Table) -> list[Any]:
    """What each partition's leaders sent with acks=0: stretches with the batches that they repeat, the latest at the end."""
    found = []
    for carried in map(unpack, state.column("carried").to_pylist()):
        if carried.partition is None:
            continue
        of = {number: content for number, (_, content) in carried.patterns.items()}
        stretches = words_from(carried.partition.lists["sent"][0], Sent).tolist()
        part = words_from(carried.partition.words, Partition)[0]
        latest = [int(part[word_of(Partition, name)]) for name in ("sent_from", "sent_to", "sent_pattern")]
        found.append([(*rest, of.get(pattern)) for *rest, pattern in [*stretches, latest]])
    return found


def test_patterns_of_what_was_sent_with_acks_0_go_along(faulty: Scenario, faults: list[dict[str, Any]]) -> None:
    """Batches with acks=0 among others, in calls that have other patterns as well: of rows that only come later."""
    begin, end = {"records_per_round": 2, "to_round": 30}, {"records_per_round": 5, "from_round": 30}
    workload = [{**WORKLOAD[0], "acks": "0"}, *({**WORKLOAD[0], **rows} for rows in (begin, end))]
    whole, state = states_scenario(faults, workload, CLUSTER, TOPICS, "kafka", 500), start(faulty)
    for number in range(5):
        more = [{**WORKLOAD[0], "records_per_round": count, "from_round": 5000} for count in range(1, number + 2)]
        state = play_rows(states_scenario(faults, [*more, *workload], CLUSTER, TOPICS, "kafka", 500), 10, state)
    expected = play_rows(whole, 50, start(faulty))
    assert texts(state) == texts(expected)
    assert sent_of(state) == sent_of(expected)
    assert max(map(len, sent_of(state))) > 2
    assert {stretch[-1] for of_partition in sent_of(state) for stretch in of_partition} > {None}


def test_faults_and_workload_are_written_as_in_a_scenario_file(faulty: Scenario) -> None:
    """Times for rounds, a moment by its name, and NumPy's numbers."""
    at_append = [{"kind": "broker_crash", "broker": np.int64(1), "from_round": "5s", "to_round": "15s", "moment": "after-append"}]
    in_rounds = [{"kind": "broker_crash", "broker": 1, "from_round": 10, "to_round": 30, "moment": 1.0}]
    states = []
    for faults, end in ((at_append, "20s"), (in_rounds, 40)):
        workload = [{**WORKLOAD[0], "to_round": end}]
        states.append(texts(play_rows(states_scenario(faults, workload, CLUSTER, TOPICS, "kafka", 500), 50, start(faulty))))
    assert states[0] == states[1]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"broker": 1.5}, "play: faults[0].broker: 1.5 is of the wrong type; allowed: an integer"),
        ({"from_round": "5 seconds"}, 'play: faults[0].from_round: "5 seconds" is'),
        ({"moment": 2}, "play: faults[0].moment: 2 is no moment of a round; allowed: 0 or more and below 1"),
        ({"brokr": 1}, 'play: faults[0].brokr: unknown key "brokr" (did you mean "broker"?); allowed: kind, '),
        ({"kind": "client_crash"}, "play: faults: client_crash is about ledgers; allowed: "),
    ],
)
def test_wrong_faults_are_refused_as_in_a_scenario_file(row: dict[str, Any], message: str) -> None:
    fault = {"kind": "broker_crash", "broker": 1, "from_round": 3, **row}
    if row.get("kind"):
        del fault["broker"]
    with pytest.raises(InputError, match=re.escape(message)):
        states_scenario([fault], WORKLOAD, CLUSTER, TOPICS, "kafka", 500)


def test_changed_columns_are_refused(faulty: Scenario, faults: list[dict[str, Any]]) -> None:
    scenario = states_scenario(faults, WORKLOAD, CLUSTER, TOPICS, "kafka", 500)
    rows = play_rows(scenario, 3, start(faulty)).to_pylist()
    rows[4]["leo"] = 1
    with pytest.raises(InputError, match=r"state: orders-1: leo of broker \d is 1, and 9 in carried; allowed: "):
        play_rows(scenario, 1, pa.Table.from_pylist(rows, SCHEMA))
    with pytest.raises(InputError, match="rows of replicas are missing"):
        play_rows(scenario, 1, pa.Table.from_pylist(rows[:-1], SCHEMA))


def test_play_in_spark(faulty: Scenario, faults: list[dict[str, Any]], spark: SparkSession, tmp_path: Path) -> None:
    state = spark.createDataFrame(start(faulty).select(["topic", "partition", "broker", "replicas"]))
    for rounds in (20, 30):
        state = play(state, faults, WORKLOAD, cluster=CLUSTER, topics=TOPICS, rounds=rounds)
    assert texts(state.toArrow()) == of_run(faulty, 49)
    with pytest.raises(InputError, match="play: rounds: 0 is no number of rounds; allowed: 1 or more"):
        play(state, cluster=CLUSTER, topics=TOPICS, rounds=0)
    with pytest.raises(InputError, match="play: compiled rounds cannot play it: brokers share bandwidth"):
        play(state, cluster={**CLUSTER, "network_bytes_per_second": 9}, topics=TOPICS, rounds=1)
