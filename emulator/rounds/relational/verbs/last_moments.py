"""Step 1, last moments: what a leader appends until its broker dies, and which followers have of it (docs/kafka_rounds.md).

Only rounds in which a broker is killed while it runs have any (`RoundInputs.deaths`).
"""

from __future__ import annotations

from dataclasses import replace

from emulator.rounds.relational.inputs.of_faults import AFTER_APPEND
from emulator.rounds.relational.inputs.workload import PARTITIONS_A_SCENARIO
from emulator.rounds.relational.queries.query import Query
from emulator.rounds.relational.tables import ACKS, BATCH_COLUMNS, REPLICA, Round, over
from emulator.rounds.relational.verbs.caches import keep_epochs_of_last_moments
from emulator.rounds.relational.verbs.chunks import append_chunks, rolled_by_chunks
from emulator.rounds.relational.verbs.elr import MINIMUM
from emulator.rounds.relational.verbs.leading import records_of_rate, with_batches
from emulator.rounds.relational.verbs.links import LINK, REACHES, passing
from emulator.rounds.relational.verbs.logs import end_offset_for_epoch, last_epochs
from emulator.rounds.relational.verbs.segments import keep_segments_closed_by_chunks
from emulator.rounds.relational.verbs.truncating import ASKS, cut_at_start

DRAWS = 2**20
"""Drawn numbers are below this."""

BEFORE = "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
PARTS_OF_A_BATCH = 2
"""What all have of it, and what somebody lacks."""


def append_last_moments(now: Round) -> Round:
    """T takes along what followers had not fetched when its broker died; those who were level with it have the rest.

    Of each batch it appends what it was brought until then, or what a follower lacks if that is more; what somebody lacks comes
    last. A follower has the first of it, as one chunk.
    """
    now = cut_at_start(now)
    if now.inputs.deaths is None:
        return now
    now = now.with_replicas(now.replicas.settled())
    leaders = _dying_leaders(now).settled()
    batches = _brought(now, leaders).settled()
    lacking = _lacking(_level_followers(now, leaders), batches).settled()
    appended = _appended(leaders, batches, lacking).settled()
    return _append(now, appended, _fetched(appended, lacking))


def _dying_leaders(now: Round) -> Query:
    """T, where it served until its broker was killed: `moment` is when, `draw` the partition's number of this round."""
    assert now.inputs.deaths is not None
    served = "broker = client_leader AND position IS NOT NULL AND leads AND believed_epoch = client_epoch AND NOT clients_cut"
    all_of = now.replicas.with_columns(known_members=over("count_if(known_in_isr)"), needed_members=MINIMUM)
    killed = all_of.where(served).join(now.inputs.deaths.broadcast(), ["scenario_id", "broker"]).where("death_round = round")
    return _drawn(_with_round_before(now, killed)).select(
        "pid", "broker AS source", "scenario_id", "round", "workload_id", "client_epoch AS source_epoch", "leo AS source_leo",
        "known_members", "needed_members", "moment", "is_given", "round_us", "round_trip_us", "fetch_wait_us",
        "fixed_fetches", "draw", "isolated AS source_isolated", "island AS source_island",
        "was_isolated AS source_was_isolated", "was_island AS source_was_island",
    )  # fmt: skip


def _with_round_before(now: Round, replicas: Query) -> Query:
    """The replicas with how their brokers were in the round before: `ran`, `was_isolated`, `was_island`."""
    if now.inputs.number == 0:
        return replicas.with_columns(ran="true", was_isolated="false", was_island="CAST(null AS STRING)")
    span = ("from_round", "to_round")
    told = ("running AS ran", "isolated AS was_isolated", "island AS was_island")
    before = now.inputs.brokers.select("scenario_id", "broker", *told, *span)
    both = replicas.join(before.broadcast(), ["scenario_id", "broker"])
    return both.where("from_round <= round - 1 AND round - 1 < to_round").drop(*span)


def _drawn(leaders: Query) -> Query:
    """A number below DRAWS for the scenario's seed, the partition and the round, by the finalizer of MurmurHash3."""
    drawn = _mixed(leaders.with_columns(draw=f"seed_halves ^ {0x9E3779B9}"))
    drawn = _mixed(drawn.with_columns(draw=f"draw ^ (pid % {PARTITIONS_A_SCENARIO})"))
    drawn = _mixed(drawn.with_columns(draw="draw ^ CAST(round AS BIGINT)"))
    return drawn.with_columns(draw=f"draw DIV {2**32 // DRAWS}")


