"""The arrays against what each partition has, one by one, and the start against the initial tables row by row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.inputs.arrays import prepare, read_block
from emulator.rounds.kafka import constants as kc
from emulator.scenario import Scenario, load_run
from tests.inputs.naive_worlds import world_at
from tests.inputs.one_by_one import OneScenario
from tests.reference.random_layers import retained_batch
from tests.reference.random_scenarios import random_batch, to_toml

from .as_before import Told, assert_plain
from .start_by_rows import start_by_rows

CASES = 8


def scenario_of(text: str, folder: Path) -> Scenario:
    path = folder / "scenario.toml"
    path.write_text(text, encoding="utf-8")
    return load_run(str(path)).scenarios[0]


def flags_of(scenario: Scenario) -> dict[int, np.ndarray]:
    """Every third partition is traced."""
    count = sum(topic.partitions for topic in scenario.topics)
    return {scenario.scenario_id: np.arange(count) % 3 == 0}


def assert_same(scenarios: list[Scenario], every: int = 1) -> None:
    """That blocks of all partitions, in any order, say what each partition has in every round, or some."""
    traced = {number: flags for scenario in scenarios for number, flags in flags_of(scenario).items()}
    prepared = prepare(scenarios, traced, leaps=True, bucket_rounds=10)
    inputs = [OneScenario(scenario) for scenario in scenarios]
    places = np.random.default_rng(1).permutation(prepared.partition_count)
    assert prepared.slots.tolist() == [len(one.brokers) for i in inputs for one in i.partitions]
    assert prepared.rounds.tolist() == [i.scenario.rounds for i in inputs for _ in i.partitions]
    for chosen in np.array_split(places, 3):
        block = read_block(prepared.block(chosen))
        assert_plain(block)
        told = Told(block)
        for p, place in enumerate(chosen.tolist()):
            i = int(np.searchsorted(prepared.first_place, place, "right")) - 1
            at = place - int(prepared.first_place[i])
            assert told.parts[p].scenario == i and told.parts[p].number == at and told.parts[p].place == p
            assert told.parts[p].traced == traced[scenarios[i].scenario_id][at]
            names = (block.scenario_id[p], block.topic_names[i][block.topic_index[p]], block.partition[p])
            assert names == prepared.names(place)
            assert_partition(told, p, inputs[i], at, every)
            assert prepared.brokers(place) == [replica.broker for replica in told.replicas(p)]


def assert_partition(told: Told, p: int, inputs: OneScenario, at: int, every: int) -> None:
    """That one partition is as it is by itself."""
    scenario, one = inputs.scenario, inputs.partitions[at]
    assert tuple(replica.broker for replica in told.replicas(p)) == one.brokers
    assert (told.parts[p].assigned, told.parts[p].order) == (one.assigned, one.order)
    assert told.parts[p].end == scenario.rounds
    for round_ in range(0, scenario.rounds, every):
        own = one.at(round_)
        for name, value in told.feed(p, round_).items():
            expected = min(own[name], kc.FOREVER) if name.endswith("_rounds") else own[name]
            assert value == expected, f"{at} in round {round_}: {name}"
        assert told.retention(p, round_) == one.retention(round_), f"{at} in round {round_}"
        world = world_at(inputs, one, round_)
        for name, value in told.world(p, round_).items():
            assert value == world[name], f"{at} in round {round_}: {name}"
    assert_start(told, p, start_by_rows(inputs, at), f"{scenario.name} {at}")


def assert_start(told: Told, p: int, expected: dict[str, Any], where: str) -> None:
    """That a partition starts as expected."""
    for name, value in expected["partition"].items():
        assert told.parts[p][name] == value, f"{where}: {name}"
    for slot, (replica, values) in enumerate(zip(told.replicas(p), expected["replicas"], strict=True)):
        for name, value in values.items():
            assert replica[name] == value, f"{where}, slot {slot}: {name}"
    assert_lists(told, p, expected)


def assert_lists(told: Told, p: int, expected: dict[str, Any]) -> None:
    """That the lists of a partition are as expected."""
    part = told.parts[p]
    for slot in range(part.slots):
        at = int(part.first_replica) + slot
        assert told.entries("epochs", at) == expected["epochs"][slot]
        runs = told.entries("runs", 2 * at)
        assert [(start, epoch) for start, epoch, *_ in runs] == expected["runs"][slot]
        for start, _, pattern, phase, start_bytes, first_round in runs:
            size = expected["record_bytes"]
            assert told.batches(pattern) == [{"records": 1, "bytes": size, "acked_on_append": False, "unacknowledged": False}]
            assert (phase, start_bytes, first_round) == (0, start * size, -1)
        assert told.entries("runs", 2 * at + 1) == []
    assert told.entries("ranges", 7 * p) == expected["lead_entries"]
    assert all(told.entries("ranges", 7 * p + kind) == [] for kind in range(1, 7))
    assert told.entries("sent", p) == expected["sent"]
    assert told.entries("news", p) == expected["news"]


@pytest.mark.parametrize(("elr", "late_news"), [(False, False), (True, False), (False, True), (True, True)])
def test_random_batches(tmp_path: Path, elr: bool, late_news: bool) -> None:
    for seed in range(4):
        scenario = scenario_of(to_toml(random_batch(seed, CASES, elr, late_news)), tmp_path)
        assert_same([scenario])


def test_retention_of_random_batches(tmp_path: Path) -> None:
    scenario = scenario_of(to_toml(retained_batch(3, CASES)), tmp_path)
    inputs = OneScenario(scenario)
    prepared = prepare([scenario], {}, False, 60)
    told = Told(read_block(prepared.block(np.arange(prepared.partition_count))))
    kept = 0
    for p in range(prepared.partition_count):
        for round_ in range(scenario.rounds):
            retention = inputs.partitions[p].retention(round_)
            assert told.retention(p, round_) == retention
            kept += retention is not None
    assert kept > 0


def test_scenarios_side_by_side(tmp_path: Path) -> None:
    texts = [to_toml(random_batch(seed, CASES, elr=seed == 2, late_news=seed == 3)) for seed in (1, 2, 3)]
    protocols = ("kafka-kip101", "kafka-mutant-unclean-kept-in-elr", "kafka")
    scenarios = [
        replace(scenario_of(text, tmp_path), scenario_id=7 + i, protocol=protocol)
        for i, (text, protocol) in enumerate(zip(texts, protocols, strict=True))
    ]
    assert_same(scenarios, every=3)


WHOLE = """
rounds = 90
round_ms = 1000
[cluster]
brokers = 7
racks = 2
config = { "min.insync.replicas" = 2, "segment.ms" = 9223372036854775807 }
[[topics]]
name = "orders"
partitions = 9
replication_factor = 3
[[topics]]
name = "or.b"
assignment = [[1, 2], [3], [4, 5, 6, 7]]
config = { "flush.messages" = 7, "min.insync.replicas" = 1 }
[[topics]]
name = "payments"
partitions = 4
replication_factor = 2
[[workload]]
topic = "or*"
records_per_round = 3
[[workload]]
topic = "or*"
partitions = "1-7,2,0"
from_round = 10
to_round = 60
records_per_round = 2
record_bytes = 10
acks = "1"
[[workload]]
topic = "orders"
partitions = "2"
from_round = 20
to_round = 60
records_per_round = 0
acks = "0"
[[workload]]
topic = "orders"
partitions = "3-5"
from_round = 60
records_per_round = 2
record_bytes = 10
acks = "0"
[[workload]]
topic = "payments"
partitions = "0"
acks = "0"
from_round = 500
to_round = 501
records_per_round = 1
[[faults]]
kind = "stale_metadata"
topic = "or*"
from_round = 5
to_round = 20
lag_rounds = 3
[[faults]]
kind = "stale_metadata"
topic = "orders"
partition = 4
broker = 2
from_round = 10
to_round = 30
lag_rounds = 9
[[faults]]
kind = "stale_metadata"
topic = "*"
partition = 1
from_round = 12
[[faults]]
kind = "slow_link"
broker = 3
bytes_per_second = 100
from_round = 3
to_round = 50
[[faults]]
kind = "link_cut"
broker = 1
peer = 2
from_round = 3
to_round = 50
[[commands]]
round = 4
kind = "alter_config"
topic = "or*"
config = { "min.insync.replicas" = 1 }
[[commands]]
round = 5
kind = "alter_config"
config = { "min.insync.replicas" = 3, "replica.lag.time.max.ms" = 9223372036854775807 }
[[commands]]
round = 400
kind = "alter_config"
config = { "min.insync.replicas" = 1 }
[[commands]]
round = 6
kind = "alter_config"
broker = 3
config = { "replica.fetch.max.bytes" = 77, "replica.fetch.wait.max.ms" = 0 }
[[commands]]
round = 9
kind = "reassign"
topic = "orders"
partition = 2
replicas = [7, 6]
[[commands]]
round = 8
kind = "preferred_leader_election"
topic = "*"
[[commands]]
round = 8
kind = "reassign"
topic = "or*"
partition = 2
replicas = [5, 4, 1]
[[commands]]
round = 9
kind = "reassign"
topic = "orders"
partition = 2
replicas = [1, 2]
[[commands]]
round = 8
kind = "delete_records"
topic = "payments"
partition = 3
offset = -1
[[commands]]
round = 8
kind = "delete_records"
topic = "payments"
partition = 3
offset = 5
"""

INITIAL = """
[[initial.partitions]]
topic = "payments"
partition = 1
leader = -1
leader_epoch = 4
isr = []
[[initial.partitions]]
topic = "or.b"
partition = 2
leader = 6
leader_epoch = 9
isr = [6, 4]
elr = [5]
[[initial.replicas]]
topic = "or.b"
partition = 2
broker = 6
log_start_offset = 7
leo = 20
hw = 11
epochs = [[1, 0], [2, 3], [3, 7], [6, 20]]
flushed_offset = 9
record_bytes = 50
[[initial.replicas]]
topic = "or.b"
partition = 2
broker = 4
log_start_offset = 5
leo = 12
record_bytes = 60
[[initial.replicas]]
topic = "or.b"
partition = 2
broker = 7
log_start_offset = 30
leo = 30
epochs = [[2, 3], [4, 30]]
[[initial.replicas]]
topic = "or.b"
partition = 2
broker = 5
log_start_offset = 9
leo = 12
epochs = [[1, 0], [2, 5], [3, 10]]
[[initial.replicas]]
topic = "orders"
partition = 3
broker = 4
leo = 12
hw = 4
"""


def test_globs_lists_of_partitions_and_given_logs(tmp_path: Path) -> None:
    scenario = scenario_of(WHOLE + INITIAL, tmp_path)
    assert_same([scenario])
    assert_same([replace(scenario, features={"eligible.leader.replicas.version": 1}, protocol="kafka-kip279")], every=9)
    assert_same([scenario, replace(scenario_of(WHOLE, tmp_path), scenario_id=3)], every=9)


def test_periods_longer_than_any_run_are_whole_numbers_of_rounds(tmp_path: Path) -> None:
    block = read_block(prepare([scenario_of(WHOLE, tmp_path)], {}, True, 60).block(np.arange(3)))
    first = block.inputs.settings[block.state.partitions[0].settings]
    assert (first.segment_rounds, first.flush_ms, first.flush_messages) == (2**31 - 1, 0, 0)
    others = [name for name in first.dtype.names if name != "from_round"]
    of_time = [name for name in others if name.endswith("_ms")]
    assert max(int(block.inputs.settings[name].max()) for name in others if name not in of_time) < 2 * kc.FOREVER
    assert all(int(block.inputs.settings[name].max()) <= 2**62 for name in of_time)  # sums with it are still numbers
