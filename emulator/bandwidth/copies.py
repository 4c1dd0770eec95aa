"""What each copy to remote storage may move between two quota edges: `copy_share_bytes` of the state.

The demands of those who copy are added up by broker, shared out on the driver and joined back. A broker whose copies stay within
its budgets limits none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emulator.arrow_frames import frame_of
from emulator.bandwidth.at_edges import by_scenario, is_in, sql
from emulator.bandwidth.copy_budgets import CopyBudgets, limits_copying
from emulator.expressions.columns import let
from emulator.expressions.kafka.tier.copying import LAST_STABLE_OFFSET, candidates, that_have_waited
from emulator.expressions.kafka.tier.take_tier_inputs import RUNS
from emulator.expressions.kafka.tier.writes import left_bytes
from emulator.inputs import ScenarioInputs
from emulator.inputs.storage_settings import MOST_COPY_BYTES

_FLOW = ["scenario_id", "broker", "takes_time"]

_COPY = "copy_under_way"
_LEADS = f"coalesce({RUNS} AND is_leader AND feed.storage.copies AND NOT is_deleted, false)"
_LISTED = candidates(
    *("segments", "segment_base_offset", "greatest(coalesce(copied, highest_remote) + 1, log_start_offset)"),
    *(LAST_STABLE_OFFSET, "leo"),
)
_WAITED = let("listed_", _LISTED, that_have_waited("listed_", "segments", "segment_bytes", "round", "feed.storage"))
# Not get(...): with a field of another struct as its index, Spark 4.1 loses the array when it prunes columns of the aggregation.
_SEGMENT = f"try_element_at(remote_segments, {_COPY}.segment + 1)"
_MOVED = f"coalesce({_SEGMENT}.bytes - {left_bytes(_COPY)}, 0L)"

_BACKLOG = (
    f"CASE WHEN {_COPY}.orphaned THEN {left_bytes(_COPY)}"
    f" ELSE greatest(aggregate({_WAITED}, 0L, (sum, x) -> sum + x.bytes) - {_MOVED}, 0L) END"
)
"""Bytes that a copy task could move at once: closed segments that have waited for their lag, less what is moved already."""


class Copies:
    """Leaders' shares of brokers' copier threads and copy quotas."""

    def __init__(self, spark: SparkSession, inputs: Sequence[ScenarioInputs]) -> None:
        self._spark = spark
        self._budgets = {i.scenario.scenario_id: CopyBudgets(i.scenario) for i in inputs if limits_copying(i.scenario)}

    @property
    def scenarios(self) -> set[int]:
        """The scenarios whose copying is limited."""
        return set(self._budgets)

    def share_out(self, now: DataFrame, round_: int, due: list[int]) -> tuple[DataFrame, set[int]]:
        """The state with new shares of these scenarios, and those scenarios of which a budget is used up.

        `now`: the state with at_edges.with_inputs_now, at the start of the round.
        """
        flows = self._with_demand(now)
        sums = (
            flows.where(f"{is_in(due)} AND has_share")
            .groupBy(*_FLOW)
            .agg(
                F.expr("sum(members * copy_demand) AS demand"),
                F.expr("sum(IF(copies, members, 0)) AS copiers"),
                F.expr("max(store_bytes) AS store_bytes"),
            )
        )
        held_back = {s: self._held_back(s, round_, rows) for s, rows in by_scenario(sums, _FLOW, due).items() if rows}
        full = {s for s, table in held_back.items() if table.num_rows}
        if full:
            parts = frame_of(self._spark, pa.concat_tables([held_back[s] for s in sorted(full)]))
            shared = flows.join(F.broadcast(parts), _FLOW, "left")
        else:
            shared = flows.withColumn("part", F.lit(None).cast("double"))
        share = "IF(has_share AND part IS NOT NULL, greatest(CAST(floor(copy_demand * part) AS BIGINT), 1L), null)"
        shared = shared.withColumn("copy_share_bytes", F.expr(f"IF({is_in(due)}, {share}, copy_share_bytes)"))
        return shared.select(now.columns), full

    def _with_demand(self, now: DataFrame) -> DataFrame:
        """The state with its flow, and what its rows ask for in bytes per round.

        A copier's demand: what it could copy, in even parts over the window, and what will be appended; what one thread moves at
        most. That the store is away does not lessen it: the shares are in place when it is back.
        """
        known = {
            # Whoever may lead before the next edge has a share, too.
            "has_share": F.expr(sql(f"coalesce(feed.storage.copies, false) OR {_COPY} IS NOT NULL")),
            "copies": F.expr(sql(f"{_LEADS} OR {_COPY} IS NOT NULL")),
            "store_bytes": F.expr(sql("feed.storage.copy_bytes")),
            "takes_time": F.expr(sql("feed.storage.copy_bytes IS NOT NULL")),
            "backlog": F.expr(sql(_BACKLOG)),
            "appends": F.expr(sql(f"IF({_LEADS} AND slot = client_leader, feed.bytes, 0L)")),
        }
        wanted = "(backlog + quota_window - 1) DIV quota_window + appends"
        most = f"coalesce(store_bytes, CAST({MOST_COPY_BYTES} AS BIGINT))"
        return now.withColumns(known).withColumn("copy_demand", F.expr(f"IF(copies, least({wanted}, {most}), 0L)"))

    def _held_back(self, scenario_id: int, round_: int, rows: list[Any]) -> pa.Table:
        """The flows of a scenario that a budget holds back, and the part of their demand that they get."""
        names = ("broker", "takes_time", "demand", "copiers")
        broker, takes_time, demand, copiers = (np.array([r[name] for r in rows], np.int64) for name in names)
        store_bytes = np.array([r["store_bytes"] or 0 for r in rows], np.int64)
        budgets = self._budgets[scenario_id]
        part, held_back = budgets.shared(round_, broker, takes_time > 0, demand, copiers, store_bytes)
        return pa.table(
            {
                "scenario_id": pa.array(np.full(int(held_back.sum()), scenario_id, np.int32)),
                "broker": pa.array(broker[held_back], pa.int32()),
                "takes_time": pa.array(takes_time[held_back] > 0),
                "part": pa.array(part[held_back]),
            }
        )
