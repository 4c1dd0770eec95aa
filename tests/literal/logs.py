"""What happens to logs: the two tables `epochs` and `batches` of a round."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from .tables import REPLICA, Round

_NEXT_START = "lead(start_offset) OVER (PARTITION BY partition, broker ORDER BY epoch)"


def end_offset_for_epoch(now: Round, asked: DataFrame) -> DataFrame:
    """Look up where an epoch ends in a replica's cache (LeaderEpochFileCache.endOffsetFor).

    `asked`: partition, asker, broker (whose cache), asked_epoch. Gives partition, asker, floor_epoch and end_offset: of the
    largest epoch up to the asked one; below the first entry that is the asked epoch, ending where the cache begins.
    """
    ends = now.epochs.join(now.replicas.select(*REPLICA, "leo"), REPLICA).withColumn(
        "end_offset", F.expr(f"coalesce({_NEXT_START}, leo)")
    )
    return (
        asked.join(ends, REPLICA)
        .groupBy("partition", "asker")
        .agg(
            F.expr("coalesce(max(epoch) FILTER (WHERE epoch <= asked_epoch), max(asked_epoch)) AS floor_epoch"),
            F.expr("coalesce(max_by(end_offset, epoch) FILTER (WHERE epoch <= asked_epoch), min(start_offset)) AS end_offset"),
        )
    )


def assign_epoch(now: Round, entries: DataFrame) -> Round:
    """Add cache entries (partition, broker, new_epoch, new_start); those at a higher epoch or offset go."""
    first = entries.groupBy(*REPLICA).agg(F.min("new_epoch").alias("new_epoch"), F.min("new_start").alias("new_start"))
    kept = now.epochs.join(first, REPLICA, "left").where("new_epoch IS NULL OR (epoch < new_epoch AND start_offset < new_start)")
    added = entries.selectExpr(*REPLICA, "new_epoch AS epoch", "new_start AS start_offset")
    return replace(now, epochs=kept.select(now.epochs.columns).unionByName(added))


def truncate_from_end(now: Round, cuts: DataFrame) -> Round:
    """Drop what lies at or above `cut_to` (partition, broker, cut_to): batches and cache entries, these also at the LEO."""
    epochs = now.epochs.join(cuts, REPLICA, "left").where("cut_to IS NULL OR start_offset < cut_to")
    batches = now.batches.join(cuts, REPLICA, "left").where("cut_to IS NULL OR base_offset < cut_to")
    clipped = batches.withColumn("end_offset", F.expr("least(end_offset, cut_to)"))
    return replace(now, epochs=epochs.select(now.epochs.columns), batches=clipped.select(now.batches.columns))


def truncate_from_start(now: Round, starts: DataFrame) -> Round:
    """Drop what lies below `new_start` (partition, broker, new_start); of the entries at or below it the last stays, there."""
    epochs = (
        now.epochs.withColumn("following", F.expr(_NEXT_START))
        .join(starts, REPLICA, "left")
        .where("new_start IS NULL OR following IS NULL OR following > new_start")
        .withColumn("start_offset", F.expr("greatest(start_offset, new_start)"))
    )
    batches = (
        now.batches.join(starts, REPLICA, "left")
        .where("new_start IS NULL OR end_offset > new_start")
        .withColumn("base_offset", F.expr("greatest(base_offset, new_start)"))
    )
    return replace(now, epochs=epochs.select(now.epochs.columns), batches=batches.select(now.batches.columns))
