"""Compiled rounds are read from their cache while Java starts, for which Python only waits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from emulator.engine.compile_all import SCENARIO, TIERED, scenarios_of
from emulator.engine.early_workers import is_surely_large
from emulator.inputs.arrays import prepare, read_block
from emulator.inputs.arrays.tiered import tiered_topic
from emulator.rounds.compiled import is_compiling
from emulator.rounds.compiled_cache import is_cached
from emulator.rounds.kafka.play_block import play
from emulator.rounds.kafka.play_partitions import play_partitions, play_tiered_partitions
from emulator.scenario import Scenario
from emulator.scenario.protocols import PARTITIONS, system_of


def read_early(scenarios: Sequence[Scenario]) -> None:
    """Read what partitions of these scenarios are played by, if it is compiled.

    Nothing where Spark's workers surely play them: the driver would hold it beside them, 150 MB.
    """
    own = [scenario for scenario in scenarios if system_of(scenario.protocol) == PARTITIONS]
    if is_surely_large(own, os.cpu_count()):
        return
    has_tiers = any(map(_has_tiers, own))
    if own and is_compiling() and is_cached(play_tiered_partitions if has_tiers else play_partitions):
        _read(TIERED if has_tiers else SCENARIO)


def _has_tiers(scenario: Scenario) -> bool:
    return bool(scenario.consumers) or tiered_topic(scenario) is not None


def _read(text: str) -> None:
    with suppress(Exception):  # the run itself says what is wrong
        block = read_block(prepare(scenarios_of(text), {}, True, 1).block(np.arange(1)))
        play(block.state, block.inputs, block.traffic)
