"""A system is a tuple of phases in the order of its paper, and what goes in and comes out: the tuple is its documentation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from emulator.expressions.bookkeeper.check_invariants import check_invariants as check_ledgers
from emulator.expressions.bookkeeper.finish import extend, finish
from emulator.expressions.bookkeeper.handle import handle
from emulator.expressions.bookkeeper.horizons import horizon as ledger_horizon
from emulator.expressions.bookkeeper.repair.audit import audit
from emulator.expressions.bookkeeper.repair.commit_copies import commit_copies
from emulator.expressions.bookkeeper.repair.fill_bookies import fill_bookies
from emulator.expressions.bookkeeper.repair.leaping import COUNTED
from emulator.expressions.bookkeeper.repair.replace_lost import replace_lost
from emulator.expressions.bookkeeper.rules import RULES as LEDGER_RULES
from emulator.expressions.bookkeeper.send import send
from emulator.expressions.bookkeeper.state import LEDGER_STATE
from emulator.expressions.bookkeeper.take_answers import take_writers_answers
from emulator.expressions.bookkeeper.take_inputs import take_inputs
from emulator.expressions.bookkeeper.take_recoveries import take_recoveries_answers
from emulator.expressions.bookkeeper.topics.take_results import take_results
from emulator.expressions.bookkeeper.use_store import use_store
from emulator.expressions.kafka.advance_high_watermark import advance_high_watermark
from emulator.expressions.kafka.append import append
from emulator.expressions.kafka.apply_inputs import apply_inputs
from emulator.expressions.kafka.check_invariants import check_invariants
from emulator.expressions.kafka.checkpoint import checkpoint
from emulator.expressions.kafka.count_outcomes import count_outcomes
from emulator.expressions.kafka.delete_segments import delete_segments
from emulator.expressions.kafka.elect_leader import elect_leader
from emulator.expressions.kafka.fetch import fetch
from emulator.expressions.kafka.horizons import calm, horizon
from emulator.expressions.kafka.judge_in_sync import judge_in_sync
from emulator.expressions.kafka.learn import learn
from emulator.expressions.kafka.observe import observe
from emulator.expressions.kafka.reading import leaping
from emulator.expressions.kafka.request_fetch import request_fetch
from emulator.expressions.kafka.rules import RULES
from emulator.expressions.kafka.run_rules import rules_of as kafka_rules_of
from emulator.expressions.kafka.serve_consumers import serve_consumers
from emulator.expressions.kafka.state import KAFKA_STATE
from emulator.expressions.kafka.tier import leaping as tier_leaping
from emulator.expressions.kafka.tier.build_aux_state import build_aux_state
from emulator.expressions.kafka.tier.run_tier_tasks import run_tier_tasks
from emulator.expressions.kafka.tier.take_tier_inputs import take_tier_inputs
from emulator.expressions.record_trace import record_trace
from emulator.initial.ledgers import initial_ledgers
from emulator.initial.partitions import initial_state
from emulator.inputs import ScenarioInputs, scenario_inputs
from emulator.inputs.ledgers import LedgerInputs, ledger_rules_of
from emulator.outcomes.assemble import kafka_tables
from emulator.outcomes.ledgers import ledger_tables, no_trace
from emulator.outcomes.trace import trace_tables
from emulator.scenario import Scenario
from emulator.state_schema import Calm, NestedCounters, StateSchema


class RulesOfRun(Protocol):
    """What all systems' rules of a run have: the protocols of its scenarios."""

    @property
    def protocols(self) -> tuple[str, ...]:
        """Their names."""

    @property
    def nested_counters(self) -> tuple[str, ...]:
        """Columns whose counters move in this run."""

    @property
    def works_in_functions(self) -> bool:
        """Whether most of a round's work is in higher-order functions."""


Phase = Callable[[DataFrame, Any], DataFrame]
"""One step of a round, by the rules of the run."""


