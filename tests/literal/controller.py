"""Step 2: the controller fences and elects, while it is up. Reassignments are not here."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from .logs import assign_epoch
from .tables import PARTITION, REPLICA, Round, exprs


def fence(now: Round) -> Round:
    """Take fenced members out of the ISR, returning ones too; the last stays: the leader if a member, else the first."""
    members = now.about_replicas("isr").where("array_contains(isr, broker)")
    alive = members.groupBy("partition").agg(
        F.expr("collect_list(broker) FILTER (WHERE NOT fenced AND NOT returning) AS alive"),
        F.expr("min_by(broker, position) AS first"),
    )
    isr = (
        "CASE WHEN NOT controller_up THEN isr WHEN size(alive) > 0 THEN alive"
        " WHEN array_contains(isr, leader) THEN array(leader) ELSE array(first) END"
    )
    partitions = now.partitions.join(alive, PARTITION, "left").withColumn("isr_left", F.expr(isr))
    return now.with_partitions(
        partitions.withColumns(exprs(isr="isr_left", isr_shrinks="isr_shrinks + size(isr) - size(isr_left)"))
    )


def elect(now: Round) -> Round:
    """Elect where the leader is gone: with returning brokers as fenced, and where that gives none as unfenced."""
    return _elect_among(_elect_among(now, "NOT fenced AND NOT returning"), "NOT fenced")


def _elect_among(now: Round, alive: str) -> Round:
    """Replace a leader that is not alive: by the first of the ISR, else, unclean, by the first replica, else by none."""
    candidates = now.about_replicas("isr", "leader").where(f"position IS NOT NULL AND {alive}")
    found = candidates.groupBy("partition").agg(
        F.expr("bool_or(broker = leader) AS leads_on"),
        F.expr("min_by(broker, position) FILTER (WHERE array_contains(isr, broker)) AS clean"),
        F.expr("min_by(broker, position) AS unclean"),
    )
    elected = (
        "CASE WHEN NOT controller_up OR leads_on THEN leader WHEN clean IS NOT NULL THEN clean"
        " WHEN unclean_election THEN coalesce(unclean, -1) ELSE -1 END"
    )
    partitions = now.partitions.join(found, PARTITION, "left").withColumn("elected", F.expr(elected))
    uncleanly = "elected >= 0 AND elected != leader AND clean IS NULL"
    return now.with_partitions(
        partitions.withColumn("uncleanly", F.expr(uncleanly)).withColumns(
            exprs(
                leader="elected",
                leader_epoch="leader_epoch + IF(elected != leader, 1, 0)",
                isr="IF(uncleanly, array(elected), isr)",
                elections="elections + IF(elected != leader AND elected >= 0, 1, 0)",
                unclean_elections="unclean_elections + IF(uncleanly, 1, 0)",
            )
        )
    )


def elect_preferred(now: Round) -> Round:
    """On command, or by auto rebalance: the first replica leads if it is in the ISR and unfenced."""
    preferred = now.replicas.where("position = 0").selectExpr("partition", "broker AS preferred", "fenced AS preferred_fenced")
    moves = (
        "controller_up AND elects_preferred AND leader >= 0 AND leader != preferred AND NOT preferred_fenced"
        " AND array_contains(isr, preferred)"
    )
    partitions = now.partitions.join(preferred, PARTITION).withColumn("moves", F.expr(moves))
    return now.with_partitions(
        partitions.withColumns(
            exprs(
                leader="IF(moves, preferred, leader)",
                leader_epoch="leader_epoch + IF(moves, 1, 0)",
                elections="elections + IF(moves, 1, 0)",
            )
        )
    )


def begin_leadership(now: Round) -> Round:
    """Make the elected one T: it knows nothing of the others yet, members of the ISR count as caught up; tell it, if one can."""
    begins = "(leader >= 0 AND leader_epoch != client_epoch)"
    replicas = now.about_replicas("leader", "leader_epoch", "client_epoch", "isr", "round")
    told = replicas.where(f"{begins} AND broker = leader AND running AND NOT untold").select(*REPLICA, "leader_epoch")
    progress = exprs(
        remote_leo=f"IF({begins}, null, remote_leo)",
        caught_up_round=(
            f"CASE WHEN NOT {begins} THEN caught_up_round WHEN array_contains(isr, broker) THEN round ELSE null END"
        ),
        previous_round=f"IF({begins}, null, previous_round)",
        previous_leader_leo=f"IF({begins}, null, previous_leader_leo)",
    )
    of_others = now.acked.join(now.partitions.where(begins), PARTITION, "left_anti")
    in_touch = now.replicas.where("NOT untold").selectExpr("partition", "broker AS client_leader", "true AS in_touch")
    partitions = now.partitions.withColumns(
        exprs(
            client_leader=f"IF({begins}, leader, client_leader)",
            client_epoch=f"IF({begins}, leader_epoch, client_epoch)",
            known_isr=f"IF({begins}, isr, known_isr)",
            pending_joins=f"IF({begins}, array(), pending_joins)",
            pending_shrinks=f"IF({begins}, array(), pending_shrinks)",
            lead_start=f"IF({begins}, null, lead_start)",
            lead_hw=f"IF({begins}, 0L, lead_hw)",
        )
    )
    # A leader in touch with the controller learns of a fenced member at once.
    informed = partitions.join(in_touch, ["partition", "client_leader"], "left").withColumn(
        "known_isr", F.expr("IF(in_touch, isr, known_isr)")
    )
    now = replace(now.with_replicas(replicas.withColumns(progress)), acked=of_others)
    return tell_leadership(now.with_partitions(informed), told)


def tell_leadership(now: Round, told: DataFrame) -> Round:
    """Let replicas (partition, broker, leader_epoch) know that they lead: the epoch enters their caches at their LEO."""
    leaders = now.replicas.join(told, REPLICA)
    entries = leaders.selectExpr(*REPLICA, "leader_epoch AS new_epoch", "leo AS new_start")
    starts = leaders.selectExpr("partition", "leo AS told_leo", "hw AS told_hw")
    partitions = now.partitions.join(starts, PARTITION, "left").withColumns(
        exprs(lead_start="IF(told_leo IS NOT NULL, told_leo, lead_start)", lead_hw="IF(told_leo IS NOT NULL, told_hw, lead_hw)")
    )
    replicas = now.replicas.join(told, REPLICA, "left").withColumns(
        exprs(
            leads="leads OR leader_epoch IS NOT NULL",
            believed_leader="IF(leader_epoch IS NOT NULL, broker, believed_leader)",
            believed_epoch="coalesce(leader_epoch, believed_epoch)",
        )
    )
    return assign_epoch(now, entries).with_replicas(replicas).with_partitions(partitions)
