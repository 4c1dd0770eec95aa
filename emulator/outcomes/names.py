"""From the engine's compact ids to the users' names: topic, partition, broker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, IntegerType, StructField, StructType

from emulator.arrow_frames import frame_of
from emulator.inputs import ScenarioInputs

_BROKERS = StructType(
    [
        StructField("world_id", IntegerType(), False),
        StructField("brokers", ArrayType(IntegerType(), containsNull=False), False),
    ]
)


@dataclass(frozen=True)
class Names:
    """Tables to join a state with: all are broadcast.

    `worlds`: world_id, brokers (array<int>, by slot). `topics`: feed_id, topic, first_partition_id, end_partition_id:
    the partitions of one topic among those that share a feed have ids in [first_partition_id, end_partition_id).
    `members`: scenario_id, partition_id, stands_for (array of partition_id, world_id): the partitions that a state stands for
    (emulator/inputs/alike.py); None where every partition has its own.
    """

    worlds: DataFrame
    topics: DataFrame
    members: DataFrame | None = None

    def add_all(self, rows: DataFrame) -> DataFrame:
        """Add `topic`, `partition` and `brokers` (ids by slot) to rows of states, once for every partition they stand for."""
        return self.add_partitions(rows).join(F.broadcast(self.worlds), "world_id")

    def add_partitions(self, rows: DataFrame) -> DataFrame:
        """Add `topic` and `partition`, likewise; the partition's own world_id takes the place of the state's."""
        if self.members is not None:
            every = F.broadcast(self.members)
            rows = rows.join(every, ["scenario_id", "partition_id"]).withColumn("member", F.explode("stands_for"))
            rows = rows.withColumns({name: F.col(f"member.{name}") for name in ("partition_id", "world_id")})
            rows = rows.drop("stands_for", "member")
        topics = F.broadcast(self.topics.withColumnRenamed("feed_id", "topic_feed_id"))
        of_topic = (
            (F.col("feed_id") == F.col("topic_feed_id"))
            & (F.col("partition_id") >= F.col("first_partition_id"))
            & (F.col("partition_id") < F.col("end_partition_id"))
        )
        named = rows.join(topics, of_topic)
        number = (F.col("partition_id") - F.col("first_partition_id")).cast("int")
        return named.withColumn("partition", number).drop("topic_feed_id", "first_partition_id", "end_partition_id")


def names(spark: SparkSession, inputs: Sequence[ScenarioInputs]) -> Names:
    """The names behind world_id and feed_id, which count on over the list of scenario inputs."""
    members = None if all(len(i.states) == i.partition_count for i in inputs) else _members(inputs)
    return Names(
        world_names(spark, inputs),
        frame_of(spark, _topics(inputs)),
        None if members is None else frame_of(spark, members),
    )


def world_names(spark: SparkSession, inputs: Sequence[ScenarioInputs]) -> DataFrame:
    """world_id, brokers (array<int>, by slot)."""
    return frame_of(spark, _worlds(inputs), _BROKERS)


def member_brokers(spark: SparkSession, inputs: Sequence[ScenarioInputs]) -> DataFrame:
    """On which brokers are the partitions that a state stands for: a row for each state and choice of brokers.

    Columns: scenario_id, partition_id (of the state), members (how many partitions live there), brokers (array<int>, by slot),
    racks (array<string>, by slot; null: the broker has none).
    """
    parts = []
    for i in inputs:
        racks = {b.id: b.rack for b in i.scenario.brokers}
        state, world, members = i.homes
        brokers = [i.worlds[w].brokers for w in world.tolist()]
        parts.append(
            pa.table(
                {
                    "scenario_id": pa.array(np.full(len(state), i.scenario.scenario_id, np.int32)),
                    "partition_id": pa.array(i.states[state].astype(np.int64)),
                    "members": pa.array(members.astype(np.int64)),
                    "brokers": pa.array(brokers, pa.list_(pa.int32())),
                    "racks": pa.array([[racks[b] for b in of_world] for of_world in brokers], pa.list_(pa.string())),
                }
            )
        )
    return frame_of(spark, pa.concat_tables(parts))


def _members(inputs: Sequence[ScenarioInputs]) -> pa.Table:
    parts = []
    first_world = 0
    for i in inputs:
        groups = i.alike
        states = i.states
        ids = states if groups is None else np.argsort(groups.group, kind="stable")
        sizes = np.ones(len(states), np.int64) if groups is None else groups.sizes
        ends = pa.array(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32))
        worlds = (i.partition_table.world_id[ids] + first_world).astype(np.int32)
        first_world += i.world_count
        columns = [pa.array(ids.astype(np.int64)), pa.array(worlds)]
        stands_for = pa.StructArray.from_arrays(columns, ["partition_id", "world_id"])
        parts.append(
            pa.table(
                {
                    "scenario_id": pa.array(np.full(len(states), i.scenario.scenario_id, np.int32)),
                    "partition_id": pa.array(states.astype(np.int64)),
                    "stands_for": pa.ListArray.from_arrays(ends, stands_for),
                }
            )
        )
    return pa.concat_tables(parts)


def _worlds(inputs: Sequence[ScenarioInputs]) -> pa.Table:
    brokers = [world.brokers for i in inputs for world in i.worlds]
    return pa.table(
        {
            "world_id": pa.array(np.arange(len(brokers), dtype=np.int32)),
            "brokers": pa.array(brokers, pa.list_(pa.int32())),
        }
    )


def _topics(inputs: Sequence[ScenarioInputs]) -> pa.Table:
    parts = []
    feed_offset = 0
    for i in inputs:
        assert i.partitions is not None
        topics = i.scenario.topics
        ends = np.cumsum([len(t.assignment) for t in topics], dtype=np.int64)
        pairs = np.unique(i.partitions.feed_id.astype(np.int64) * len(topics) + i.partitions.topic_index)
        feed, topic = np.divmod(pairs, len(topics))
        parts.append(
            pa.table(
                {
                    "feed_id": pa.array(feed + feed_offset),
                    "topic": pa.array([t.name for t in topics], pa.string()).take(pa.array(topic)),
                    "first_partition_id": pa.array(np.concatenate([[0], ends[:-1]])[topic]),
                    "end_partition_id": pa.array(ends[topic]),
                }
            )
        )
        feed_offset += i.feed_count
    return pa.concat_tables(parts)
