"""Which engine plays which scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from emulator.engine.compiled_engine import CompiledEngine
from emulator.engine.interface import Engine
from emulator.engine.ledger_engine import LedgerEngine, is_of_ledgers
from emulator.errors import InputError
from emulator.inputs.arrays import is_core, why_not_core
from emulator.outcomes.broker_rounds import bucket_length
from emulator.scenario import Run, Scenario

COMPILED, EXPRESSIONS = "compiled", "expressions"

IN_JOBS = (COMPILED, LedgerEngine.name)
"""Names of engines of compiled rounds, which keep files of jobs."""

NAMES = (*IN_JOBS, "bookkeeper", "kafka")
"""Names of all engines: rounds that are not compiled have one for each system."""


def engines_of(
    run: Run,
    traced: Mapping[int, np.ndarray],
    mode: str,
    identity: Mapping[str, str],
    *,
    engine: str | None = None,
    checkpoint_every: int | None = None,
    state_at: Sequence[int] = (),
) -> list[Engine]:
    """The engines of a run: compiled rounds first.

    `engine`: COMPILED or EXPRESSIONS for all scenarios, None: compiled rounds for those that they have all for.
    `state_at`: ascending rounds at whose end every replica is told of; only compiled rounds of partitions can.
    Raises InputError for a scenario that the engine asked for cannot play, and for one without such rounds.
    """
    buckets = _bucket_rounds(run)
    ledgers = [s for s in run.scenarios if engine != EXPRESSIONS and is_of_ledgers(s)]
    others_than_ledgers = [s for s in run.scenarios if s not in ledgers]
    compiled: list[Scenario] = [s for s in others_than_ledgers if engine == COMPILED or (engine is None and is_core(s))]
    for scenario in compiled if engine == COMPILED else ():
        if reason := why_not_core(scenario):
            raise InputError.at(run.path, f"scenario {scenario.name}", f"compiled rounds cannot play it: {reason}", "no --engine")
    refuse_states(run, state_at, engine)
    of_compiled = {scenario.scenario_id for scenario in (*compiled, *ledgers)}
    engines: list[Engine] = []
    if compiled:
        bucket_rounds = buckets[compiled[0].scenario_id]
        engines.append(CompiledEngine(compiled, traced, mode == "leap", bucket_rounds, identity, state_at))
    if ledgers:
        engines.append(LedgerEngine(ledgers, traced, mode == "leap", identity))
    others: dict[str, list[Scenario]] = {}
    for scenario in run.scenarios:
        if scenario.scenario_id not in of_compiled:
            others.setdefault(_system(scenario), []).append(scenario)
    if others:
        # SQL text by the hundred: imported where it is needed.
        from emulator.engine.expressions_engine import ExpressionsEngine
        from emulator.protocols import PROTOCOLS

        for scenarios in others.values():
            system, bucket_rounds = PROTOCOLS[scenarios[0].protocol], buckets[scenarios[0].scenario_id]
            engines.append(ExpressionsEngine(system, scenarios, traced, mode, bucket_rounds, checkpoint_every, identity))
    return engines


def refuse_states(run: Run, state_at: Sequence[int], engine: str | None) -> None:
    """Raises InputError if states of rounds are wanted (`state_at`, `engine`: as of `engines_of`) that rounds do not keep."""
    for scenario in run.scenarios if state_at else ():
        if is_of_ledgers(scenario):
            problem = f"scenario {scenario.name} is of ledgers, and replica_states are those of partitions"
            raise InputError.at(run.path, "--state-at", problem, "scenarios of partitions")
        reason = f"--engine {engine}" if engine == EXPRESSIONS else why_not_core(scenario)
        if reason:
            problem = f"only compiled rounds keep states, and they do not play scenario {scenario.name}: {reason}"
            raise InputError.at(run.path, "--state-at", problem, "--trace, which all rounds have")


def _bucket_rounds(run: Run) -> dict[int, int]:
    """By scenario_id the rounds of a time bucket: those of all scenarios of its system."""
    longest: dict[str, int] = {}
    for scenario in run.scenarios:
        longest[_system(scenario)] = max(scenario.rounds, longest.get(_system(scenario), 0))
    return {s.scenario_id: bucket_length(longest[_system(s)], run.time_buckets) for s in run.scenarios}


def _system(scenario: Scenario) -> str:
    return "kafka" if scenario.protocol.startswith("kafka") else "bookkeeper"
