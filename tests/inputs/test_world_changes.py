"""What arrays say of brokers against its definitions, on random faults, placements and settings."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from datasets.schedules import schedules_toml
from emulator.inputs.arrays import prepare, read_block
from emulator.scenario import Command, Scenario, load_run
from tests.faults.test_timeline import ALL_KINDS, fault, fault_table, random_fault
from tests.reference.random_scenarios import random_batch, to_toml

from .arrays.as_before import Told
from .naive_worlds import world_at
from .one_by_one import OneScenario

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


def told_of(scenario: Scenario) -> tuple[Told, OneScenario]:
    """All partitions as arrays, and one by one."""
    prepared = prepare([scenario], {}, False, 60)
    return Told(read_block(prepared.block(np.arange(prepared.partition_count)))), OneScenario(scenario)


def assert_as_defined(scenario: Scenario, what: str, every: int = 1) -> Counter[str]:
    """That all say the same of every partition in every round, or some; what they say, how often it is something."""
    told, one_by_one = told_of(scenario)
    said: Counter[str] = Counter()
    for p, partition in enumerate(one_by_one.partitions):
        for round_ in range(0, scenario.rounds, every):
            wanted = world_at(one_by_one, partition, round_)
            for name, value in told.world(p, round_).items():
                assert value == wanted[name], f"{what}: partition {p} in round {round_}: {name}"
                said[name] += bool(value)
            for name, settings in told.of_brokers(p, round_).items():
                assert settings == wanted[name], f"{what}: partition {p} in round {round_}: {name}"
                said[name] += settings is not None
    return said


def test_values_are_as_defined_under_all_kinds_of_faults(tmp_path: Path) -> None:
    told: Counter[str] = Counter()
    rng = random.Random(1)
    for seed in range(70):
        told += assert_as_defined(random_scenario(seed, rng.choice((1, 12, 40)), tmp_path), f"seed {seed}")
    assert len(told) > 25 and all(told.values()), "every field says something somewhere"


@pytest.mark.parametrize("late_news", [False, True])
def test_values_are_as_defined_in_random_batches(tmp_path: Path, late_news: bool) -> None:
    for seed in range(6):
        scenario = scenario_of(to_toml(random_batch(seed, 8, late_news=late_news)), tmp_path)
        assert_as_defined(scenario, f"seed {seed}")


def test_values_are_as_defined_in_schedules(tmp_path: Path) -> None:
    assert_as_defined(scenario_of(schedules_toml(240, ["kafka"]), tmp_path), "schedules", every=3)


def test_slow_links_are_in_the_order_of_broker_ids(tmp_path: Path) -> None:
    scenario = small_scenario(5, {"t": [[5, 7, 2]]}, tmp_path)
    faults = fault_table(fault("slow_link", 2, 4, 7, bytes_per_second=400), fault("isolation", 3, 4, 2))
    told, _ = told_of(replace(scenario, faults=faults))
    first, slow, isolated = (told.world(0, round_) for round_ in (0, 2, 3))
    assert first["slow"] is None and first["drop"] is None
    links = [(link["from_slot"], link["to_slot"]) for link in slow["slow"]]
    assert links == [(0, 1), (1, 2), (1, 0), (2, 1)], "from slot 1: to broker 2, then to broker 5"
    assert {link["bytes_per_round"] for link in slow["slow"]} == {20}
    assert isolated["drop"] == [0b100, 0b100, 0b011]


def test_more_stale_patterns_than_an_integer_has_bits(tmp_path: Path) -> None:
    scenario = small_scenario(6, {"t": [[1, 2]] * 80, "u": [[1, 2]]}, tmp_path)
    faults = [fault("stale_metadata", 1, 4, 1, topic="t", partition=partition, lag_rounds=1) for partition in range(70)]
    faults += [fault("stale_metadata", 2, 3, 2, topic="t")]
    scenario = replace(scenario, faults=fault_table(*faults))
    told, _ = told_of(scenario)
    assert len(set(told.parts["stale_class"].tolist())) == 70 + 2
    assert_as_defined(scenario, "stale")
