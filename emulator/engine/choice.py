"""Which engine plays which scenarios: one for partitions, one for ledgers, one for groups that commit by quorums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from emulator.engine.compiled_engine import CompiledEngine
from emulator.engine.group_engine import GroupEngine
from emulator.engine.interface import Engine
from emulator.engine.ledger_engine import LedgerEngine
from emulator.engine.refusals import refuse_states
from emulator.engine.shared_fetchers import SharedFetchers
from emulator.scenario import Run, Scenario
from emulator.scenario.protocols import GROUPS, LEDGERS, PARTITIONS, system_of
from emulator.scenario.time_buckets import bucket_length

NAMES = (CompiledEngine.name, LedgerEngine.name, GroupEngine.name)
"""Of all engines, which keep what they have done in folders of these names."""


def engines_of(run: Run, traced: Mapping[int, np.ndarray], mode: str, state_at: Sequence[int] = ()) -> list[Engine]:
    """The engines of a run: that of partitions first.

    `state_at`: ascending rounds at whose end every replica is told of. Raises InputError where those are wanted of ledgers or
    groups.
    """
    refuse_states(run, state_at)
    of_systems: dict[str, list[Scenario]] = {PARTITIONS: [], LEDGERS: [], GROUPS: []}
    for scenario in run.scenarios:
        of_systems[system_of(scenario.protocol)].append(scenario)
    partitions, ledgers, groups = of_systems.values()
    engines: list[Engine] = []
    if partitions:
        bucket_rounds = bucket_length(max(scenario.rounds for scenario in partitions), run.time_buckets)
        rest = (traced, mode == "leap", bucket_rounds, state_at)
        engines.append(SharedFetchers(partitions, lambda scenarios: CompiledEngine(scenarios, *rest)))
    if ledgers:
        bucket_rounds = bucket_length(max(scenario.rounds for scenario in ledgers), run.time_buckets)
        engines.append(LedgerEngine(ledgers, traced, mode == "leap", bucket_rounds))
    if groups:
        engines.append(GroupEngine(groups, mode == "leap"))
    return engines