@dataclass(frozen=True, eq=False)
class System:
    """A replicated log: what the engine runs, and what comes out.

    `schema`: the state of its rows. `phases`: a round. `horizon`: SQL, by the rules of a run, where leaps over quiet rounds have
    to stop. `record_trace`: appends the round to the trace of traced rows. `rules_of`: the rules of a run's scenarios.
    `inputs`: all that comes from outside into a scenario. `initial_state`: the rows before round 0; flags by scenario_id say
    which partitions are traced. `tables`: the output tables that follow from the final state (and the traced partitions).
    `trace_tables`: those of traced rounds. `nested_counters`: how leaps move the columns of `schema.nested_drifts`. `calm`:
    changes over which leaps go on, by the rules of a run.
    """

    name: str
    schema: StateSchema
    phases: tuple[Phase, ...]
    horizon: Callable[[Any], str]
    record_trace: Phase
    rules_of: Callable[[list[ScenarioInputs]], RulesOfRun]
    inputs: Callable[[Scenario], ScenarioInputs]
    initial_state: Callable[[SparkSession, list[ScenarioInputs], dict[int, np.ndarray]], DataFrame]
    tables: Callable[[SparkSession, DataFrame, list[ScenarioInputs]], dict[str, DataFrame | pa.Table]]
    trace_tables: Callable[[SparkSession, DataFrame, list[ScenarioInputs]], dict[str, DataFrame]]
    nested_counters: Mapping[str, NestedCounters] = field(default_factory=dict)
    calm: Callable[[Any], Calm] = lambda rules: Calm()


KAFKA: tuple[Phase, ...] = (
    apply_inputs,
    take_tier_inputs,
    elect_leader,
    append,
    request_fetch,
    judge_in_sync,
    observe,
    advance_high_watermark,
    fetch,
    build_aux_state,
    learn,
    run_tier_tasks,
    delete_segments,
    serve_consumers,
    checkpoint,
    check_invariants,
    count_outcomes,
)
"""Kafka in all its generations; what sets them apart is in emulator/expressions/kafka/rules.py."""

KAFKA_SYSTEM = System(
    name="kafka",
    schema=KAFKA_STATE,
    phases=KAFKA,
    horizon=horizon,
    record_trace=record_trace,
    rules_of=kafka_rules_of,
    inputs=scenario_inputs,
    initial_state=initial_state,
    tables=kafka_tables,
    trace_tables=trace_tables,
    nested_counters={
        "readers": NestedCounters(leaping.alike, leaping.drift, leaping.moved),
        "tier_counts": NestedCounters(tier_leaping.alike, tier_leaping.drift, tier_leaping.moved),
        "aux_state": NestedCounters(tier_leaping.waits_alike, tier_leaping.waits_drift, tier_leaping.waits_moved),
    },
    calm=calm,
)

BOOKKEEPER: tuple[Phase, ...] = (
    take_inputs,
    use_store,
    commit_copies,
    send,
    handle,
    take_writers_answers,
    take_recoveries_answers,
    audit,
    replace_lost,
    fill_bookies,
    check_ledgers,
    extend,
    take_results,
    finish,
)
"""BookKeeper; what sets its mutants apart is in emulator/expressions/bookkeeper/rules.py."""

BOOKKEEPER_SYSTEM = System(
    name="bookkeeper",
    schema=LEDGER_STATE,
    phases=BOOKKEEPER,
    horizon=ledger_horizon,
    record_trace=lambda state, rules: state,
    rules_of=ledger_rules_of,
    inputs=LedgerInputs,
    initial_state=initial_ledgers,
    tables=ledger_tables,
    trace_tables=no_trace,
    nested_counters={name: NestedCounters(of.alike, of.drift, of.moved) for name, of in COUNTED.items()},
)

PROTOCOLS: dict[str, System] = dict.fromkeys(RULES, KAFKA_SYSTEM) | dict.fromkeys(LEDGER_RULES, BOOKKEEPER_SYSTEM)
"""By protocol name."""


def by_system(inputs: Iterable[ScenarioInputs]) -> dict[System, list[ScenarioInputs]]:
    """The scenarios of each system, in their order; the systems in the order of their first scenarios."""
    parts: dict[System, list[ScenarioInputs]] = {}
    for i in inputs:
        parts.setdefault(PROTOCOLS[i.scenario.protocol], []).append(i)
    return parts


def system_of(protocols: Iterable[str]) -> System:
    """The one system of all these protocols."""
    (system,) = {PROTOCOLS[name] for name in protocols}
    return system
