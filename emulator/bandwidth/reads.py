"""What remote reads from each replica may bring between two quota edges: `read_share_bytes` of the state.

The demands of those who read remotely are added up by broker. Where its quota or its threads do not suffice, all replicas'
readers get the same part of what they want.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from emulator.arrow_frames import frame_of
from emulator.bandwidth.at_edges import by_scenario, is_in, sql
from emulator.bandwidth.read_budgets import ReadBudgets, limits_reading
from emulator.inputs import ScenarioInputs
from emulator.rounds.columns import let
from emulator.rounds.kafka.reading.types import EARLIEST
from emulator.rounds.kafka.segments import LOCAL_START
from emulator.rounds.log import bytes_at

_FLOW = ["scenario_id", "broker"]
_TABLE = pa.schema([("scenario_id", pa.int32()), ("broker", pa.int32()), ("part", pa.float64())])


class Reads:
    """Replicas' shares of brokers' remote fetch quotas and reader threads."""

    def __init__(self, spark: SparkSession, inputs: Sequence[ScenarioInputs]) -> None:
        self._spark = spark
        self._budgets = {i.scenario.scenario_id: ReadBudgets(i.scenario) for i in inputs if limits_reading(i.scenario)}

    @property
    def scenarios(self) -> set[int]:
        """The scenarios whose remote reads are limited."""
        return set(self._budgets)

    def share_out(self, now: DataFrame, round_: int, due: list[int]) -> tuple[DataFrame, set[int]]:
        """The state with new shares of these scenarios, and those scenarios in which a broker has less than is wanted.

        `now`: the state with at_edges.with_inputs_now, at the start of the round.
        """
        flows = self._with_demand(now)
        sums = (
            flows.where(f"{is_in(due)} AND read_demand > 0")
            .groupBy(*_FLOW)
            .agg(
                F.expr("sum(members * read_demand) AS demand"),
                F.expr("sum(members * remote_readers) AS readers"),
                F.expr("sum(members) AS partitions"),
            )
        )
        short = [
            {"scenario_id": scenario_id, "broker": row["broker"], "part": part}
            for scenario_id, rows in by_scenario(sums, _FLOW, due).items()
            for row in rows
            if (part := self._part(scenario_id, round_, row)) < 1
        ]
        if short:
            parts = frame_of(self._spark, pa.Table.from_pylist(short, schema=_TABLE))
            shared = flows.join(F.broadcast(parts), _FLOW, "left")
        else:
            shared = flows.withColumn("part", F.lit(None).cast("double"))
        share = "IF(is_read AND part IS NOT NULL, greatest(CAST(floor(read_demand * part) AS BIGINT), 1L), null)"
        shared = shared.withColumn("read_share_bytes", F.expr(f"IF({is_in(due)}, {share}, read_share_bytes)"))
        return shared.select(now.columns), {row["scenario_id"] for row in short}

    def _part(self, scenario_id: int, round_: int, row: Row) -> float:
        return self._budgets[scenario_id].part(round_, row["broker"], row["demand"], row["readers"], row["partitions"])

    def _with_demand(self, now: DataFrame) -> DataFrame:
        """The state with what its remote readers ask for in bytes per round, and how many they are.

        A reader's demand: what it has to read from remote storage, in even parts over the window, and what will be appended; what
        its fetches bring in a round at most. Whether the store is there does not matter: the shares are in place when it is back.
        """
        known = {
            # Whoever may be read from before the next edge has a share, too.
            "is_read": F.expr(sql("coalesce(feed.storage.tiered, false) AND readers IS NOT NULL")),
            "local_from": F.expr(sql(LOCAL_START)),
            "appends": F.expr(sql("feed.bytes")),
        }
        wanted = F.expr(sql(f"filter(transform(readers, (r, i_) -> {_wanted()}), x -> x > 0)"))
        asked = {"wanted": F.when(F.col("is_read"), wanted)}
        sums = {
            "read_demand": F.expr("coalesce(aggregate(wanted, 0L, (sum, x) -> sum + x), 0L)"),
            "remote_readers": F.expr("coalesce(size(wanted), 0)"),
        }
        return now.withColumns(known).withColumns(asked).withColumns(sums)


def _wanted() -> str:
    """SQL: bytes that the reader `r`, of place `i_`, reads remotely in a round; null if it does not."""
    start = f"IF(w_.start = {EARLIEST}, log_start_offset, IF(w_.start >= 0, w_.start, null))"
    backlog = f"{bytes_at('log', 'local_from')} - {bytes_at('log', 'from_')}"
    in_a_round = f"{bytes_at('log', 'least(local_from, from_ + w_.records_per_round)')} - {bytes_at('log', 'from_')}"
    most = f"least(w_.fetch_bytes, feed.consumers.store_bytes, {in_a_round})"
    demand = let("b_", backlog, f"least({most}, (b_ + quota_window - 1) DIV quota_window + appends)")
    reads = f"IF(w_ IS NOT NULL AND r.stopped IS NULL AND from_ < local_from, {demand}, null)"
    position = let("p_", f"coalesce(r.position, {start})", "IF(p_ IS NULL, null, greatest(log_start_offset, p_))")
    return let("w_", "get(feed.consumers.wants, get(reader_groups, i_))", let("from_", position, reads))