def _mixed(rows: Query) -> Query:
    """`draw` mixed, all of 32 bits: a product is made of two, so that it fits 64."""
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        rows = rows.with_columns(draw=f"draw ^ (draw DIV {2**shift})")
        high, low = f"((draw DIV 65536) * {factor}) % 65536 * 65536", f"(draw % 65536) * {factor}"
        rows = rows.with_columns(draw=f"({high} + {low}) % {2**32}")
    return rows.with_columns(draw="draw ^ (draw DIV 65536)")


def _brought(now: Round, leaders: Query) -> Query:
    """Batches that clients were sending, a row each: `records` of the whole round, `brought` until the leader's moment."""
    sent = now.inputs.workload.renamed(workload_id="sent")
    due = leaders.join_where(sent.broadcast(), "sent = workload_id AND from_round <= round AND round < to_round")
    if now.inputs.has_rates:
        due = due.with_columns(records=records_of_rate())
    counts = "acked_on_append OR (is_given AND known_members >= needed_members)"
    return due.where(f"records > 0 AND ({counts})").select(
        "pid", "number", "records", "record_bytes", "acked_on_append", "unacknowledged",
        f"moment * records DIV {AFTER_APPEND} AS brought",
    )  # fmt: skip


def _level_followers(now: Round, leaders: Query) -> Query:
    """Who had all of the leader's log, up to when it got more of it, `own_moment`, and a fetch's round trip, `trip_us`."""
    assert now.inputs.deaths is not None
    has_tiers = now.remote_segments is not None
    was_level = (
        "broker != source AND believed_leader = source AND believed_epoch = source_epoch AND leo = source_leo"
        f" AND {REACHES} AND NOT {ASKS}{' AND builds_leader IS NULL' if has_tiers else ''}"
    )
    asked_for = ("believed_leader", "believed_epoch", "leo", "isolated", "island", "running", "truncating", "protocol")
    replicas = now.replicas.where("position IS NOT NULL").select(*REPLICA, *asked_for, *(["builds_leader"] if has_tiers else []))
    level = _with_round_before(now, replicas.join(leaders, "pid").where(was_level))
    level = level.where("ran AND ((NOT was_isolated AND NOT source_was_isolated) OR was_island = source_was_island)")
    level = passing(now, passing(now, level, "broker", "source"), "source", "broker")
    level = level.join(last_epochs(now.leader_epochs), REPLICA, "left").with_columns(asked_epoch="last_epoch")
    level = end_offset_for_epoch(level, now.leader_epochs, "source", "source_leo").where(
        "protocol != 'kafka' OR last_epoch IS NULL OR (floor_epoch = last_epoch AND end_offset >= leo)"
    )
    stops = now.inputs.deaths.select("scenario_id", "broker", "death_round AS round", "moment AS stops_at")
    level = level.join(stops.broadcast(), ["scenario_id", "broker", "round"], "left")
    if now.inputs.links is None:
        level = level.with_columns(link_us="CAST(null AS BIGINT)")
    else:
        far = now.inputs.links.where("link_us IS NOT NULL")
        level = level.join_where(far.broadcast(), f"{LINK} AND sender = source AND receiver = broker", "left")
    return level.select(
        *REPLICA, "leo", "moment", "draw", "round_us", "fixed_fetches",
        "coalesce(link_us, round_trip_us) + fetch_wait_us AS trip_us",
        "CASE WHEN stops_at IS NOT NULL THEN least(moment, stops_at) WHEN running THEN moment ELSE 0L END AS own_moment",
    )  # fmt: skip


def _lacking(level: Query, batches: Query) -> Query:
    """What each of these followers lacks of each batch, and what of it was there when the follower got the last of it.

    It lacks what was written in the last half of a round trip and of its wait, a part of a record as the draw says; with a given
    number of fetches what was written since the last of them.
    """
    both = level.join(batches, "pid").with_columns(
        there=f"own_moment * records DIV {AFTER_APPEND}",
        fetches_made=f"own_moment * fixed_fetches DIV {AFTER_APPEND}",
        in_the_lag="records * trip_us",
        two_rounds="2 * round_us",
    )
    one_more = f"IF(in_the_lag % two_rounds * {DRAWS} + draw * two_rounds >= two_rounds * {DRAWS}, 1, 0)"
    lacks = (
        f"CASE WHEN moment = {AFTER_APPEND} THEN records"
        " WHEN fixed_fetches IS NOT NULL THEN there - records * fetches_made DIV fixed_fetches"
        f" ELSE least(records, in_the_lag DIV two_rounds + {one_more}) END"
    )
    return both.select(*REPLICA, "number", "leo", "moment", "own_moment", "there", f"{lacks} AS lacks")


