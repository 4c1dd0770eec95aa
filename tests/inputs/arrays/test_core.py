"""Which scenarios the core rounds can play, and by which rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.expressions.kafka.rules import RULES, TIERED_PROTOCOLS, Rules
from emulator.inputs.arrays import is_core, prepare, why_not_core
from emulator.inputs.arrays.rules import CORE_RULES, RULES_PLACES, rules_records
from emulator.scenario import Command, ConsumerRow, Scenario, load_run

from .test_against_builders import WHOLE, assert_same, scenario_of

EXAMPLES = Path(__file__).parents[3] / "datasets" / "examples"


def test_rules_are_those_of_rounds_in_sql() -> None:
    records, guards = rules_records(), [field.name for field in fields(Rules)]
    assert list(CORE_RULES) == list(RULES)
    for name in CORE_RULES:
        own = records[RULES_PLACES[name]]
        assert {guard: bool(own[guard]) for guard in guards} == {guard: getattr(RULES[name], guard) for guard in guards}
        assert own.check_every_fetch == (not name.startswith("kafka-mutant-") or name in TIERED_PROTOCOLS)
        assert own.know_remote_first
    of_readers = {"reads_within_lineage", "checks_position", "reads_committed_only", "follower_keeps_position"}
    assert {*records.dtype.names} == {*guards, "check_every_fetch", "know_remote_first", *of_readers}
    assert all(records[name].all() for name in of_readers)


def test_examples_are_core() -> None:
    told = set()
    for path in sorted(EXAMPLES.glob("*.toml")):
        if path.name == "demo.toml":  # it wants a folder that `make demo` builds
            continue
        for scenario in load_run(str(path)).scenarios:
            if scenario.protocol in RULES:
                assert is_core(scenario), f"{path.name}: {scenario.name}"
                told.add(is_core(scenario))
    assert told == {True}


def altered(scenario: Scenario, **config: Any) -> dict[str, Any]:
    """The second topic with more config."""
    topics = list(scenario.topics)
    topics[1] = replace(topics[1], config={**topics[1].config, **config})
    return {"topics": tuple(topics)}


def commanded(scenario: Scenario, kind: str, **more: Any) -> dict[str, Any]:
    """One more command."""
    return {"commands": (*scenario.commands, Command(3, kind, **more))}


COPY_QUOTA = {"remote.log.storage.system.enable": True, "remote.log.manager.copy.max.bytes.per.second": 9}


def throttled(scenario: Scenario) -> dict[str, Any]:
    """With a throttle of replication."""
    return {"config": {**scenario.config, "leader.replication.throttled.rate": 9}}


TIERED = {"remote.storage.enable": True}
READS = ConsumerRow("g", "orders", None, "earliest", "earliest", False, None, 100, 0, 0, 50, None, None)
ALL = replace(READS, topic="*")
READ_QUOTA = {"remote.log.storage.system.enable": True, "remote.log.manager.fetch.max.bytes.per.second": 9}
CASES: list[tuple[Callable[[Scenario], dict[str, Any]], str | None]] = [
    (lambda s: {}, None),
    (lambda s: {"protocol": "kafka-mutant-any-transition"}, None),
    (lambda s: {"protocol": "bookkeeper"}, "protocol bookkeeper"),
    (lambda s: {"brokers": (replace(s.brokers[0], disk_bytes_per_second=9), *s.brokers[1:])}, None),
    (lambda s: throttled(s), None),
    (lambda s: {**throttled(s), "consumers": (READS,)}, None),
    (lambda s: {**altered(s, **TIERED), **throttled(s)}, None),
    (lambda s: commanded(s, "delete_topic", topic="pay*"), None),
    (lambda s: {"consumers": (READS,)}, None),
    (lambda s: {"consumers": (READS,), **altered(s, **TIERED)}, None),
    (
        lambda s: {"consumers": (ALL,), "config": {**s.config, **READ_QUOTA}, **altered(s, **TIERED)},
        None,
    ),
    (lambda s: altered(s, **TIERED), None),
    (lambda s: {**altered(s, **TIERED), "config": {**s.config, **COPY_QUOTA}}, None),
    (lambda s: {"config": {**s.config, **COPY_QUOTA}}, None),
    (lambda s: {"rounds": 800}, None),
    (lambda s: {"rounds": 800, "commands": (), **altered(s, **{"retention.bytes": 99})}, None),
    (lambda s: commanded(s, "alter_config", topic="or.?", config={"remote.storage.enable": True}), None),
]


@pytest.mark.parametrize(("change", "why"), CASES)
def test_why_a_scenario_is_not_core(tmp_path: Path, change: Callable[[Scenario], dict[str, Any]], why: str | None) -> None:
    scenario = scenario_of(WHOLE, tmp_path)
    scenario = replace(scenario, **change(scenario))
    assert why_not_core(scenario) == why


@pytest.mark.parametrize("name", ["kafka_7128", "kip_101", "kip_966", "kafka_6361"])
def test_examples_are_prepared_as_before(name: str) -> None:
    scenarios = load_run(str(EXAMPLES / f"{name}.toml")).scenarios
    assert_same(list(scenarios), every=7)


def test_weights_are_all_rounds_where_none_is_leapt_over(tmp_path: Path) -> None:
    scenario = replace(scenario_of(WHOLE, tmp_path), rounds=100_000)
    count = sum(topic.partitions for topic in scenario.topics)
    traced = {scenario.scenario_id: np.arange(count) == 1}
    plain, leaping = prepare([scenario], {}, False, 60), prepare([scenario], traced, True, 60)
    assert plain.weights[1] == leaping.weights[1] == 3 * 100_000
    assert (leaping.weights[2:] < plain.weights[2:]).all() and (leaping.weights > 0).all()
