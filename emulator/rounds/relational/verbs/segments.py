"""Segments on replicas' own disks, where something may delete one (docs/tiered_rounds.md, "Segments", "Local retention").

A closed segment is a row of `segments`; the active one stands in its replica's columns segment_base to segment_newest.
"""

from __future__ import annotations

from dataclasses import replace

from emulator.rounds.relational.queries.query import Query
from emulator.rounds.relational.tables import REPLICA, SEGMENT_COLUMNS, Round, is_due
from emulator.rounds.relational.verbs.caches import keep_caches_of_followers
from emulator.rounds.relational.verbs.logs import bytes_between, contents

OLDER = "OVER (PARTITION BY pid, broker ORDER BY base_offset ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
UP_TO_HERE = "OVER (PARTITION BY pid, broker ORDER BY base_offset ROWS UNBOUNDED PRECEDING)"
PASSES = ("below_start", "too_big", "too_old")
"""What a check of retention looks for, in this order (UnifiedLog.deleteOldSegments)."""


def keep_segments_closed_by_chunks(now: Round) -> Round:
    """Segments follow what logs grew by in last moments."""
    return now if now.segments is None else replace(now, segments=now.segments.union(_closed_by_chunks(now)))


def keep_segments_of_leaders(now: Round) -> Round:
    """Segments follow steps 1 to 3: damage, replicas that were dropped, and what T's appends closed."""
    if now.segments is None:
        return now
    closed = [_closed(now, f"rolled_{number}") for number in range(now.inputs.batches_due)]
    changes = now.replicas.where("cut_to IS NOT NULL OR is_dropped").select(*REPLICA, "is_dropped AS clears", "cut_to")
    return replace(now, segments=cut_segments(now.segments, changes, closed))


def segments_after_fetching(now: Round) -> Query:
    """Segments as steps 7 and 8 leave them: cut, and with what responses closed."""
    assert now.segments is not None
    changes = now.replicas.where("cut_to IS NOT NULL OR starts_anew")
    kept = cut_segments(now.segments, changes.select(*REPLICA, "starts_anew AS clears", "cut_to"), [_closed_by_chunks(now)])
    if not now.inputs.cuts_to_hw:
        return kept
    learned = now.replicas.where("learned_cut_to IS NOT NULL")
    return cut_segments(kept, learned.select(*REPLICA, "false AS clears", "learned_cut_to AS cut_to"), [])


def keep_segments_of_followers(now: Round) -> Round:
    """Segments follow steps 7 to 9."""
    if now.segments is None:
        return now
    kept = segments_after_fetching(now)
    if now.inputs.checks_retention:
        deleted = now.replicas.where("deleted_segments_to IS NOT NULL").select(*REPLICA, "deleted_segments_to")
        every = kept.union(_closed(now, "rolled_by_retention")).join(deleted, REPLICA, "left")
        kept = every.where("deleted_segments_to IS NULL OR end_offset > deleted_segments_to").select(*SEGMENT_COLUMNS)
    return replace(now, segments=kept)


def _closed(now: Round, rolled: str) -> Query:
    """The segments that ended where `rolled` says."""
    return now.replicas.where(f"keeps_segments AND {rolled} IS NOT NULL").select(
        *REPLICA, f"{rolled}_base AS base_offset", f"{rolled} AS end_offset", f"{rolled}_size AS size_bytes",
        f"{rolled}_round AS first_round", f"{rolled}_newest AS newest_round",
    )  # fmt: skip


def _closed_by_chunks(now: Round) -> Query:
    """The segments that chunks closed."""
    assert now.closed is not None
    return now.closed.join(now.replicas.where("keeps_segments").select(*REPLICA), REPLICA, "semi").select(*SEGMENT_COLUMNS)


def cut_segments(segments: Query, changes: Query, closed: list[Query]) -> Query:
    """The closed segments that end below cuts; the one that a cut meets is active again."""
    every = segments.join(changes, REPLICA, "left")
    kept = every.where("NOT coalesce(clears, false) AND (cut_to IS NULL OR end_offset <= cut_to)").select(*SEGMENT_COLUMNS)
    return kept.union(*closed)


