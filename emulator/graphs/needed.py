"""How many replicas a partition needs to take writes: min.insync.replicas of Kafka, of groups what their protocol waits for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from emulator.inputs.quorum_arrays.prepare import NUMBERS, acks_of
from emulator.rounds.quorums.constants import PACIFICA
from emulator.scenario import Scenario
from emulator.scenario.configs import ConfigValue, effective
from emulator.scenario.protocols import without_mutant
from emulator.scenario.quorum_configs import effective as effective_of_group
from emulator.scenario.quorums import has_groups


def needed_for_writes(scenario: Scenario, config: Mapping[str, ConfigValue], copies: NDArray[np.int64]) -> NDArray[np.int32]:
    """Of partitions of a topic with this config and so many replicas each, at the start.

    PacificA's primary removes backups that are gone and goes on alone (section 2.2); no other group changes by itself.
    """
    if not has_groups(scenario.protocol):
        return np.full(len(copies), int(effective(scenario.config, config, "min.insync.replicas")), np.int32)
    number = NUMBERS[without_mutant(scenario.protocol)]
    if number == PACIFICA:
        return np.ones(len(copies), np.int32)
    told = int(effective_of_group(scenario.config, config, "acks.to.commit"))
    return np.array([acks_of(number, int(own), told or int(own) // 2 + 1) for own in copies], np.int32)
