"""One Kafka round in the order of docs/kafka_rounds.md.

It leaves out what no reader asks for: segments, flushing (`flushed_offset` is only read) and reassignments.
"""

from __future__ import annotations

from pyspark.sql import functions as F

from .controller import begin_leadership, elect, elect_preferred, fence, tell_leadership
from .fetching import (
    append_fetched,
    choose_batches,
    drop_answers,
    follow_high_watermark,
    follow_log_start,
    note_fetches,
    request_fetch,
    truncate_diverging,
)
from .leading import advance_high_watermark, append, change_isr, delete_records, judge_followers, running_leaders
from .logs import truncate_from_end
from .tables import PARTITION, REPLICA, Inputs, Round, Tables, begin_round, end_round, exprs


def play_round(tables: Tables, inputs: Inputs) -> Tables:
    """The state after one round."""
    now = begin_round(tables, inputs)
    for verb in VERBS:
        now = verb(now).settled(now)
    return end_round(now)


def take_inputs(now: Round) -> Round:
    """Step 1: damage, clean stops and restarts."""
    cut = "CASE WHEN disk_loss THEN 0L WHEN power_loss THEN greatest(least(leo, flushed_offset), log_start) END"
    replicas = now.about_replicas("leader", "leader_epoch").withColumn("cut_to", F.expr(cut))
    cuts = replicas.where("cut_to IS NOT NULL").select(*REPLICA, "cut_to")
    damaged = replicas.withColumns(
        exprs(
            leo="coalesce(cut_to, leo)",
            hw="least(hw, cut_to)",
            log_start="IF(disk_loss, 0L, log_start)",
            hw_checkpoint="CASE WHEN disk_loss THEN 0L WHEN clean_stop THEN hw ELSE hw_checkpoint END",
            credit_bytes="IF(disk_loss, 0L, credit_bytes)",
            restarts="restarted AND position IS NOT NULL",
        )
    )
    restarted = damaged.withColumns(
        exprs(
            hw="IF(restarts, greatest(least(hw_checkpoint, leo), log_start), hw)",
            leads="leads AND NOT restarts",
            believed_leader="IF(restarts, leader, believed_leader)",
            believed_epoch="IF(restarts, leader_epoch, believed_epoch)",
        )
    )
    return truncate_from_end(now, cuts).with_replicas(restarted)


def learn(now: Round) -> Round:
    """Step 8: who hears the controller believes it; a leader elected unawares is told now; T learns the ISR."""
    replicas = now.about_replicas("leader", "leader_epoch", "client_leader", "client_epoch")
    late = replicas.where(
        "NOT deaf AND broker = leader AND broker = client_leader AND leader_epoch = client_epoch"
        " AND NOT (leads AND believed_epoch = client_epoch)"
    )
    hears = "(NOT deaf AND position IS NOT NULL)"
    believing = replicas.withColumns(
        exprs(
            leads=f"leads AND (NOT {hears} OR broker = leader)",
            believed_leader=f"IF({hears}, leader, believed_leader)",
            believed_epoch=f"IF({hears}, leader_epoch, believed_epoch)",
        )
    )
    hearing = now.replicas.where("NOT deaf").selectExpr("partition", "broker AS client_leader", "true AS hearing")
    informed = now.partitions.join(hearing, ["partition", "client_leader"], "left").withColumn(
        "known_isr", F.expr("IF(hearing, isr, known_isr)")
    )
    led = running_leaders(now).selectExpr("partition", "hw AS reached")
    partitions = informed.join(led, PARTITION, "left").withColumn("lead_hw", F.expr("coalesce(reached, lead_hw)"))
    now = now.with_replicas(believing).with_partitions(partitions)
    return tell_leadership(now, late.select(*REPLICA, "leader_epoch"))


def checkpoint(now: Round) -> Round:
    """Step 9: running replicas write their high watermark down, in rounds divisible by the period."""
    replicas = now.about_replicas("round", "checkpoint_rounds")
    written = "IF(running AND round % checkpoint_rounds = 0, hw, hw_checkpoint)"
    return now.with_replicas(replicas.withColumn("hw_checkpoint", F.expr(written)))


def count_outcomes(now: Round) -> Round:
    """Step 10: rounds without a leader that serves, below min.insync.replicas, under-replicated."""
    serving = running_leaders(now).where("NOT clients_cut AND leader IN (-1, client_leader)")
    partitions = now.partitions.join(serving.selectExpr("partition", "true AS serves"), PARTITION, "left")
    return now.with_partitions(
        partitions.withColumns(
            exprs(
                leaderless_rounds="leaderless_rounds + IF(serves, 0, 1)",
                under_min_isr_rounds="under_min_isr_rounds + IF(size(isr) < min_insync_replicas, 1, 0)",
                under_replicated_rounds="under_replicated_rounds + IF(size(isr) < size(replicas), 1, 0)",
            )
        )
    )


VERBS = (
    take_inputs,
    fence,
    elect,
    elect_preferred,
    begin_leadership,
    append,
    delete_records,
    request_fetch,
    note_fetches,
    judge_followers,
    change_isr,
    advance_high_watermark,
    drop_answers,
    truncate_diverging,
    choose_batches,
    append_fetched,
    follow_high_watermark,
    follow_log_start,
    learn,
    checkpoint,
    count_outcomes,
)
