"""What consumer groups read of each partition, and what they could not: from the readers of the final state."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emulator.arrow_frames import frame_of
from emulator.expressions.columns import texts
from emulator.expressions.kafka.reading.step import ended
from emulator.expressions.kafka.reading.types import CAUSES, COUNTERS
from emulator.inputs import ScenarioInputs
from emulator.inputs.consumers import groups_of
from emulator.outcomes.names import Names
from emulator.schema import OUTPUT_TABLES

CONSUMER_TABLES = ("consumer_groups", "unread")
UNREAD_KINDS = ("stretch", "skip", "loss")
_CAUSES, _KINDS = texts(CAUSES), texts(UNREAD_KINDS)


def consumer_tables(spark: SparkSession, state: DataFrame, inputs: list[ScenarioInputs], known: Names) -> dict[str, DataFrame]:
    """The rows of CONSUMER_TABLES, by name, that the readers of a final state hold; not yet computed.

    A stretch of rounds without records that is under way at the end counts as ended there.
    """
    rows = state.filter("size(readers) > 0").select(
        *("scenario_id", "partition_id", "world_id", "feed_id", "leader_hw"),
        F.explode(F.expr(f"transform(readers, (r, i) -> named_struct('reader', {ended()}, 'group', get(reader_groups, i)))")),
    )
    readers = known.add_all(rows.join(F.broadcast(reader_groups(spark, inputs)), "feed_id"))
    readers = readers.withColumn("group", F.expr("get(groups, col.group)")).withColumn("reader", F.col("col.reader"))
    # The output's map holds no nulls, and Spark believes that of no stored array.
    entry = f"named_struct('key', coalesce(get({_CAUSES}, i), ''), 'value', CAST(coalesce(n, 0) AS BIGINT))"
    waited = f"transform(reader.waited, (n, i) -> {entry})"
    columns = {
        **{name: f"reader.{name}" for name in ("position", "epoch", "max_lag", *COUNTERS)},
        "lag": "coalesce(greatest(leader_hw - reader.position, 0L), 0L)",
        "waited_rounds": f"map_from_entries(filter({waited}, e -> e.value > 0))",
        "stopped": f"get({_CAUSES}, reader.stopped)",
    }
    unread = readers.select("scenario_id", "topic", "partition", "group", "brokers", F.explode("reader.unread").alias("u"))
    of_unread = {
        **{name: f"u.{name}" for name in ("from_round", "to_round", "from_offset", "to_offset")},
        "kind": f"get({_KINDS}, u.kind)",
        "cause": f"get({_CAUSES}, u.cause)",
        "broker": "get(brokers, u.slot)",
    }
    tables = (
        readers.withColumns({name: F.expr(text) for name, text in columns.items()}),
        unread.withColumns({name: F.expr(text) for name, text in of_unread.items()}),
    )
    return {name: table.select(OUTPUT_TABLES[name].names) for name, table in zip(CONSUMER_TABLES, tables, strict=True)}


def reader_groups(spark: SparkSession, inputs: Sequence[ScenarioInputs]) -> DataFrame:
    """feed_id, groups (array<string>): the groups that read the feed's partitions, in the order of `reader_groups`."""
    groups = [groups_of(feed.consumers) for i in inputs for feed in i.feeds]
    return frame_of(
        spark, pa.table({"feed_id": pa.array(range(len(groups)), pa.int64()), "groups": pa.array(groups, pa.list_(pa.string()))})
    )
