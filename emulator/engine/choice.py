"""Which engine plays which scenarios: one for partitions, one for ledgers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from emulator.engine.compiled_engine import CompiledEngine
from emulator.engine.interface import Engine
from emulator.engine.ledger_engine import LedgerEngine
from emulator.errors import InputError
from emulator.inputs.arrays.workload import refuse_uneven
from emulator.outcomes.compiled.traffic import bucket_length
from emulator.scenario import Run, Scenario
from emulator.scenario.protocols import LEDGER_PROTOCOLS

NAMES = (CompiledEngine.name, LedgerEngine.name)
"""Of all engines, which keep what they have done in folders of these names."""


def engines_of(
    run: Run, traced: Mapping[int, np.ndarray], mode: str, identity: Mapping[str, str], state_at: Sequence[int] = ()
) -> list[Engine]:
    """The engines of a run: that of partitions first.

    `state_at`: ascending rounds at whose end every replica is told of. Raises InputError where those are wanted of ledgers.
    """
    refuse_states(run, state_at)
    partitions = [scenario for scenario in run.scenarios if not is_of_ledgers(scenario)]
    ledgers = [scenario for scenario in run.scenarios if is_of_ledgers(scenario)]
    engines: list[Engine] = []
    if partitions:
        bucket_rounds = bucket_length(max(scenario.rounds for scenario in partitions), run.time_buckets)
        engines.append(CompiledEngine(partitions, traced, mode == "leap", bucket_rounds, identity, state_at))
    if ledgers:
        engines.append(LedgerEngine(ledgers, traced, mode == "leap", identity))
    return engines


def is_of_ledgers(scenario: Scenario) -> bool:
    """Whether a scenario is BookKeeper's, or of a mutant of it."""
    return scenario.protocol in LEDGER_PROTOCOLS


def refuse_uneven_rates(run: Run) -> None:
    """Raises InputError for records a second that compiled rounds cannot play: before Spark starts, not only then."""
    refuse_uneven(scenario for scenario in run.scenarios if not is_of_ledgers(scenario))


def refuse_states(run: Run, state_at: Sequence[int]) -> None:
    """Raises InputError if states of rounds are wanted (`state_at`: as of `engines_of`) of ledgers, which have none."""
    for scenario in run.scenarios if state_at else ():
        if is_of_ledgers(scenario):
            problem = f"scenario {scenario.name} is of ledgers, and replica_states are those of partitions"
            raise InputError.at(run.path, "--state-at", problem, "scenarios of partitions")
