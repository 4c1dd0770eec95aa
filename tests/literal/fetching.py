"""Followers and their leaders: the fetch request (step 4) and its response (7)."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import functions as F

from .logs import assign_epoch, end_offset_for_epoch, truncate_from_end, truncate_from_start
from .tables import PARTITION, REPLICA, Round, exprs

LINK = ["partition", "broker", "source"]
_IN_ORDER = "OVER (PARTITION BY partition, broker ORDER BY base_offset)"


def request_fetch(now: Round) -> Round:
    """Followers ask the leader they believe in; one that runs answers in its own epoch: data, or where the logs diverge."""
    asking = now.about_replicas("leader").where(
        "running AND position IS NOT NULL AND believed_leader >= 0 AND believed_leader != broker AND broker != leader"
    )
    cut = now.cut_links.selectExpr("partition", "sender AS broker", "receiver AS believed_leader")
    leaders = now.replicas.where("running AND leads").selectExpr(
        "partition", "broker AS believed_leader", "believed_epoch", "leo AS source_leo", "hw AS source_hw",
        "log_start AS source_log_start",
    )  # fmt: skip
    reached = asking.join(cut, ["partition", "broker", "believed_leader"], "left_anti").join(
        leaders, ["partition", "believed_leader", "believed_epoch"]
    )
    last = now.epochs.groupBy(*REPLICA).agg(F.max("epoch").alias("last_epoch"))
    known = reached.join(last, REPLICA, "left")
    asked = known.where("last_epoch IS NOT NULL").selectExpr(
        "partition", "broker AS asker", "believed_leader AS broker", "last_epoch AS asked_epoch"
    )
    ends = end_offset_for_epoch(now, asked).withColumnRenamed("asker", "broker")
    answer = (
        "CASE WHEN leo < source_log_start THEN 'below log start'"
        " WHEN last_epoch IS NULL THEN IF(leo > source_leo, 'above LEO', 'data')"
        " WHEN floor_epoch < last_epoch OR end_offset < leo THEN 'diverging' ELSE 'data' END"
    )
    fetches = known.join(ends, REPLICA, "left").withColumn("answer", F.expr(answer))
    noted = "answer = 'data' AND believed_leader = client_leader AND believed_epoch = client_epoch"
    return replace(
        now,
        fetches=fetches.join(now.partitions.select("partition", "client_leader", "client_epoch"), PARTITION).selectExpr(
            *REPLICA, "believed_leader AS source", "source_leo", "source_hw", "source_log_start", "answer", "floor_epoch",
            "end_offset", f"{noted} AS noted",
        ),
    )  # fmt: skip


def note_fetches(now: Round) -> Round:
    """T notes how far each follower is, and whether it caught up, now or with what it had missed at the fetch before."""
    noted = now.fetches.where("noted").selectExpr(*REPLICA, "source_leo AS noted_leader_leo")
    replicas = now.about_replicas("round").join(noted, REPLICA, "left")
    fetched = "noted_leader_leo IS NOT NULL"
    return now.with_replicas(
        replicas.withColumns(
            exprs(
                remote_leo=f"IF({fetched}, leo, remote_leo)",
                caught_up_round=(
                    f"CASE WHEN {fetched} AND leo >= noted_leader_leo THEN round"
                    f" WHEN {fetched} AND leo >= previous_leader_leo THEN greatest(caught_up_round, previous_round)"
                    " ELSE caught_up_round END"
                ),
                previous_round=f"IF({fetched}, round, previous_round)",
                previous_leader_leo="coalesce(noted_leader_leo, previous_leader_leo)",
            )
        )
    )


def drop_answers(now: Round) -> Round:
    """Forget the answers that are lost on the way; the others know the leader's high watermark of now as well."""
    cut = now.cut_links.selectExpr("partition", "sender AS source", "receiver AS broker")
    hw_now = now.replicas.selectExpr("partition", "broker AS source", "hw AS source_hw_now")
    return replace(now, fetches=now.fetches.join(cut, LINK, "left_anti").join(hw_now, ["partition", "source"]))


