"""Which scenarios the core rounds can play, and by which rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.expressions.kafka.rules import RULES, TIER_GUARDS, Rules
from emulator.expressions.kafka.run_rules import rules_of
from emulator.inputs import scenario_inputs
from emulator.inputs.arrays import is_core, prepare, why_not_core
from emulator.inputs.arrays.rules import CORE_RULES, RULES_PLACES, rules_records
from emulator.scenario import Command, ConsumerRow, Scenario, load_run

from .test_against_builders import WHOLE, assert_same, scenario_of

EXAMPLES = Path(__file__).parents[3] / "datasets" / "examples"


def test_rules_are_those_of_rounds_in_sql() -> None:
    records, guards = rules_records(), [field.name for field in fields(Rules) if field.name not in TIER_GUARDS]
    core = [name for name, rules in RULES.items() if all(getattr(rules, guard) for guard in TIER_GUARDS)]
    assert list(CORE_RULES) == core and len(core) == 13
    for name in core:
        own = records[RULES_PLACES[name]]
        assert {guard: bool(own[guard]) for guard in guards} == {guard: getattr(RULES[name], guard) for guard in guards}
        assert own.check_every_fetch == (not name.startswith("kafka-mutant-"))
    of_tiers = {*records.dtype.names} - {*guards, "check_every_fetch"}
    assert of_tiers <= {*TIER_GUARDS, "know_remote_first"} and (records[list(of_tiers)][0].item() == (1,) * len(of_tiers))


def needs_more(scenario: Scenario) -> bool:
    """Whether rounds in SQL have an optional part for it that the core lacks."""
    rules = rules_of([scenario_inputs(scenario)])
    return rules.tiers or rules.consumers or rules.by_local_log or rules.lists


def test_examples_are_core_when_no_optional_part_is_needed() -> None:
    told = set()
    for path in sorted(EXAMPLES.glob("*.toml")):
        if path.name == "demo.toml":  # it wants a folder that `make demo` builds
            continue
        for scenario in load_run(str(path)).scenarios:
            if scenario.protocol in RULES:
                assert is_core(scenario) == (not needs_more(scenario)), f"{path.name}: {scenario.name}"
                told.add(is_core(scenario))
    assert told == {True, False}


def altered(scenario: Scenario, **config: Any) -> dict[str, Any]:
    """The second topic with more config."""
    topics = list(scenario.topics)
    topics[1] = replace(topics[1], config={**topics[1].config, **config})
    return {"topics": tuple(topics)}


def commanded(scenario: Scenario, kind: str, **more: Any) -> dict[str, Any]:
    """One more command."""
    return {"commands": (*scenario.commands, Command(3, kind, **more))}


READS = ConsumerRow("g", "orders", None, "earliest", "earliest", False, None, 100, 0, 0, 50, None, None)
CASES: list[tuple[Callable[[Scenario], dict[str, Any]], str | None]] = [
    (lambda s: {}, None),
    (lambda s: {"protocol": "kafka-mutant-any-transition"}, "protocol kafka-mutant-any-transition"),
    (lambda s: {"brokers": (replace(s.brokers[0], disk_bytes_per_second=9), *s.brokers[1:])}, None),
    (lambda s: {"config": {**s.config, "leader.replication.throttled.rate": 9}}, None),
    (lambda s: commanded(s, "delete_topic", topic="pay*"), "topic payments is deleted"),
    (lambda s: {"consumers": (READS,)}, "consumers read"),
    (lambda s: altered(s, **{"remote.storage.enable": True}), "topic or.b has remote storage"),
    (lambda s: {"rounds": 800}, None),
    (lambda s: {"rounds": 800, "commands": (), **altered(s, **{"retention.bytes": 99})}, None),
    (
        lambda s: commanded(s, "alter_config", topic="or.?", config={"remote.storage.enable": True}),
        "topic or.b has remote storage",
    ),
]


@pytest.mark.parametrize(("change", "why"), CASES)
def test_why_a_scenario_is_not_core(tmp_path: Path, change: Callable[[Scenario], dict[str, Any]], why: str | None) -> None:
    scenario = scenario_of(WHOLE, tmp_path)
    scenario = replace(scenario, **change(scenario))
    assert why_not_core(scenario) == why
    if scenario.protocol == "kafka":
        assert needs_more(scenario) == (why is not None)


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
