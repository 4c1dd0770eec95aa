"""The inputs that begin within a stretch of rounds, joined to the state by broadcast joins on their ids."""

from __future__ import annotations

from functools import cache

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from emulator.arrow_frames import frame_of
from emulator.arrow_schemas import from_arrow_schema
from emulator.expressions.columns import named
from emulator.expressions.kafka.state import KAFKA_STATE
from emulator.inputs import ScenarioInputs
from emulator.inputs.scenario_inputs import change_tables
from emulator.leaps import LEAP_COLUMNS
from emulator.state_schema import StateSchema

CHANGE_COLUMNS = ["world_changes", "world_next", "feed_changes", "feed_next"]

CHANGES_AHEAD = 8
"""Changes of each kind that a leaping partition carries: what it meets before they are attached again."""


def attached_columns(schema: StateSchema) -> list[str]:
    """The state with the inputs that begin within a job, in the order that a planned round reads them."""
    return [*schema.packed_columns, *CHANGE_COLUMNS]


def leaping_columns(schema: StateSchema) -> list[str]:
    """The same with what a leap needs."""
    return [*attached_columns(schema), *LEAP_COLUMNS]


class Changes:
    """What begins in the rounds [from_round, to_round), by world and by feed."""

    def __init__(
        self,
        spark: SparkSession,
        inputs: list[ScenarioInputs],
        from_round: int,
        to_round: int,
        schema: StateSchema = KAFKA_STATE,
    ) -> None:
        self.to_round = to_round
        self._schema = schema
        worlds, feeds = change_tables(inputs, from_round, to_round, schema)
        self._frames = {"world": _frame(spark, "world", worlds), "feed": _frame(spark, "feed", feeds)}

    def attach(self, state: DataFrame) -> DataFrame:
        """The packed state with `attached_columns`."""
        return self.joined(state).select(*named(*attached_columns(self._schema)))

    def attach_ahead(self, state: DataFrame, ends: dict[int, int]) -> DataFrame:
        """The packed state, with LEAP_COLUMNS but `stop` and `ends`, with `leaping_columns`.

        Every partition gets what begins from its own round on, CHANGES_AHEAD changes at most; `stop` is where they end. `ends`:
        rounds by scenario_id.
        """
        kinds = ("world", "feed")
        ahead = {f"{k}_changes": F.expr(f"filter({k}_changes, x -> x.from_round >= round)") for k in kinds}
        joined = self.joined(state).withColumns(ahead)
        unattached = ", ".join(f"coalesce(get({k}_changes, {CHANGES_AHEAD}).from_round, {self.to_round})" for k in kinds)
        end = f"{next(iter(ends.values()))}"
        if len(set(ends.values())) > 1:
            end = f"element_at(map({', '.join(f'{k}, {v}' for k, v in ends.items())}), scenario_id)"
        worked_out = {"ends": end, "stop": f"least({unattached}, {end})"}
        worked_out |= {f"{k}_changes": f"slice({k}_changes, 1, {CHANGES_AHEAD})" for k in kinds}
        columns = leaping_columns(self._schema)
        return joined.select(*(F.expr(worked_out[n]).alias(n) if n in worked_out else named(n)[0] for n in columns))

    def joined(self, state: DataFrame) -> DataFrame:
        """The packed state with CHANGE_COLUMNS beside whatever it has."""
        for kind, frame in self._frames.items():
            if frame is not None:
                state = state.join(F.broadcast(frame), f"{kind}_id", "left")
        return state.withColumns(_without_frames(self._schema, tuple(k for k, frame in self._frames.items() if frame is None)))


@cache
def _without_frames(schema: StateSchema, kinds: tuple[str, ...]) -> dict[str, Column]:
    """Those of CHANGE_COLUMNS that no join gives: nothing begins for these kinds."""
    nothing = {f"{kind}_changes": F.lit(None).cast(schema.changes_type(kind)) for kind in kinds}
    return nothing | {"world_next": F.lit(0), "feed_next": F.lit(0)}


def _frame(spark: SparkSession, kind: str, table: pa.Table) -> DataFrame | None:
    if not table.num_rows:
        return None
    schema = from_arrow_schema(table.schema)
    return frame_of(spark, table, schema).withColumnRenamed("changes", f"{kind}_changes")