def truncate_diverging(now: Round) -> Round:
    """Cut at the least of the leader's and the follower's own end of the epoch and its LEO; a log out of range starts anew."""
    diverging = now.fetches.where("answer = 'diverging'")
    asked = diverging.selectExpr("partition", "broker AS asker", "broker", "floor_epoch AS asked_epoch")
    own = end_offset_for_epoch(now, asked).selectExpr("partition", "asker AS broker", "end_offset AS own_end")
    known = now.fetches.where("answer != 'data'").join(own, REPLICA, "left").join(now.replicas, REPLICA)
    cuts = known.withColumn(
        "cut_to",
        F.expr("CASE answer WHEN 'diverging' THEN least(end_offset, own_end, leo) WHEN 'above LEO' THEN source_leo ELSE 0L END"),
    ).selectExpr(*REPLICA, "cut_to", "IF(answer = 'below log start', source_log_start, cut_to) AS new_leo")
    replicas = now.replicas.join(cuts, REPLICA, "left").withColumns(
        exprs(
            leo="coalesce(new_leo, leo)",
            log_start="IF(new_leo > leo, new_leo, least(log_start, new_leo))",
            hw="IF(new_leo > leo, new_leo, least(hw, new_leo))",
            truncated="truncated + IF(cut_to < leo, leo - greatest(cut_to, log_start), 0)",
        )
    )
    return truncate_from_end(now, cuts.select(*REPLICA, "cut_to")).with_replicas(replicas)


def choose_batches(now: Round) -> Round:
    """What comes: whole batches within replica.fetch.max.bytes, at least one, as far as slow links and disks let them."""
    slow = now.slow_links.groupBy("partition", F.col("sender").alias("source"), F.col("receiver").alias("broker"))
    least = slow.agg(F.min("link_bytes").alias("link_bytes"))
    asking = now.fetches.where("answer = 'data'").join(now.replicas, REPLICA).join(least, LINK, "left")
    wanted = asking.selectExpr(
        *REPLICA, "source", "leo", "fetch_max_bytes", "least(link_bytes, disk_bytes) + credit_bytes AS allowance"
    )
    offered = now.batches.withColumnRenamed("broker", "source").join(wanted, ["partition", "source"]).where("end_offset > leo")
    sums = offered.withColumn("base_offset", F.expr("greatest(base_offset, leo)")).withColumns(
        exprs(
            so_far=f"sum((end_offset - base_offset) * record_bytes) {_IN_ORDER}",
            place=f"row_number() {_IN_ORDER}",
        )
    )
    fitting = sums.where("(place = 1 OR so_far <= fetch_max_bytes) AND (allowance IS NULL OR so_far <= allowance)")
    fetches = now.fetches.join(wanted.select(*REPLICA, "allowance"), REPLICA, "left")
    return replace(now, taken=fitting.select(now.batches.columns), fetches=fetches)


def append_fetched(now: Round) -> Round:
    """Append the batches that came, with their epochs."""
    last = now.epochs.groupBy(*REPLICA).agg(F.max("epoch").alias("last_epoch"))
    entries = now.taken.groupBy(*REPLICA, F.col("epoch").alias("new_epoch")).agg(F.min("base_offset").alias("new_start"))
    new = entries.join(last, REPLICA, "left").where("last_epoch IS NULL OR new_epoch > last_epoch")
    now = assign_epoch(now, new.select(*REPLICA, "new_epoch", "new_start"))
    return replace(now, batches=now.batches.unionByName(now.taken))


def follow_high_watermark(now: Round) -> Round:
    """LEO and high watermark after data: the leader's of before if some came or nothing waits, else the advanced one."""
    taken = now.taken.groupBy(*REPLICA).agg(
        F.max("end_offset").alias("fetched_to"), F.expr("sum((end_offset - base_offset) * record_bytes) AS bytes")
    )
    data = now.fetches.where("answer = 'data'").join(taken, REPLICA, "left")
    told = data.selectExpr(*REPLICA, "source_leo", "source_hw", "source_hw_now", "allowance", "fetched_to", "bytes")
    replicas = now.replicas.join(told, REPLICA, "left").withColumns(
        exprs(
            new_leo="coalesce(fetched_to, leo)",
            told_hw="IF(fetched_to IS NOT NULL OR NOT waits, source_hw, source_hw_now)",
        )
    )
    return now.with_replicas(
        replicas.withColumns(
            exprs(
                leo="new_leo",
                hw="IF(told_hw IS NULL, hw, greatest(least(told_hw, new_leo), log_start))",
                credit_bytes=(
                    "CASE WHEN source_leo IS NULL THEN credit_bytes"
                    " WHEN new_leo < source_leo THEN coalesce(allowance - coalesce(bytes, 0), 0) ELSE 0 END"
                ),
                replicated_bytes="replicated_bytes + coalesce(bytes, 0)",
            )
        )
    )


def follow_log_start(now: Round) -> Round:
    """With data a follower takes its leader's log start, up to its own high watermark."""
    told = now.fetches.where("answer = 'data'").selectExpr(*REPLICA, "source_log_start AS new_start")
    starts = now.replicas.join(told, REPLICA).where("new_start > log_start AND new_start <= hw").select(*REPLICA, "new_start")
    replicas = now.replicas.join(starts, REPLICA, "left").withColumn("log_start", F.expr("coalesce(new_start, log_start)"))
    return truncate_from_start(now, starts).with_replicas(replicas)
