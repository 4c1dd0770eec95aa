"""Plans of a protocol's round, plain and with leaps; a session keeps the last few, since runs of one kind share them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emulator.attach import ATTACHED_COLUMNS, LEAPING_COLUMNS, Changes
from emulator.leaps import NO_LEAP, with_leaps
from emulator.planned import PlannedRound
from emulator.protocols import LEAP_HORIZONS, PROTOCOLS
from emulator.rounds.columns import pack
from emulator.rounds.kafka.rules import RunRules
from emulator.rounds.record_trace import record_trace
from emulator.schema import state_type

PLANS_KEPT = 4

_kept: OrderedDict[tuple[object, ...], PlannedRound] = OrderedDict()


def plan_rounds(
    spark: SparkSession, rules: RunRules, tracing: bool, tasks: int, few_rows: bool = False, bucket_rounds: int = 0
) -> PlannedRound:
    """One round, over a state laid out as the real one; few rows are not worth compiling for. Plain rounds know no buckets."""

    def plan() -> PlannedRound:
        empty = Changes(spark, [], 0, 0).attach(_no_rows(spark, tasks)).localCheckpoint(eager=False)
        return PlannedRound(spark, empty, lambda state: one_round(state, rules, tracing).select(ATTACHED_COLUMNS), few_rows)

    return _keep(plan, spark, "plain", rules, tracing, tasks, few_rows)


def plan_leaps(
    spark: SparkSession, rules: RunRules, tracing: bool, tasks: int, few_rows: bool, bucket_rounds: int
) -> PlannedRound:
    """One round and what leap follows from it, likewise."""
    (horizon_of,) = {LEAP_HORIZONS[name] for name in rules.protocols}
    horizon = horizon_of(rules)

    def iteration(state: DataFrame) -> DataFrame:
        leapt = with_leaps(state, lambda s: one_round(s, rules, tracing), horizon, bucket_rounds, tracing)
        return leapt.select(LEAPING_COLUMNS)

    def plan() -> PlannedRound:
        state = _no_rows(spark, tasks).withColumns({name: F.expr(text) for name, text in NO_LEAP.items()})
        empty = Changes(spark, [], 0, 0).attach_ahead(state, {0: 0}).localCheckpoint(eager=False)
        return PlannedRound(spark, empty, iteration, few_rows)

    return _keep(plan, spark, "leap", rules, tracing, tasks, few_rows, bucket_rounds)


def _keep(plan: Callable[[], PlannedRound], spark: SparkSession, *what: object) -> PlannedRound:
    """The plan kept for this, else a new one, which is kept."""
    key = (spark.sparkContext.applicationId, *what)
    if key not in _kept:
        _kept[key] = plan()
    _kept.move_to_end(key)
    while len(_kept) > PLANS_KEPT:
        _kept.popitem(last=False)
    return _kept[key]


def _no_rows(spark: SparkSession, tasks: int) -> DataFrame:
    return laid_out(pack(spark.createDataFrame([], state_type())), tasks)


def laid_out(state: DataFrame, tasks: int) -> DataFrame:
    """The packed state as the loop keeps it: by partition, in so many tasks, sorted within."""
    keys = ["scenario_id", "partition_id"]
    return state.repartition(tasks, *keys).sortWithinPartitions(*keys)


def one_round(state: DataFrame, rules: RunRules, tracing: bool = False) -> DataFrame:
    """One round of the run's protocols over the state with its attached changes; traced replicas also record it."""
    (phases,) = {PROTOCOLS[name] for name in rules.protocols}
    for phase in phases:
        state = phase(state, rules)
    return record_trace(state, rules) if tracing else state