def delete_old_segments(now: Round) -> Round:
    """In rounds of the check running replicas delete from the front of their logs: below the log start, by size, by age.

    As long as a segment breaks the limit and ends at or below the high watermark; an active one is closed first.
    """
    if now.segments is None or not now.inputs.checks_retention:
        return now
    now = now.with_replicas(now.replicas.settled())
    looking = now.replicas.where(
        f"keeps_segments AND running AND position IS NOT NULL AND round > 0 AND {is_due('retention_check_ms')}"
    )
    copied = "0L" if now.remote_segments is None else "highest_remote + 1"
    known = ("hw", "log_start", "retention_bytes", "retention_rounds", "round", "tiered", "copies")
    replicas = looking.select(*REPLICA, *known, f"{copied} AS copied_to", f"{now.whole_start} AS whole_log_start")
    active = looking.select(
        *REPLICA, "segment_base AS base_offset", "leo AS end_offset", "segment_size AS size_bytes",
        "segment_round AS first_round", "segment_newest AS newest_round", "true AS is_active",
    )  # fmt: skip
    closed = segments_after_fetching(now).with_columns(is_active="false")
    found = _deleted(closed.union(active).join(replicas, REPLICA))
    going = found.where("deleted_segments_to IS NOT NULL")  # of others the active one is closed, and all stays
    lost = now.replicas.join(going, REPLICA).select(*REPLICA, "log_start", "least(leo, deleted_segments_to) AS leo")
    sizes = bytes_between(contents(keep_caches_of_followers(now).logs, lost), now.batches).renamed(bytes="deleted_bytes")
    now = now.with_replicas(now.replicas.join(found, REPLICA, "left").join(sizes, REPLICA, "left"))
    now = now.with_columns(
        closes_active="coalesce(closes_active, false)", rises="coalesce(deleted_segments_to > log_start, false)"
    )
    now = now.with_columns(
        local_deleted_bytes="local_deleted_bytes + coalesce(deleted_bytes, 0L)",
        rolled_by_retention="IF(closes_active, leo, null)",
        rolled_by_retention_base="segment_base",
        rolled_by_retention_size="segment_size",
        rolled_by_retention_round="segment_round",
        rolled_by_retention_newest="segment_newest",
        segment_base="IF(closes_active, leo, segment_base)",
        segment_size="IF(closes_active, 0L, segment_size)",
        segment_newest="IF(closes_active, null, segment_newest)",
        flushed="IF(closes_active, greatest(flushed, leo), flushed)",
        new_log_start="IF(rises AND NOT copies, deleted_segments_to, new_log_start)",
        log_start="greatest(log_start, deleted_segments_to)",
    )
    if now.remote_segments is not None:
        now = now.with_columns(whole_start="IF(rises AND NOT copies, deleted_segments_to, whole_start)")
    return now


def _deleted(segments: Query) -> Query:
    """What goes: pid, broker, deleted_segments_to, closes_active, and of each pass that deletes where it began and ended.

    What remote storage has no copy of stays, where copies are made; an active segment is closed there all the same.
    """
    segments = segments.with_columns(
        in_reach="end_offset <= hw AND base_offset < end_offset",
        needs_no_copy="NOT copies OR end_offset <= copied_to OR (NOT is_active AND end_offset <= whole_log_start)",
        gone="false",
        closes="false",
    )
    left = "sum(IF(gone, 0L, size_bytes)) OVER (PARTITION BY pid, broker)"
    limits = {
        "below_start": "NOT is_active AND end_offset <= log_start",
        "too_big": f"retention_bytes >= 0 AND {left} - sum(IF(gone, 0L, size_bytes)) {UP_TO_HERE} >= retention_bytes",
        "too_old": "retention_rounds >= 0 AND round - newest_round > retention_rounds",
    }
    for name in PASSES:
        segments = segments.with_columns(breaks=f"gone OR coalesce(in_reach AND {limits[name]}, false)")
        goes = "breaks AND (gone OR needs_no_copy)"
        segments = segments.with_columns(
            goes=f"bool_and({goes}) {UP_TO_HERE}", is_met=f"breaks AND coalesce(bool_and({goes}) {OLDER}, true)"
        )
        closes = "closes OR (is_active AND is_met AND (goes OR tiered))"
        segments = segments.with_columns(**{name: "goes AND NOT gone", "gone": "goes", "closes": closes})
    ends = [
        f"{what}({edge}_offset) FILTER (WHERE {name}) AS {name}_{of}"
        for name in PASSES
        for what, edge, of in (("min", "base", "from"), ("max", "end", "to"))
    ]
    met = segments.where("gone OR closes").group_by(*REPLICA)
    return met.agg(*ends, "max(end_offset) FILTER (WHERE gone) AS deleted_segments_to", "bool_or(closes) AS closes_active")
