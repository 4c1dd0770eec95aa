"""The inputs that begin within a stretch of rounds, joined to the state by broadcast joins on their ids."""

from __future__ import annotations

from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from emulator.inputs import ScenarioInputs
from emulator.leaps import LEAP_COLUMNS
from emulator.rounds.columns import PACKED_COLUMNS
from emulator.schema import FEED, WORLD

WORLD_CHANGES = f"world_id INT, changes ARRAY<STRUCT<from_round: INT, value: STRUCT<{WORLD}>>>"
FEED_CHANGES = f"feed_id BIGINT, changes ARRAY<STRUCT<from_round: INT, value: STRUCT<{FEED}>>>"

CHANGE_COLUMNS = ["world_changes", "world_next", "feed_changes", "feed_next"]

ATTACHED_COLUMNS = [*PACKED_COLUMNS, *CHANGE_COLUMNS]
"""The state with the inputs that begin within a job, in the order that a planned round reads them."""

LEAPING_COLUMNS = [*ATTACHED_COLUMNS, *LEAP_COLUMNS]
"""The same with what a leap needs."""

CHANGES_AHEAD = 8
"""Changes of each kind that a leaping partition carries: what it meets before they are attached again."""


class Changes:
    """What begins in the rounds [from_round, to_round), by world and by feed."""

    def __init__(self, spark: SparkSession, inputs: list[ScenarioInputs], from_round: int, to_round: int) -> None:
        self.to_round = to_round
        worlds, feeds = [], []
        world_offset = feed_offset = 0
        for i in inputs:
            if from_round < i.scenario.rounds:
                worlds += [(world_offset + w, c) for w, c in i.world_changes(from_round, to_round).items()]
                feeds += [(feed_offset + f, c) for f, c in i.feed_changes(from_round, to_round).items()]
            world_offset += len(i.worlds)
            feed_offset += len(i.feeds)
        self._worlds = _frame(spark, "world", worlds, WORLD_CHANGES)
        self._feeds = _frame(spark, "feed", feeds, FEED_CHANGES)

    def attach(self, state: DataFrame) -> DataFrame:
        """The packed state with ATTACHED_COLUMNS."""
        state = _join(state, "world", self._worlds, WORLD_CHANGES)
        return _join(state, "feed", self._feeds, FEED_CHANGES).select(ATTACHED_COLUMNS)

    def attach_ahead(self, state: DataFrame, ends: dict[int, int]) -> DataFrame:
        """The packed state, with LEAP_COLUMNS but `stop` and `ends`, with LEAPING_COLUMNS.

        Every partition gets what begins from its own round on, CHANGES_AHEAD changes at most; `stop` is where they end. `ends`:
        rounds by scenario_id.
        """
        state = _join(state, "world", self._worlds, WORLD_CHANGES)
        state = _join(state, "feed", self._feeds, FEED_CHANGES)
        kinds = ("world", "feed")
        state = state.withColumns({f"{k}_changes": F.expr(f"filter({k}_changes, x -> x.from_round >= round)") for k in kinds})
        unattached = ", ".join(f"coalesce(get({k}_changes, {CHANGES_AHEAD}).from_round, {self.to_round})" for k in kinds)
        end = f"{next(iter(ends.values()))}"
        if len(set(ends.values())) > 1:
            end = f"element_at(map({', '.join(f'{k}, {v}' for k, v in ends.items())}), scenario_id)"
        state = state.withColumns({"ends": F.expr(end), "stop": F.expr(f"least({unattached}, {end})")})
        ahead = {f"{k}_changes": F.expr(f"slice({k}_changes, 1, {CHANGES_AHEAD})") for k in kinds}
        return state.withColumns(ahead).select(LEAPING_COLUMNS)


def _frame(spark: SparkSession, kind: str, changes: list[tuple[int, Any]], ddl: str) -> DataFrame | None:
    if not changes:
        return None
    schema = cast(StructType, StructType.fromDDL(ddl))
    ids, values = zip(*changes, strict=True)
    arrow = to_arrow_schema(schema)
    table = pa.table([pa.array(ids, arrow.field(0).type), pa.array(values, arrow.field(1).type)], schema=arrow)
    return spark.createDataFrame(cast(Any, table), schema=schema).withColumnRenamed("changes", f"{kind}_changes")


def _join(state: DataFrame, kind: str, changes: DataFrame | None, ddl: str) -> DataFrame:
    if changes is None:
        kind_type = cast(StructType, StructType.fromDDL(ddl))["changes"].dataType
        state = state.withColumn(f"{kind}_changes", F.lit(None).cast(kind_type))
    else:
        state = state.join(F.broadcast(changes), f"{kind}_id", "left")
    return state.withColumn(f"{kind}_next", F.lit(0))
