"""Rules of protocols as records, examples as arrays, weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from emulator.inputs.arrays import prepare
from emulator.inputs.arrays.rules import RULES_PLACES, rules_records
from emulator.scenario import load_run
from emulator.scenario.protocols import KAFKA_PROTOCOLS, TIERED_PROTOCOLS

from .test_against_builders import WHOLE, assert_same, scenario_of

EXAMPLES = Path(__file__).parents[3] / "datasets" / "examples"


def test_every_protocol_has_its_rules() -> None:
    """Kafka of today has every rule but three of older generations; a mutant lacks one guard."""
    records = rules_records()
    names = [*records.dtype.names]
    for name, differs in KAFKA_PROTOCOLS.items():
        own = records[RULES_PLACES[name]]
        assert {rule for rule in names if bool(own[rule]) == (rule in OLDER)} == set(differs), name
        if "-mutant-" in name:
            assert len(differs.keys() - {"check_every_fetch"}) == 1
            assert bool(own.check_every_fetch) == (name in TIERED_PROTOCOLS)
    assert len({tuple(records[place].tolist()) for place in RULES_PLACES.values()}) == len(KAFKA_PROTOCOLS)


OLDER = ("asks", "answers_epoch", "cuts_to_high_watermark")


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
