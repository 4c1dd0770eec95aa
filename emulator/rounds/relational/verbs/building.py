"""Followers whose next record their leader has only in remote storage (step 7, TierStateMachine; docs/tiered_rounds.md)."""

from __future__ import annotations

from emulator.rounds.relational.queries.query import Query
from emulator.rounds.relational.tables import REPLICA, Round
from emulator.rounds.relational.verbs.links import passing
from emulator.rounds.relational.verbs.tiers import known_epochs

LATER_SEGMENTS = "OVER (PARTITION BY pid, broker, epoch ORDER BY number ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)"


def build_remote_state(now: Round) -> Round:
    """Who was told that its offset has moved asks its leader where to start, and has the epochs before from remote storage.

    It asks from the next round on, and fetches in the round after. The remote segment before the leader's earliest local
    offset says where it starts, and its checkpoint is its cache.
    """
    if now.remote_segments is None:
        return now
    now = now.with_columns(hears_moved="coalesce(arrived = 'moved', false)").with_columns(
        builds="builds_leader IS NOT NULL AND running AND position IS NOT NULL AND NOT hears_moved"
    )
    now = now.with_columns(asks_now="builds AND round >= builds_next").with_columns(
        builds_leader="IF(hears_moved, believed_leader, builds_leader)",
        builds_epoch="IF(hears_moved, believed_epoch, builds_epoch)",
        builds_next="CASE WHEN hears_moved THEN round + 1 WHEN asks_now THEN round + backoff_rounds ELSE builds_next END",
        moved_to_tiered_storage="moved_to_tiered_storage + IF(hears_moved, 1L, 0L)",
    )
    now = now.with_replicas(now.replicas.settled())
    told = _where_to_start(now)
    now = now.with_replicas(now.replicas.join(told, REPLICA, "left"))
    now = now.with_columns(
        is_built="starts_at IS NOT NULL",
        aux_state_requests="aux_state_requests + IF(leader_start IS NOT NULL, 1L, 0L)",
        aux_state_errors="aux_state_errors + IF(leader_start IS NOT NULL AND starts_at IS NULL, 1L, 0L)",
        aux_state_downloads="aux_state_downloads + IF(built_from IS NOT NULL, 1L, 0L)",
    )
    at_start = ("log_start", "leo", "hw", "flushed", "segment_base")
    return now.with_columns(
        **{name: f"coalesce(starts_at, {name})" for name in at_start},
        truncated="truncated + IF(is_built, leo - log_start, 0L)",
        whole_start="IF(is_built, least(leader_whole_start, starts_at), whole_start)",
        new_log_start="IF(is_built, least(leader_whole_start, starts_at), new_log_start)",
        segment_size="IF(is_built, 0L, segment_size)",
        segment_newest="IF(is_built, null, segment_newest)",
        starts_anew="starts_anew OR is_built",
        builds_leader="IF(is_built, null, builds_leader)",
    )


def _where_to_start(now: Round) -> Query:
    """What leaders answer: pid, broker, leader_start and leader_whole_start; starts_at, built_from: null when nothing is found.

    `starts_at` is behind the remote segment `built_from`; without one where the leader's whole log starts.
    """
    asking = now.replicas.where("asks_now AND believed_leader >= 0 AND believed_leader != broker AND broker != leader")
    asking = asking.select(*REPLICA, "scenario_id", "round", "believed_epoch", "known_before", "believed_leader AS source")
    asked = passing(now, passing(now, asking, "broker", "source"), "source", "broker")
    leaders = now.replicas.where("position IS NOT NULL AND running AND leads").select(
        "pid", "broker AS source", "believed_epoch", "log_start AS leader_start", "whole_start AS leader_whole_start"
    )
    answered = asked.join(leaders, ["pid", "source", "believed_epoch"])
    caches = now.leader_epochs.renamed(broker="source", epoch="entry")
    before = answered.join(caches, ["pid", "source"], "left").where("start_offset < leader_start")
    epoch_before = before.group_by(*REPLICA, "known_before", "leader_start").agg("max(entry) AS epoch_before")
    served = (
        known_epochs(now, epoch_before)
        .where("epoch = epoch_before")
        .with_columns(later_first=f"min(first_offset) {LATER_SEGMENTS}")
    )
    found = served.where("(later_first IS NULL OR later_first > first_offset) AND first_offset < leader_start")
    one = found.group_by(*REPLICA, "leader_start").agg(
        "max_by(struct(number, segment_end, last_offset), first_offset) AS segment"
    )
    one = one.where("segment.last_offset >= leader_start - 1").select(
        *REPLICA, "segment.number AS built_from", "segment.segment_end + 1 AS behind_segment"
    )
    told = answered.select(*REPLICA, "leader_start", "leader_whole_start").join(one, REPLICA, "left")
    starts = "IF(leader_start <= leader_whole_start, leader_start, behind_segment) AS starts_at"
    number = "IF(leader_start <= leader_whole_start, null, built_from) AS built_from"
    return told.select(*REPLICA, "leader_start", "leader_whole_start", starts, number)


def forget_stale_questions(now: Round) -> Round:
    """Step 8: what was asked of another leader, or in another epoch, is of no use, nor what a leader asked."""
    if now.remote_segments is None:
        return now
    stale = "leads OR builds_leader != believed_leader OR builds_epoch != believed_epoch"
    return now.with_columns(builds_leader=f"IF({stale}, null, builds_leader)")
