"""The tables of changes against their definitions on random faults, placements and settings."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from datasets.schedules import schedules_toml
from emulator.arrow_schemas import from_arrow_schema, to_arrow_schema
from emulator.expressions.kafka.state import FEED, WORLD
from emulator.inputs import ScenarioInputs, change_tables, scenario_inputs
from emulator.inputs.change_types import FEED_CHANGES, WORLD_CHANGES, WORLD_VALUE
from emulator.inputs.classifier import _distinct_rows
from emulator.scenario import Command, Scenario, load_run
from tests.faults.test_timeline import ALL_KINDS, fault, fault_table, random_fault
from tests.reference.random_scenarios import random_batch, to_toml

from .naive_worlds import naive_changes

BROKERS = 12
SETTINGS = {
    "replica.fetch.max.bytes": (0, 1, 500),
    "replica.fetch.wait.max.ms": (0, 500),
    "num.replica.fetchers": (1, 2),
    "remote.log.manager.copy.max.bytes.per.second": (1, 1000),
    "follower.fetch.last.tiered.offset.enable": (False, True),
    "remote.log.manager.fetch.max.bytes.per.second": (1, 1000, 2**63 - 1),
    "remote.log.reader.threads": (1, 20),
    "remote.log.reader.max.pending.tasks": (1, 100),
    "remote.log.index.file.cache.total.size.bytes": (1, 2**40),
}


def scenario_of(text: str, folder: Path) -> Scenario:
    path = folder / "scenario.toml"
    path.write_text(text, encoding="utf-8")
    return load_run(str(path)).scenarios[0]


def small_scenario(rounds: int, assignments: dict[str, list[list[int]]], folder: Path) -> Scenario:
    topics = "".join(f'[[topics]]\nname = "{name}"\nassignment = {lists}\n' for name, lists in assignments.items())
    head = f"rounds = {rounds}\nround_ms = 50\ncluster = {{ brokers = {BROKERS}, session_timeout_rounds = 3 }}\n"
    return scenario_of(head + topics, folder)


def random_scenario(seed: int, rounds: int, folder: Path) -> Scenario:
    """Partitions of any number of replicas on brokers that all kinds of faults and settings of their own come over."""
    rng = random.Random(seed)
    ids = list(range(1, BROKERS + 1))
    lists = {name: [rng.sample(ids, rng.randint(1, BROKERS)) for _ in range(4)] for name in ("a1", "a2", "b")}
    faults = [random_fault(rng, ids, rounds, ALL_KINDS) for _ in range(rng.choice((0, 4, 12, 40)))]
    commands = [Command(rng.randrange(rounds), "reassign", "b", 1, replicas=tuple(rng.sample(ids, 3)))]
    for _ in range(rng.choice((0, 3, 10))):
        key = rng.choice(list(SETTINGS))
        change = Command(rng.randrange(2 * rounds), "alter_config", config={key: rng.choice(SETTINGS[key])})
        commands.append(replace(change, broker=rng.choice((None, *ids))))
    scenario = small_scenario(rounds, lists, folder)
    brokers = tuple(replace(broker, rack=rng.choice(("a", "b"))) for broker in scenario.brokers)
    return replace(scenario, brokers=brokers, faults=fault_table(*faults), commands=tuple(commands))


def by_id(table: pa.Table) -> dict[int, list[dict[str, Any]]]:
    ids, changes = (column.to_pylist() for column in table.columns)
    assert ids == sorted(set(ids))
    return dict(zip(ids, changes, strict=True))


def assert_as_defined(inputs: ScenarioInputs, from_round: int, to_round: int, what: str) -> dict[int, list[dict[str, Any]]]:
    wanted, got = naive_changes(inputs, from_round, to_round), by_id(inputs.world_change_table(from_round, to_round, 7))
    assert list(got) == [7 + world for world in wanted], what
    for world, values in wanted.items():
        for value, found in zip(values, got[7 + world], strict=True):
            assert found == value, f"{what}: {inputs.worlds[world]} in round {value['from_round']}"
    return wanted


def assert_counts(inputs: ScenarioInputs, what: str) -> None:
    """That the changes of worlds, and of worlds and feeds, are as many as there are values."""
    rounds = inputs.scenario.rounds
    counts = Counter(value["from_round"] for values in naive_changes(inputs, 0, rounds).values() for value in values)
    assert list(zip(*inputs.changes.change_counts(), strict=True)) == sorted(counts.items()), what
    for feed in inputs.feeds:
        counts.update(feed.changes_between(0, rounds))
    assert list(zip(*inputs.change_counts(), strict=True)) == sorted(counts.items()), what


def test_values_are_as_defined_under_all_kinds_of_faults(tmp_path: Path) -> None:
    told: Counter[str] = Counter()
    rng = random.Random(1)
    for seed in range(70):
        inputs = scenario_inputs(random_scenario(seed, rounds := rng.choice((1, 12, 40)), tmp_path))
        from_round = rng.randrange(rounds)
        assert_as_defined(inputs, from_round, rng.randint(from_round, rounds), f"seed {seed}")
        for changes in assert_as_defined(inputs, 0, rounds, f"seed {seed}").values():
            told.update(name for change in changes for name, value in change["value"].items() if value)
        assert_counts(inputs, f"seed {seed}")
    assert {field.name for field in WORLD_VALUE} == set(told), "every field says something somewhere"


@pytest.mark.parametrize("late_news", [False, True])
def test_values_are_as_defined_in_random_batches(tmp_path: Path, late_news: bool) -> None:
    for seed in range(6):
        inputs = scenario_inputs(scenario_of(to_toml(random_batch(seed, 8, late_news=late_news)), tmp_path))
        assert_as_defined(inputs, 0, inputs.scenario.rounds, f"seed {seed}")
        assert_counts(inputs, f"seed {seed}")


def test_values_are_as_defined_in_schedules(tmp_path: Path) -> None:
    inputs = scenario_inputs(scenario_of(schedules_toml(240, ["kafka"]), tmp_path))
    assert_as_defined(inputs, 0, inputs.scenario.rounds, "schedules")
    assert_counts(inputs, "schedules")


def test_slow_links_are_in_the_order_of_broker_ids(tmp_path: Path) -> None:
    scenario = small_scenario(5, {"t": [[5, 7, 2]]}, tmp_path)
    faults = fault_table(fault("slow_link", 2, 4, 7, bytes_per_second=400), fault("isolation", 3, 4, 2))
    ((first, slow, isolated, *_),) = by_id(scenario_inputs(replace(scenario, faults=faults)).world_change_table(0, 5)).values()
    assert first["value"]["slow"] is None and first["value"]["drop"] is None
    links = [(link["from_slot"], link["to_slot"]) for link in slow["value"]["slow"]]
    assert links == [(0, 1), (1, 2), (1, 0), (2, 1)], "from slot 1: to broker 2, then to broker 5"
    assert {link["bytes_per_round"] for link in slow["value"]["slow"]} == {20}
    assert isolated["value"]["drop"] == [0b100, 0b100, 0b011]


def test_more_stale_patterns_than_an_integer_has_bits(tmp_path: Path) -> None:
    scenario = small_scenario(6, {"t": [[1, 2]] * 80, "u": [[1, 2]]}, tmp_path)
    faults = [fault("stale_metadata", 1, 4, 1, topic="t", partition=partition, lag_rounds=1) for partition in range(70)]
    faults += [fault("stale_metadata", 2, 3, 2, topic="t")]
    inputs = scenario_inputs(replace(scenario, faults=fault_table(*faults)))
    assert len(inputs.worlds) == 70 + 2
    for partition in (0, 69, 70, 79, 80):
        (patterns,) = (inputs.worlds[i].stale_patterns for i in [inputs.partition_table.world_id[partition]])
        own = {("t", partition)} if partition < 70 else set()
        assert patterns == own | ({("t", None)} if partition < 80 else set())
    assert_as_defined(inputs, 0, 6, "stale")


def test_scenarios_side_by_side_are_numbered_through(tmp_path: Path) -> None:
    short, long = (scenario_inputs(random_scenario(seed, rounds, tmp_path)) for seed, rounds in ((6, 12), (7, 40)))
    for from_round, running in ((0, [short, long]), (20, [long])):
        worlds, feeds = change_tables([short, long], from_round, 40)
        changed = [naive_changes(i, from_round, 40) for i in running]
        first = len(short.worlds) if len(running) == 1 else 0
        wanted = {first + w: c for w, c in changed[0].items()}
        wanted |= {len(short.worlds) + w: c for w, c in changed[-1].items()}
        assert by_id(worlds) == wanted
        begun = {f: (feed, feed.changes_between(from_round, 40)) for f, feed in enumerate([*short.feeds, *long.feeds])}
        assert by_id(feeds) == {
            f: [{"from_round": r, "value": feed.at(r)} for r in rounds] for f, (feed, rounds) in begun.items() if rounds
        }
    assert [t.num_rows for t in change_tables([], 0, 5)] == [0, 0]


@pytest.mark.parametrize(
    ("schema", "key", "value"), [(WORLD_CHANGES, "world_id: INT", WORLD), (FEED_CHANGES, "feed_id: BIGINT", FEED)]
)
def test_types_are_those_of_the_state(schema: pa.Schema, key: str, value: str) -> None:
    types = f"STRUCT<{key}, changes: ARRAY<STRUCT<from_round: INT, value: STRUCT<{value}>>>>"
    spark_schema = from_arrow_schema(schema)
    assert spark_schema.simpleString() == re.sub(r"([:,]) +", r"\1", types).lower()
    assert to_arrow_schema(spark_schema) == schema, "Spark takes the tables as they are"


@pytest.mark.parametrize("columns", [1, 4, 12])
def test_distinct_rows(columns: int) -> None:
    table = np.random.default_rng(columns).integers(-1, 2, (300, columns)) * 10**7
    rows, group = _distinct_rows(table)
    wanted, inverse = np.unique(table, axis=0, return_inverse=True)
    assert (rows == wanted).all() and (group == inverse.reshape(-1)).all()
