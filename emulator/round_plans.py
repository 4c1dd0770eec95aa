"""Plans of a protocol's round, plain and with leaps; a session keeps the last few, since runs of one kind share them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emulator.attach import Changes, attached_columns, leaping_columns
from emulator.expressions.columns import pack
from emulator.leaps import LEAP_COLUMNS, no_leap, with_leaps
from emulator.planned import Compiling, Cut, PlannedRound, uncut
from emulator.protocols import RulesOfRun, system_of
from emulator.state_schema import StateSchema

PLANS_KEPT = 4

_kept: OrderedDict[tuple[object, ...], PlannedRound] = OrderedDict()


def plan_rounds(
    spark: SparkSession,
    rules: RulesOfRun,
    tracing: bool,
    tasks: int,
    compiling: Compiling = Compiling.STAGES,
    bucket_rounds: int = 0,
) -> PlannedRound:
    """One round, over a state laid out as the real one. Plain rounds know no buckets."""

    schema = system_of(rules.protocols).schema

    def plan() -> PlannedRound:
        empty = Changes(spark, [], 0, 0, schema).attach(_no_rows(spark, tasks, schema)).localCheckpoint(eager=False)
        columns = attached_columns(schema)

        def one(state: DataFrame, cut: Cut) -> DataFrame:
            return one_round(state, rules, tracing, cut).select(columns)

        return PlannedRound(spark, empty, one, compiling, schema.packed_columns, tasks)

    return _keep(plan, spark, "plain", rules, tracing, tasks, compiling)


def plan_leaps(
    spark: SparkSession, rules: RulesOfRun, tracing: bool, tasks: int, compiling: Compiling, bucket_rounds: int
) -> PlannedRound:
    """One round and what leap follows from it, likewise."""
    system = system_of(rules.protocols)
    schema, horizon = system.schema, system.horizon(rules)

    def iteration(state: DataFrame, cut: Cut) -> DataFrame:
        def played(state: DataFrame) -> DataFrame:
            return one_round(state, rules, tracing, cut)

        nested = {name: system.nested_counters[name] for name in rules.nested_counters}
        leapt = with_leaps(state, played, horizon, bucket_rounds, tracing, schema, nested, system.calm(rules))
        return leapt.select(leaping_columns(schema))

    def plan() -> PlannedRound:
        state = _no_rows(spark, tasks, schema).withColumns({name: F.expr(text) for name, text in no_leap(schema).items()})
        empty = Changes(spark, [], 0, 0, schema).attach_ahead(state, {0: 0}).localCheckpoint(eager=False)
        return PlannedRound(spark, empty, iteration, compiling, [*schema.packed_columns, *LEAP_COLUMNS], tasks)

    return _keep(plan, spark, "leap", rules, tracing, tasks, compiling, bucket_rounds)


def _keep(plan: Callable[[], PlannedRound], spark: SparkSession, *what: object) -> PlannedRound:
    """The plan kept for this, else a new one, which is kept."""
    key = (spark.sparkContext.applicationId, *what)
    if key not in _kept:
        _kept[key] = plan()
    _kept.move_to_end(key)
    while len(_kept) > PLANS_KEPT:
        _kept.popitem(last=False)
    return _kept[key]


def _no_rows(spark: SparkSession, tasks: int, schema: StateSchema) -> DataFrame:
    return laid_out(pack(spark.createDataFrame([], schema.state_type()), schema), tasks)


def laid_out(state: DataFrame, tasks: int) -> DataFrame:
    """The packed state as the loop keeps it: by partition, in so many tasks, sorted within."""
    keys = ["scenario_id", "partition_id"]
    return state.repartition(tasks, *keys).sortWithinPartitions(*keys)


def one_round(state: DataFrame, rules: RulesOfRun, tracing: bool = False, cut: Cut = uncut) -> DataFrame:
    """One round of the run's protocols over the state with its attached changes; traced replicas also record it."""
    system = system_of(rules.protocols)
    for phase in system.phases:
        state = cut(phase(state, rules))
    return system.record_trace(state, rules) if tracing else state
