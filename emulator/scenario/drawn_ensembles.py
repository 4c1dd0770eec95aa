"""First ensembles of ledgers whose placement policy draws them, when all of a scenario is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from emulator.scenario.ledger_configs import effective, is_managed
from emulator.scenario.ledgers import DRAWN
from emulator.scenario.model import Scenario
from emulator.scenario.places import Places
from emulator.scenario.shapes import TopicShape


def draw_first_ensembles(places: Places, shapes: Sequence[TopicShape], scenario: Scenario) -> Scenario:
    """The scenario with first ensembles of all topics that have none of their own; raises InputError where there are none."""
    numbers = {shape.name: index for index, shape in enumerate(shapes) if shape.assignment is None and shape.partitions}
    topics, first = [], 0
    for topic in scenario.topics:
        if topic.policy in DRAWN and topic.name in numbers and not is_managed(scenario.config, topic.config):
            from emulator.inputs.ledger_arrays.first_ensembles import first_ensembles  # compiled: only where needed

            drawn = first_ensembles(scenario, topic, first)
            if drawn is None:
                least = effective(scenario.config, topic.config, "minNumRacksPerWriteQuorum")
                problem = f"{topic.policy} finds no ensemble with {least} racks in every write quorum"
                allowed = "more racks, or enforceMinNumRacksPerWriteQuorum = false"
                raise places.error(("topics", numbers[topic.name], "placement"), problem, allowed)
            topic = replace(topic, assignment=drawn)
        topics.append(topic)
        first += topic.partitions
    return replace(scenario, topics=tuple(topics))
