"""How many replicas a partition needs to take writes: min.insync.replicas of Kafka, of groups what their protocol waits for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from emulator.scenario import Scenario
from emulator.scenario.config_keys import ConfigValue
from emulator.scenario.configs import effective
from emulator.scenario.protocols import group_protocol
from emulator.scenario.quorum_configs import effective as effective_of_group
from emulator.scenario.quorums import has_groups


def needed_for_writes(scenario: Scenario, config: Mapping[str, ConfigValue], copies: NDArray[np.int64]) -> NDArray[np.int32]:
    """Of partitions of a topic with this config and so many replicas each, at the start.

    PacificA's primary removes backups that are gone and goes on alone (section 2.2); no other group changes by itself.
    """
    if not has_groups(scenario.protocol):
        return np.full(len(copies), int(effective(scenario.config, config, "min.insync.replicas")), np.int32)
    told = int(effective_of_group(scenario.config, config, "acks.to.commit")) or copies // 2 + 1
    return np.full(len(copies), group_protocol(scenario.protocol).acks_of(copies, told, in_sync=1), np.int32)
