"""Round after round, from the scenarios to the final tables and all that was written down on the way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, fields
from functools import reduce

from pyspark.sql import DataFrame, SparkSession

from . import outcomes
from .inputs import RunInputs
from .kafka_round import play_round, tables_after
from .learning import news_of
from .start import first_histories, first_leaderships, first_tables
from .tables import Tables, settled, settled_to_stay

SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    # Small tables are broadcast where a verb says so; the others stand by the same partitions and need no shuffle.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    "spark.sql.join.preferSortMergeJoin": "false",
    # Spark would carry all conditions of a plan from checkpoint to checkpoint.
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.analyzer.maxIterations": "1000",
    # Rules of Spark's optimizer that look long, and find nothing here.
    "spark.sql.optimizer.excludedRules": ",".join(
        f"org.apache.spark.sql.{name}"
        for name in (
            "execution.datasources.SchemaPruning",
            "execution.datasources.v2.V2ScanRelationPushDown",
            "catalyst.optimizer.InjectRuntimeFilter",
            "catalyst.optimizer.MergeScalarSubqueries",
            "catalyst.optimizer.PushFoldableIntoBranches",
            "catalyst.optimizer.SimplifyConditionals",
        )
    ),
    # Spark describes every plan to its listeners, here some dozens in a round that nobody looks at.
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "100",
    "spark.sql.debug.maxToStringFields": "1",
    # Compiling expressions takes longer than working them out.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
COMPACTED_ROUNDS = 16


@dataclass
class Played:
    """The state at the end, and rows written down on the way, by table name.

    first: what the first leaderships began with: pid, first_epoch, first_leo, acked_to (of their logs, as acknowledged).
    """

    tables: Tables
    first: DataFrame
    told: dict[str, list[DataFrame]] = field(default_factory=lambda: defaultdict(list))

    def rows(self, name: str) -> DataFrame | None:
        """All rows of a table that was written down; None: there are none."""
        frames = self.told.get(name)
        return reduce(DataFrame.unionByName, frames) if frames else None

    def add(self, name: str, frame: DataFrame, tasks: int) -> None:
        """Write rows down."""
        frames = self.told[name]
        frames.append(frame)
        if len(frames) % COMPACTED_ROUNDS == 0:
            several = frames[-COMPACTED_ROUNDS:]
            frames[-COMPACTED_ROUNDS:] = [settled_to_stay(reduce(DataFrame.unionByName, several).coalesce(tasks))]


def play(
    spark: SparkSession,
    inputs: RunInputs,
    tasks: int,
    traced: DataFrame | None = None,
    advance: Callable[[int], None] = lambda number: None,
    stops: Collection[int] = (),
) -> Played:
    """Play all rounds of some scenarios.

    `traced`: pid of the partitions whose rounds are kept; `advance`: told of each round; `stops`: after how many rounds it is
    noted how brokers stand.
    """
    tables = first_tables(spark, inputs, tasks)
    played = Played(tables, settled_to_stay(first_leaderships(spark, inputs, tables)))
    played.add("histories", settled_to_stay(first_histories(tables)), tasks)
    ends = {s.rounds for s in inputs.scenarios}
    finished: list[Tables] = []
    news = settled_to_stay(news_of(tables.partitions, "0")) if inputs.has_late_news else None
    for number in range(inputs.rounds):
        now = play_round(tables, inputs.of_round(spark, number, news))
        for name, rows in now.told:
            played.add(name, rows, tasks)
        if traced is not None:
            for name, rows in zip(("trace", "trace_partitions"), outcomes.traced(now, traced), strict=True):
                played.add(name, settled(rows), tasks)
        if number + 1 in stops or number + 1 in ends:
            played.add("standing", settled(outcomes.standing(now)), tasks)
        tables = tables_after(now)
        if news is not None:
            news = settled_to_stay(news.unionByName(news_of(tables.partitions, str(number + 1))))
        if number + 1 in ends:
            finished.append(_parted(tables, "rounds = round"))
            tables = _parted(tables, "rounds > round")
        advance(number + 1)
    played.tables = reduce(_together, finished)
    return played


def _parted(tables: Tables, when: str) -> Tables:
    """The partitions of which this is so, with what concerns them."""
    partitions = settled_to_stay(tables.partitions.where(when))
    pids = partitions.select("pid")
    names = [f.name for f in fields(Tables) if f.name != "partitions" and getattr(tables, f.name) is not None]
    rest = {name: settled_to_stay(getattr(tables, name).join(pids, "pid", "left_semi")) for name in names}
    return Tables(partitions, **rest)


def _together(one: Tables, other: Tables) -> Tables:
    names = [f.name for f in fields(Tables) if getattr(one, f.name) is not None]
    return Tables(**{name: getattr(one, name).unionByName(getattr(other, name)) for name in names})
