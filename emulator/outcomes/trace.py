"""The tables of traced partitions: every replica, and what the controller holds, at the end of every round."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emulator.inputs import ScenarioInputs
from emulator.outcomes.assemble import broker_or_none, brokers_in
from emulator.outcomes.names import names
from emulator.schema import LIST_OFFSETS, OUTPUT_TABLES

TRACE_TABLES = ("trace", "trace_partitions")


def trace_tables(spark: SparkSession, traced_state: DataFrame, inputs: list[ScenarioInputs]) -> dict[str, DataFrame]:
    """The rows of TRACE_TABLES, by name, that a state's `trace` arrays hold; not yet computed.

    `traced_state`: rows of a state (emulator/expressions/kafka/state.py); rows without a trace give nothing. Role, offsets and
    epochs are those of the end of the recorded round; a replica is left out while it is not assigned.
    """
    recorded = traced_state.filter("size(trace) > 0").select(
        "scenario_id", "partition_id", "world_id", "feed_id", "slot", F.explode("trace").alias("at")
    )
    rounds = names(spark, inputs).add_all(recorded)
    # The output's arrays hold no nulls, and Spark believes that of no stored array.
    entry = "named_struct('epoch', coalesce(e.epoch, -1), 'start_offset', coalesce(e.start_offset, -1L))"
    replicas = rounds.filter("at.replica").select(
        "scenario_id",
        "topic",
        "partition",
        "at.round",
        F.expr("get(brokers, slot) AS broker"),
        F.expr("CASE WHEN at.offline THEN 'offline' WHEN at.is_leader THEN 'leader' ELSE 'follower' END AS role"),
        F.col("at.believed_epoch").alias("leader_epoch"),
        "at.log_start_offset",
        "at.local_log_start_offset",
        "at.leo",
        "at.hw",
        "at.remote_leo",
        "at.in_isr",
        "at.fetch_state",
        F.expr(f"transform(at.epochs, e -> {entry}) AS epochs"),
        F.expr("transform(at.local_segments, b -> coalesce(b, -1L)) AS local_segments"),
        "at.local_bytes",
        *(f"at.{name}" for name in ("highest_remote_offset", *LIST_OFFSETS)),
    )
    partitions = rounds.filter("slot = 0").select(
        "scenario_id",
        "topic",
        "partition",
        "at.round",
        F.expr(f"{broker_or_none('at.leader')} AS leader"),
        "at.leader_epoch",
        F.expr(f"{brokers_in('at.isr')} AS isr"),
        F.expr(f"{brokers_in('at.elr')} AS elr"),
        F.expr(f"{brokers_in('at.last_known_elr')} AS last_known_elr"),
    )
    tables = zip(TRACE_TABLES, (replicas, partitions), strict=True)
    return {name: frame.select(OUTPUT_TABLES[name].names) for name, frame in tables}