def _appended(leaders: Query, batches: Query, lacking: Query) -> Query:
    """What leaders append, in order, a chunk each: of every batch what all have, then of every batch what somebody lacks."""
    most = lacking.group_by("pid", "number").agg("max(lacks) AS most")
    each = batches.join(most, ["pid", "number"], "left").with_columns(most="coalesce(most, 0L)")
    parts = each.stacked([{"part": "1", "size": "greatest(brought - most, 0L)"}, {"part": "2", "size": "most"}])
    placed = parts.where("size > 0").with_columns(before=f"sum(size) OVER (PARTITION BY pid ORDER BY part, number {BEFORE})")
    own = leaders.select("pid", "source", "scenario_id", "round", "source_epoch AS epoch", "source_leo")
    return placed.join(own, "pid").select(
        "pid", "source", "scenario_id", "round", "epoch", "number", "source_leo + coalesce(before, 0L) AS base_offset",
        "source_leo + coalesce(before, 0L) + size AS end_offset", "record_bytes", *ACKS,
    )  # fmt: skip


def _fetched(appended: Query, lacking: Query) -> Query:
    """What followers have of it, a chunk each: pid, broker, ends, bytes, newest."""
    whole = appended.group_by("pid").agg("sum(end_offset - base_offset) AS total")
    own = lacking.group_by(*REPLICA, "leo", "moment", "own_moment").agg("sum(there) AS there", "sum(lacks) AS lacks")
    until = own.join(whole, "pid").select(*REPLICA, "leo", "leo + IF(own_moment = moment, total, there) - lacks AS fetched_to")
    parts = until.where("fetched_to > leo").join(appended, "pid").where("base_offset < fetched_to")
    size = "(least(end_offset, fetched_to) - base_offset) * record_bytes"
    return parts.group_by(*REPLICA, "fetched_to", "round").agg(f"sum({size}) AS bytes").renamed(fetched_to="ends", round="newest")


def _append(now: Round, appended: Query, fetched: Query) -> Round:
    """The logs with what came, and what was told of it."""
    size = "(end_offset - base_offset) * record_bytes"
    own = appended.select("pid", "source AS broker", "end_offset AS ends", f"{size} AS bytes", "round AS newest")
    chunks = own.union(fetched).settled()
    grown = chunks.group_by(*REPLICA).agg("sum(bytes) AS grown_bytes", "max(ends) AS grown_to")
    now = append_chunks(now, chunks, PARTS_OF_A_BATCH * now.inputs.batches_due)
    now = now.with_replicas(now.replicas.join(grown, REPLICA, "left"))
    now = now.with_columns(grown_from="leo", leo="coalesce(grown_to, leo)", is_source="broker = client_leader")
    now = now.with_columns(
        appended="appended + IF(is_source, coalesce(grown_to - grown_from, 0L), 0L)",
        replicated_bytes="replicated_bytes + IF(is_source, 0L, coalesce(grown_bytes, 0L))",
    )
    now = now.with_replicas(now.replicas.settled())
    who_grew = now.replicas.where("grown_to IS NOT NULL")
    taken = who_grew.select(
        "scenario_id", "round", "broker", "IF(is_source, null, client_leader) AS source", "grown_bytes AS bytes"
    )
    now = now.writing("events", rolled_by_chunks(now, "believed_epoch")).writing("carried", taken)
    now = keep_epochs_of_last_moments(now, who_grew.select(*REPLICA, "client_epoch AS epoch", "grown_from AS start_offset"))
    now = replace(keep_segments_closed_by_chunks(now), batches=with_batches(now.batches, _as_batches(appended)))
    return now.with_replicas(now.replicas.drop("grown_to", "grown_bytes", "grown_from", "is_source"))


def _as_batches(appended: Query) -> Query:
    """Rows of BATCH_COLUMNS: parts of one batch that stand side by side are one."""
    in_order = "OVER (PARTITION BY pid ORDER BY base_offset)"
    parts = appended.with_columns(begins=f"coalesce(lag(number) {in_order} != number, true)")
    parts = parts.with_columns(batch=f"count_if(begins) {in_order}")
    batches = parts.group_by("pid", "epoch", "round", "batch", "record_bytes", *ACKS).agg(
        "min(base_offset) AS base_offset", "max(end_offset) AS end_offset"
    )
    batches = batches.with_columns(batch_records="end_offset - base_offset", first_round="round", batch_rounds="1")
    return batches.select(*BATCH_COLUMNS)
