"""What T does: it appends (step 3), lets replicas into the ISR and throws them out (5), advances its high watermark (6)."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from .logs import truncate_from_start
from .tables import PARTITION, REPLICA, Round, exprs


def running_leaders(now: Round) -> DataFrame:
    """The replicas that are T, run and know that they lead, with the columns of their partition."""
    leaders = now.replicas.join(now.partitions, PARTITION)
    return leaders.where("broker = client_leader AND running AND leads AND believed_epoch = client_epoch")


def append(now: Round) -> Round:
    """T takes the batches of its clients; acks=all is refused while the ISR it knows is below min.insync.replicas."""
    serving = running_leaders(now).where("NOT clients_cut")
    sent = serving.join(now.workload, PARTITION).withColumn(
        "accepted", F.expr("acked_on_append OR size(known_isr) >= min_insync_replicas")
    )
    end = "leo + sum(records) OVER (PARTITION BY partition ORDER BY number)"
    batches = (
        sent.where("accepted")
        .withColumn("end_offset", F.expr(end))
        .selectExpr(
            *REPLICA, "end_offset - records AS base_offset", "end_offset", "client_epoch AS epoch", "record_bytes",
            "acked_on_append",
        )
    )  # fmt: skip
    taken = sent.groupBy(*REPLICA).agg(
        F.expr("coalesce(sum(records) FILTER (WHERE accepted), 0) AS taken"),
        F.expr("coalesce(sum(records) FILTER (WHERE NOT accepted), 0) AS turned_away"),
    )
    replicas = now.replicas.join(taken, REPLICA, "left").withColumns(
        exprs(
            leo="leo + coalesce(taken, 0)",
            appended="appended + coalesce(taken, 0)",
            refused="refused + coalesce(turned_away, 0)",
        )
    )
    acked = batches.where("acked_on_append").selectExpr("partition", "base_offset AS from_offset", "end_offset AS to_offset")
    return replace(
        now.with_replicas(replicas),
        batches=now.batches.unionByName(batches.drop("acked_on_append")),
        acked=now.acked.unionByName(acked),
    )


def delete_records(now: Round) -> Round:
    """T raises its log start where a delete_records says so, up to its high watermark."""
    allowed = "array_max(filter(transform(delete_before, o -> IF(o = -1, hw, o)), o -> o <= hw))"
    serving = running_leaders(now).where("NOT clients_cut").withColumn("new_start", F.expr(allowed))
    starts = serving.where("new_start > log_start").select(*REPLICA, "new_start")
    replicas = now.replicas.join(starts, REPLICA, "left").withColumn("log_start", F.expr("coalesce(new_start, log_start)"))
    return truncate_from_start(now, starts).with_replicas(replicas)


def judge_followers(now: Round) -> Round:
    """T judges all other replicas: who joins the ISR, who lags for good, who was caught up of late."""
    leaders = running_leaders(now).join(now.epochs, REPLICA).where("epoch = client_epoch")
    leader = leaders.selectExpr("partition", "leo AS leader_leo", "hw AS leader_hw", "start_offset AS epoch_start")
    noted = now.fetches.where("noted").selectExpr(*REPLICA, "true AS fetched")
    others = now.replicas.join(now.partitions, PARTITION).where("position IS NOT NULL AND broker != client_leader")
    caught_up = "coalesce(remote_leo = leader_leo, false) OR coalesce(round - caught_up_round <= lag_rounds, false)"
    joins = (
        "coalesce(fetched, false) AND NOT fenced AND leo >= leader_hw AND leo >= epoch_start"
        " AND NOT array_contains(concat(known_isr, pending_joins, pending_shrinks), broker)"
    )
    followers = (
        others.join(leader, PARTITION)
        .join(noted, REPLICA, "left")
        .withColumns(
            exprs(
                caught_up=caught_up,
                joins=joins,
                lags=f"round % isr_check_rounds = 0 AND NOT ({caught_up}) AND ({joins} OR array_contains(known_isr, broker))",
            )
        )
    )
    return replace(now, followers=followers.select(*REPLICA, "remote_leo", "fenced", "caught_up", "joins", "lags"))


def change_isr(now: Round) -> Round:
    """Joins and shrinks are confirmed, with what was pending, if T is in touch with the controller; else they are pending."""
    judged = now.followers.groupBy("partition").agg(
        F.expr("collect_list(broker) FILTER (WHERE joins) AS joiners"),
        F.expr("collect_list(broker) FILTER (WHERE lags) AS laggards"),
        F.expr("collect_list(broker) FILTER (WHERE NOT fenced) AS unfenced"),
    )
    leaders = running_leaders(now).selectExpr("partition", "controller_up AND NOT untold AS confirms", "leo AS leader_leo")
    asked = (
        now.partitions.join(leaders, PARTITION)
        .join(judged, PARTITION, "left")
        .withColumns(
            exprs(
                all_joins="array_union(pending_joins, coalesce(joiners, array()))",
                all_shrinks="array_union(pending_shrinks, coalesce(laggards, array()))",
            )
        )
    )
    changes = asked.withColumn(
        "isr_joined",
        F.expr("IF(confirms, array_union(isr, array_intersect(all_joins, coalesce(unfenced, array()))), known_isr)"),
    ).selectExpr(
        "partition", "client_leader", "confirms", "leader_leo", "all_joins", "all_shrinks", "isr_joined",
        "IF(confirms, array_except(isr_joined, all_shrinks), isr_joined) AS isr_after",
        "IF(confirms, array(), all_joins) AS pending", "min_insync_replicas",
    )  # fmt: skip
    taken = changes.selectExpr("partition", "confirms", "isr_joined", "isr_after", "all_joins", "all_shrinks")
    partitions = now.partitions.join(taken, PARTITION, "left").withColumns(
        exprs(
            isr="IF(confirms, isr_after, isr)",
            pending_joins="IF(confirms, array(), coalesce(all_joins, pending_joins))",
            pending_shrinks="IF(confirms, array(), coalesce(all_shrinks, pending_shrinks))",
            isr_expands="isr_expands + IF(confirms, size(array_except(isr_joined, isr)), 0)",
            isr_shrinks="isr_shrinks + IF(confirms, size(array_except(isr_joined, isr_after)), 0)",
        )
    )
    return replace(now.with_partitions(partitions), isr_changes=changes)


def advance_high_watermark(now: Round) -> Round:
    """T's high watermark rises to what all of the maximal ISR have, with the joins and then without the shrunk.

    Not while the ISR is below min.insync.replicas. The maximal ISR: members, pending ones, and unfenced replicas outside
    that are caught up.
    """
    members = now.isr_changes.select(
        "partition", F.expr("concat(isr_joined, pending) AS first"), F.expr("concat(isr_after, pending) AS second")
    )
    outside = "(caught_up AND NOT fenced)"
    held = (
        now.followers.join(members, PARTITION)
        .groupBy("partition")
        .agg(
            F.expr(f"min(coalesce(remote_leo, 0L)) FILTER (WHERE array_contains(first, broker) OR {outside}) AS least_joined"),
            F.expr(f"min(coalesce(remote_leo, 0L)) FILTER (WHERE array_contains(second, broker) OR {outside}) AS least_after"),
        )
    )
    reached = (
        "greatest(IF(size(isr_joined) >= min_insync_replicas, least(least_joined, leader_leo), null),"
        " IF(size(isr_after) >= min_insync_replicas, least(least_after, leader_leo), null))"
    )
    rising = now.isr_changes.join(held, PARTITION, "left").selectExpr(
        "partition", "client_leader AS broker", f"{reached} AS reached"
    )
    replicas = now.replicas.join(rising, REPLICA, "left").withColumn("hw", F.expr("greatest(hw, reached)"))
    return now.with_replicas(replicas)
