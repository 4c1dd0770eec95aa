"""What each broker carried in a time bucket, and how it stood at its end."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emulator.inputs import ScenarioInputs
from emulator.outcomes.names import world_names
from emulator.rounds.log import bytes_at
from emulator.rounds.slots import mine
from emulator.schema import OUTPUT_TABLES

_SUMS = ("bytes_in", "bytes_out", "leader_count", "follower_count", "local_bytes")
_HERE = ("scenario_id", "world_id")


def broker_bucket(
    spark: SparkSession, state: DataFrame, inputs: list[ScenarioInputs], from_round: int, to_round: int
) -> DataFrame:
    """The rows of `broker_rounds` for the bucket [from_round, to_round), not yet computed.

    `state`: as it is at the bucket's end, its byte counters set to 0 at its start. Every broker has a row. bytes_in:
    produced to and fetched by the broker; bytes_out: fetched from it. leader_count: partitions of which it is the
    controller's leader and running; follower_count: those it otherwise replicates while it runs. A scenario that ended
    before the bucket has no rows; one that ends in it cuts it short.
    """
    bucket = spark.createDataFrame(_broker_times(inputs, from_round, to_round), OUTPUT_TABLES["broker_rounds"])
    sums = _sums(state, world_names(spark, inputs))
    filled = {name: F.coalesce(f"sum_{name}", F.lit(0)) for name in _SUMS}
    joined = bucket.drop(*_SUMS).join(F.broadcast(sums), ["scenario_id", "broker"], "left")
    return joined.withColumns(filled).select(OUTPUT_TABLES["broker_rounds"].names)


def _sums(state: DataFrame, worlds: DataFrame) -> DataFrame:
    """scenario_id, broker, and sum_* of what its replicas carried: summed by world first, which leaves few rows."""
    parts = [_at_replica(state), _at_source(state), _at_earlier_sources(state)]
    rows = parts[0].unionByName(parts[1]).unionByName(parts[2]).join(F.broadcast(worlds), "world_id")
    by_broker = rows.withColumn("broker", F.expr("get(brokers, slot)")).groupBy("scenario_id", "broker")
    return by_broker.agg(*(F.sum(name).alias(f"sum_{name}") for name in _SUMS))


def _at_replica(state: DataFrame) -> DataFrame:
    runs = mine("world.running")
    values = {
        "bytes_in": "produced_bytes + served_bytes + aggregate(served, 0L, (sum, x) -> sum + x.bytes)",
        "bytes_out": "0L",
        "leader_count": f"IF(leader = slot AND {runs}, 1L, 0L)",
        "follower_count": f"IF(leader != slot AND {runs} AND {mine('assigned')}, 1L, 0L)",
        "local_bytes": f"log_bytes - IF(log_start_offset > 0, {bytes_at('log', 'log_start_offset')}, 0L)",
    }
    return _summed(state.select(*_HERE, "slot", *(F.expr(f"members * ({text})").alias(name) for name, text in values.items())))


def _at_source(state: DataFrame) -> DataFrame:
    rows = state.filter("served_bytes > 0 AND believed_leader >= 0")
    return _bytes_out(rows.select(*_HERE, F.col("believed_leader").alias("slot"), F.expr("members * served_bytes AS bytes")))


def _at_earlier_sources(state: DataFrame) -> DataFrame:
    rows = state.filter("size(served) > 0").select(*_HERE, "members", F.explode("served").alias("fetch"))
    return _bytes_out(rows.select(*_HERE, "fetch.slot", F.expr("members * fetch.bytes AS bytes")))


def _bytes_out(rows: DataFrame) -> DataFrame:
    nothing = F.lit(0).cast("bigint")
    values = {name: F.col("bytes") if name == "bytes_out" else nothing for name in _SUMS}
    return _summed(rows.withColumns(values).drop("bytes"))


def _summed(rows: DataFrame) -> DataFrame:
    return rows.groupBy(*_HERE, "slot").agg(*(F.sum(name).alias(name) for name in _SUMS))


def _broker_times(inputs: list[ScenarioInputs], from_round: int, to_round: int) -> list[dict[str, Any]]:
    """One row per scenario under way and broker, with whether and how long it ran; sums are 0 as yet."""
    rows: list[dict[str, Any]] = []
    for i in inputs:
        end = min(to_round, i.scenario.rounds)
        if end <= from_round:
            continue
        for broker in (b.id for b in i.scenario.brokers):
            up_rounds = sum(
                max(0, min(segment.to_round, end) - max(segment.from_round, from_round))
                for segment in i.timelines[broker]
                if not segment.offline
            )
            up = not i.over_time.segment(broker, end - 1).offline
            rows.append(
                {
                    "scenario_id": i.scenario.scenario_id,
                    "broker": broker,
                    "from_round": from_round,
                    "to_round": end,
                    "up": up,
                    "up_rounds": up_rounds,
                    **dict.fromkeys(_SUMS, 0),
                }
            )
    return rows
