"""The output tables of a run that was played (emulator/table_columns.py has their columns)."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StructField, StructType

from emulator.arrow_frames import frame_of
from emulator.arrow_schemas import to_arrow_schema
from emulator.outcomes.written_events import counted_and_written
from emulator.schema import OUTPUT_TABLES

from .accounting import Accounts
from .inputs import RunInputs
from .lineage import in_lineage
from .logs import epoch_ends
from .outcomes import EVENT_COLUMNS, REFUSED, local_bytes
from .play import Played
from .tables import COUNTERS, EPOCH_COLUMNS, REPLICA, REPLICA_COUNTERS, TIER_COUNTERS
from .tiers import INSIDE

Tables = dict[str, DataFrame | pa.Table]
_PLACE = ("scenario_id", "topic", "partition")
_FENCES = pa.schema(
    [("scenario_id", pa.int32()), ("broker", pa.int32()), ("round", pa.int32()), ("kind", pa.string()), ("cause", pa.int32())]
)
_BROKERS = pa.schema([("scenario_id", pa.int32()), ("broker", pa.int32()), ("rack", pa.string())])


def output_tables(spark: SparkSession, inputs: RunInputs, played: Played) -> Tables:
    """The tables that follow from what was played; those that it has nothing for are without rows."""
    tables, topics = played.tables, _topics(spark, inputs)
    accounts = Accounts(played)
    partitions = tables.partitions
    replicas = _replicas(inputs, spark, played)
    computed = {
        "partitions": _partitions(spark, inputs, played),
        "outcomes": _outcomes(played, accounts),
        "events": _events(spark, inputs, played, accounts),
        "replicas": replicas,
        **_remote(played),
        "leader_epochs": _epochs(played).join(partitions.select("pid", "scenario_id", "topic_id"), "pid"),
    }
    for name in ("trace", "trace_partitions"):
        rows = played.rows(name)
        if rows is not None:
            computed[name] = _traced(name, rows)
    named = {name: _named(name, rows, topics) for name, rows in computed.items()}
    made: Tables = {**named, **counted_and_written(named["events"], inputs.scenarios)}
    made |= {"brokers": _brokers(inputs), "faults": _faults(inputs)}
    return {name: empty_table(name) for name in OUTPUT_TABLES} | made


def empty_table(name: str) -> pa.Table:
    """An output table without rows."""
    return to_arrow_schema(OUTPUT_TABLES[name]).empty_table()


def _topics(spark: SparkSession, inputs: RunInputs) -> DataFrame:
    rows = [{"topic_id": p.topic_id, "topic": p.name, "first_pid": p.first_pid} for p in inputs.places]
    schema = pa.schema([("topic_id", pa.int32()), ("topic", pa.string()), ("first_pid", pa.int64())])
    return frame_of(spark, pa.Table.from_pylist(rows, schema))


def _named(table: str, rows: DataFrame, topics: DataFrame) -> DataFrame:
    """The rows with the names that users know, in the columns of the table."""
    named = rows.join(F.broadcast(topics), "topic_id").withColumn("partition", F.expr("CAST(pid - first_pid AS INT)"))
    return named.select([_typed(named, field) for field in OUTPUT_TABLES[table].fields])


def _typed(rows: DataFrame, field: StructField) -> Column:
    name, kind = field.name, field.dataType.simpleString()
    given = f"`{name}`" if name in rows.columns else f"CAST(null AS {kind})"
    if not isinstance(field.dataType, ArrayType):
        return F.expr(f"CAST({given} AS {kind})").alias(name)
    # The contract's arrays hold no nulls.
    entry = "named_struct('epoch', coalesce(x.epoch, -1), 'start_offset', coalesce(x.start_offset, -1L))"
    value = entry if isinstance(field.dataType.elementType, StructType) else "coalesce(x, -1)"
    return F.expr(f"transform({given}, x -> {value}) AS {name}")


def _sets(**flags: str) -> list[Column]:
    return [F.expr(f"array_sort(collect_list(broker) FILTER (WHERE {flag})) AS {name}") for name, flag in flags.items()]


def _partitions(spark: SparkSession, inputs: RunInputs, played: Played) -> DataFrame:
    order = "transform(array_sort(collect_list(IF(position IS NULL, null, struct(position, broker)))), x -> x.broker) AS replicas"
    replicas = played.tables.replicas.groupBy("pid").agg(F.expr(order))
    settings = frame_of(spark, inputs.settings).groupBy("topic_id")
    last = settings.agg(F.expr("max_by(min_insync_replicas, from_round) AS min_isr"))
    partitions = played.tables.partitions.select("pid", "scenario_id", "topic_id")
    return partitions.join(replicas, "pid").join(F.broadcast(last), "topic_id")


def _outcomes(played: Played, accounts: Accounts) -> DataFrame:
    tables, more = played.tables, tuple[str, ...]()
    sums = [F.sum(name).alias(name) for name in REPLICA_COUNTERS]
    leads = "broker = client_leader AND position IS NOT NULL"
    last = [F.expr(f"coalesce(max(IF({leads}, {name}, null)), 0L) AS {name}") for name in ("hw", "leo")]
    of_replicas = tables.replicas.join(tables.partitions.select("pid", "client_leader"), "pid").groupBy("pid")
    rows = tables.partitions.join(of_replicas.agg(*sums, *last, *_sets(isr="in_isr", elr="in_elr")), "pid")
    if tables.tiers is not None:
        of_tiers = tables.tiers.groupBy("pid").agg(*(F.sum(name).alias(name) for name in TIER_COUNTERS))
        rows, more = rows.join(of_tiers, "pid"), TIER_COUNTERS
    rows = rows.join(accounts.sums(), "pid", "left")
    others = [field for field in OUTPUT_TABLES["outcomes"] if field.name not in (*rows.columns, "topic", "partition")]
    more_columns = {field.name: F.lit(None if field.nullable else 0).cast(field.dataType) for field in others}
    lost = {name: F.expr(f"coalesce({name}, 0L)") for name in ("acked", "acked_lost", "committed_lost")}
    kept = ("pid", "scenario_id", "topic_id", "leader", "leader_epoch", "isr", "elr", "hw", "leo", *lost)
    every = rows.withColumns(lost | more_columns)
    return every.select(*kept, *COUNTERS, *REPLICA_COUNTERS, *more, *more_columns)


def _events(spark: SparkSession, inputs: RunInputs, played: Played, accounts: Accounts) -> DataFrame:
    tables = played.tables
    refusing = tables.partitions.where("refusing_records > 0").selectExpr(*REFUSED)
    parts = [part for part in (played.rows("events"), refusing, accounts.losses()) if part is not None]
    every = reduce(DataFrame.unionByName, (part.select(*EVENT_COLUMNS) for part in parts))
    every = every.join(tables.partitions.select("pid", "scenario_id", "topic_id"), "pid")
    fences = _fences(inputs)
    if not fences.num_rows:
        return every
    homes = frame_of(spark, inputs.homes).where("position >= 0").select(*REPLICA)
    of_replicas = homes.join(tables.partitions.select("pid", "scenario_id", "topic_id"), "pid").join(
        F.broadcast(frame_of(spark, fences)), ["scenario_id", "broker"]
    )
    return every.unionByName(of_replicas, allowMissingColumns=True)


def _fences(inputs: RunInputs) -> pa.Table:
    """When which broker was fenced and unfenced."""
    rows = [
        (scenario_id, broker, s.from_round, kind, s.cause if s.cause >= 0 else None)
        for scenario_id, brokers in inputs.timelines.items()
        for broker, segments in brokers.items()
        for s in segments
        for kind, happens in (("fenced", s.fence_now), ("unfenced", s.unfence_now))
        if happens
    ]
    return pa.Table.from_pylist([dict(zip(_FENCES.names, row, strict=True)) for row in rows], _FENCES)


def _replicas(inputs: RunInputs, spark: SparkSession, played: Played) -> DataFrame:
    tables = played.tables
    partitions = tables.partitions.select("pid", "scenario_id", "topic_id", "rounds", "keeps_segments")
    rows = tables.replicas.where("position IS NOT NULL").join(partitions, "pid")
    whole = "log_start AS log_start_offset"
    if tables.tiers is not None:
        rows, whole = rows.join(tables.tiers.select(*REPLICA, "whole_start"), REPLICA), "whole_start AS log_start_offset"
    brokers = frame_of(spark, inputs.brokers).select("scenario_id", "broker", "to_round", "offline")
    rows = rows.join(F.broadcast(brokers), ["scenario_id", "broker"]).where("to_round = rounds")
    sizes = local_bytes(rows, tables.logs, tables.batches, tables.segments).withColumnRenamed("bytes", "local_bytes")
    role = "CASE WHEN offline THEN 'offline' WHEN leads THEN 'leader' ELSE 'follower' END AS role"
    return rows.join(sizes, REPLICA, "left").selectExpr(
        "pid", "scenario_id", "topic_id", "broker", role, "believed_epoch AS leader_epoch", whole,
        "log_start AS local_log_start_offset", "leo", "hw", "in_isr", "coalesce(local_bytes, 0L) AS local_bytes",
    )  # fmt: skip


def _remote(played: Played) -> dict[str, DataFrame]:
    """The table `remote_segments`. What is copied stays: in_lineage by the cache of the last leader."""
    tables = played.tables
    if tables.remote_segments is None or tables.remote_epochs is None:
        return {}
    leaders = tables.replicas.join(tables.partitions.select("pid", "client_leader"), "pid").where("broker = client_leader")
    caches = epoch_ends(tables.leader_epochs).join(leaders.select(*REPLICA, "leo"), REPLICA).drop("broker")
    entry = "named_struct('epoch', epoch, 'start_offset', {})"
    rows = tables.remote_epochs.groupBy("pid", "number").agg(
        F.expr(f"array_sort(collect_list(IF({INSIDE}, {entry.format('first_offset')}, null))) AS epochs"),
        F.expr(f"array_sort(collect_list({entry.format('start_offset')})) AS checkpoint"),
    )
    named = tables.remote_segments.join(rows, ["pid", "number"]).join(
        in_lineage(tables.remote_epochs, caches), ["pid", "number"], "left"
    )
    known = named.selectExpr(
        "pid", "number AS segment", "base_offset", "segment_end AS end_offset", "epochs", "checkpoint", "size_bytes AS bytes",
        "size_bytes AS stored_bytes", "'COPY_FINISHED' AS state", "copier AS broker", "leader_epoch",
        "copied_round AS started_round", "copied_round", "coalesce(in_lineage, false) AS in_lineage",
    )  # fmt: skip
    return {"remote_segments": known.join(tables.partitions.select("pid", "scenario_id", "topic_id"), "pid")}


def _epochs(played: Played) -> DataFrame:
    own = played.tables.replicas.where("position IS NOT NULL").select(*REPLICA)
    return epoch_ends(played.tables.leader_epochs.select(*EPOCH_COLUMNS)).join(own, REPLICA)


def _traced(name: str, rows: DataFrame) -> DataFrame:
    if name == "trace_partitions":
        return rows
    return rows.withColumn("epochs", F.expr("coalesce(epochs, array())"))


def _brokers(inputs: RunInputs) -> pa.Table:
    rows: list[dict[str, Any]] = [
        {"scenario_id": s.scenario_id, "broker": b.id, "rack": b.rack} for s in inputs.scenarios for b in s.brokers
    ]
    return pa.Table.from_pylist(rows, _BROKERS)


def _faults(inputs: RunInputs) -> pa.Table:
    parts = []
    for scenario in inputs.scenarios:
        faults = scenario.faults
        ids = pa.array(np.arange(faults.num_rows, dtype=np.int32))
        of = pa.array(np.full(faults.num_rows, scenario.scenario_id, np.int32))
        parts.append(faults.append_column("fault_id", ids).append_column("scenario_id", of))
    return pa.concat_tables(parts)
