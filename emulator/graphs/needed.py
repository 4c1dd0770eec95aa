"""How many replicas a partition needs to take writes: min.insync.replicas of Kafka, of groups what their protocol waits for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from emulator.scenario import Scenario
from emulator.scenario.configs import ConfigValue, effective
from emulator.scenario.protocols import without_mutant
from emulator.scenario.quorum_configs import effective as effective_of_group
from emulator.scenario.quorums import acks_of, has_groups


def needed_for_writes(scenario: Scenario, config: Mapping[str, ConfigValue], copies: NDArray[np.int64]) -> NDArray[np.int32]:
    """Of partitions of a topic with this config and so many replicas each, at the start.

    PacificA's primary removes backups that are gone and goes on alone (section 2.2); no other group changes by itself.
    """
    if not has_groups(scenario.protocol):
        return np.full(len(copies), int(effective(scenario.config, config, "min.insync.replicas")), np.int32)
    if without_mutant(scenario.protocol) == "pacifica":
        return np.ones(len(copies), np.int32)
    told = int(effective_of_group(scenario.config, config, "acks.to.commit"))
    sizes, place = np.unique(copies, return_inverse=True)
    return np.array([acks_of(scenario.protocol, n, told or n // 2 + 1) for n in sizes.tolist()], np.int32)[place]
