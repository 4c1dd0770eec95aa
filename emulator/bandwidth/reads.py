"""What remote reads may bring between two quota edges: `read_shares` of the state.

What readers want is added up by broker and fetch. Where a broker's quota or its threads do not suffice, or one consumer fetches
several partitions, of which one is served at a time, readers get a part of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emulator.arrow_frames import frame_of
from emulator.bandwidth.at_edges import by_scenario, is_in, sql
from emulator.bandwidth.read_budgets import BY_ITSELF, ReadBudgets, Wanted, limits_reading
from emulator.expressions.columns import let
from emulator.expressions.kafka.reading.types import EARLIEST
from emulator.expressions.kafka.segments import LOCAL_START
from emulator.expressions.log import bytes_at
from emulator.inputs import ScenarioInputs
from emulator.inputs.consumers import MOST_BYTES, groups_of
from emulator.inputs.fetching import fetching_members

_FLOW = ["scenario_id", "broker", "fetch"]
_PART = pa.struct([("turn", pa.float64()), ("quota", pa.float64())])
_PARTS = pa.schema([("scenario_id", pa.int32()), ("broker", pa.int32()), ("parts", pa.map_(pa.int64(), _PART))])
_FETCHES = pa.schema([("scenario_id", pa.int32()), ("partition_id", pa.int64()), ("fetches", pa.list_(pa.int64()))])


class Reads:
    """Readers' shares of brokers' remote fetch quotas and reader threads, and of their own fetches."""

    def __init__(self, spark: SparkSession, inputs: Sequence[ScenarioInputs]) -> None:
        self._spark = spark
        limited = [i for i in inputs if limits_reading(i.scenario)]
        self._budgets = {i.scenario.scenario_id: ReadBudgets(i.scenario) for i in limited}
        fetches = pa.concat_tables([_FETCHES.empty_table(), *(_fetches(i) for i in limited)])
        self._fetches = frame_of(spark, fetches) if fetches.num_rows else None

    @property
    def scenarios(self) -> set[int]:
        """The scenarios whose remote reads are limited."""
        return set(self._budgets)

    def share_out(self, now: DataFrame, round_: int, due: list[int]) -> tuple[DataFrame, set[int]]:
        """The state with new shares of these scenarios, and those scenarios in which a reader has less than it wants.

        `now`: the state with at_edges.with_inputs_now, at the start of the round.
        """
        flows = self._with_wanted(now)
        each = flows.where(f"{is_in(due)} AND is_read").selectExpr(
            "scenario_id", "broker", "members", "posexplode(filter(wanted, x -> x.bytes > 0)) AS (at, x)"
        )
        sums = each.groupBy("scenario_id", "broker", F.expr("x.fetch").alias("fetch")).agg(
            F.expr("sum(members * x.bytes) AS demand"),
            F.expr("sum(members * x.most) AS most"),
            F.expr("sum(members) AS readers"),
            F.expr("sum(IF(at = 0, members, 0)) AS partitions"),
        )
        short: dict[tuple[int, int], list[tuple[int, dict[str, float]]]] = {}
        for scenario_id, rows in by_scenario(sums, _FLOW, due).items():
            wanted: dict[int, dict[int, Wanted]] = defaultdict(dict)
            partitions: dict[int, int] = defaultdict(int)
            for row in rows:
                wanted[row["broker"]][row["fetch"]] = Wanted(row["demand"], row["most"], row["readers"])
                partitions[row["broker"]] += row["partitions"]
            for broker, of_broker in wanted.items():
                parts = self._budgets[scenario_id].parts(round_, broker, of_broker, partitions[broker])
                if parts:
                    short[scenario_id, broker] = [(fetch, part._asdict()) for fetch, part in parts.items()]
        if short:
            rows_of_parts = [{"scenario_id": s, "broker": broker, "parts": parts} for (s, broker), parts in short.items()]
            parts_by_broker = frame_of(self._spark, pa.Table.from_pylist(rows_of_parts, schema=_PARTS))
            shared = flows.join(F.broadcast(parts_by_broker), ["scenario_id", "broker"], "left")
        else:
            shared = flows.withColumn("parts", F.lit(None).cast("map<bigint, struct<turn: double, quota: double>>"))
        groups = "sequence(0, size(wants) - 1)"
        shares = f"IF(is_read AND parts IS NOT NULL, transform({groups}, g_ -> {_share()}), null)"
        shared = shared.withColumn("read_shares", F.expr(f"IF({is_in(due)}, {shares}, read_shares)"))
        return shared.select(now.columns), {scenario_id for scenario_id, _ in short}

    def _with_wanted(self, now: DataFrame) -> DataFrame:
        """The state with what its remote readers ask for in bytes per round, and what their fetches bring at the most.

        A reader's demand: what it has to read from remote storage, in even parts over the window, and what will be appended.
        Whether the store is there does not matter: the shares are in place when it is back.
        """
        if self._fetches is None:
            now = now.withColumn("fetches", F.lit(None).cast("array<bigint>"))
        else:
            now = now.join(F.broadcast(self._fetches), ["scenario_id", "partition_id"], "left")
        known = {
            # Whoever may be read from before the next edge has shares, too.
            "is_read": F.expr(sql("coalesce(feed.storage.tiered, false) AND readers IS NOT NULL")),
            "wants": F.expr(sql("feed.consumers.wants")),
            "local_from": F.expr(sql(LOCAL_START)),
            "appends": F.expr(sql("feed.bytes")),
        }
        fetch = f"coalesce(get(fetches, get(reader_groups, i_)), {BY_ITSELF}L)"
        reader = f"named_struct('group', get(reader_groups, i_), 'fetch', {fetch}, 'bytes', b_.bytes, 'most', b_.most)"
        of_all = F.expr(sql(f"transform(readers, (r, i_) -> {let('b_', _wanted(), reader)})"))
        return now.withColumns(known).withColumn("wanted", F.when(F.col("is_read"), of_all))


def _wanted() -> str:
    """SQL: bytes that the reader `r`, of place `i_`, reads remotely in a round, and the most; null if it does not."""
    start = f"IF(w_.start = {EARLIEST}, log_start_offset, IF(w_.start >= 0, w_.start, null))"
    backlog = f"{bytes_at('log', 'local_from')} - {bytes_at('log', 'from_')}"
    in_a_round = f"{bytes_at('log', 'least(local_from, from_ + w_.records_per_round)')} - {bytes_at('log', 'from_')}"
    most = f"least(w_.fetch_bytes, feed.consumers.store_bytes, {in_a_round})"
    evenly = f"({backlog} + quota_window - 1) DIV quota_window + appends"
    demand = let("m_", most, f"named_struct('bytes', least(m_, {evenly}), 'most', m_)")
    reads = f"IF(w_ IS NOT NULL AND r.stopped IS NULL AND from_ < local_from, {demand}, null)"
    position = let("p_", f"coalesce(r.position, {start})", "IF(p_ IS NULL, null, greatest(log_start_offset, p_))")
    return let("w_", "get(wants, get(reader_groups, i_))", let("from_", position, reads))


def _share() -> str:
    """SQL: bytes a round of the reader of the group `g_`; one at least, also for who may come to read here."""
    part = f"coalesce(try_element_at(parts, coalesce(get(fetches, g_), {BY_ITSELF}L)), try_element_at(parts, {BY_ITSELF}L))"
    in_turn = "coalesce(own_.most, 0L) * part_.turn"
    bytes_ = f"IF(part_.quota < 1, least(coalesce(own_.bytes, 0L), {in_turn}) * part_.quota, {in_turn})"
    own = let("own_", "get(filter(wanted, x -> x.group = g_), 0)", f"greatest(CAST(floor({bytes_}) AS BIGINT), 1L)")
    return let("part_", part, f"IF(part_ IS NULL, {MOST_BYTES}L, {own})")


def _fetches(inputs: ScenarioInputs) -> pa.Table:
    """By partition that has a state of its own: the fetch of each of its groups, in the order of `wants`."""
    members = fetching_members(inputs.scenario)
    if not members:
        return _FETCHES.empty_table()
    numbers = {group: at << 32 for at, group in enumerate(members)}
    groups = [groups_of(feed.consumers) for feed in inputs.feeds]
    alone = np.full(inputs.partition_count, BY_ITSELF, np.int64)
    fetch = {group: np.where(of_group < 0, BY_ITSELF, of_group + numbers[group]) for group, of_group in members.items()}
    rows = [
        {
            "scenario_id": inputs.scenario.scenario_id,
            "partition_id": partition,
            "fetches": [int(fetch.get(group, alone)[partition]) for group in groups[feed]],
        }
        for partition, feed in zip(inputs.states.tolist(), inputs.partition_table.feed_id[inputs.states].tolist(), strict=True)
        if any(group in fetch for group in groups[feed])
    ]
    return pa.Table.from_pylist(rows, schema=_FETCHES)
