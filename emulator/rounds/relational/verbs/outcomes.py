"""Step 10: what is counted, and what happened, as rows."""

from __future__ import annotations

from emulator.rounds.relational.queries.query import Query
from emulator.rounds.relational.tables import REPLICA, SERVES, Round, of_leader, over
from emulator.rounds.relational.verbs.chunks import rolled_by_chunks
from emulator.rounds.relational.verbs.logs import EPOCH, bytes_between, contents
from emulator.rounds.relational.verbs.segments import PASSES

NO_OFFSET = "CAST(null AS BIGINT)"
WHOLE = "whole log start"
"""For where a log starts, with what is in remote storage."""
EVENTS = (
    # kind, when, epoch, from_offset, to_offset, cause
    ("log_damaged", "damaged_to IS NOT NULL", "believed_epoch", "damaged_from", "damaged_to", "cause"),
    ("isr_shrink", "fenced_out", "epoch_at_start", WHOLE, "leo", "cause"),
    ("leader_lost", "is_lost", "lost_epoch", NO_OFFSET, NO_OFFSET, "cause"),
    ("leader_lost", "is_lost_to_move", "leader_epoch", NO_OFFSET, NO_OFFSET, "cause"),
    ("election", "is_elected AND NOT is_unclean", "election_epoch", "elected_at", NO_OFFSET, "old_cause"),
    ("unclean_election", "is_elected AND is_unclean", "election_epoch", "elected_at", NO_OFFSET, "old_cause"),
    ("election", "is_preferred", "preferred_epoch", "elected_at", NO_OFFSET, "null"),
    ("election", "is_moved", "leader_epoch", "elected_at", NO_OFFSET, "null"),
    ("reassignment_completed", "completes AND broker = leader", "leader_epoch", NO_OFFSET, NO_OFFSET, "null"),
    ("records_deleted", "deleted_to IS NOT NULL", "client_epoch", NO_OFFSET, "deleted_to", "null"),
    ("isr_expand", "joins", "leader_epoch", WHOLE, "leo", "cause"),
    ("isr_shrink", "leaves", "leader_epoch", WHOLE, "leo", "cause"),
    ("truncate", "cut_to < cut_from", "fetch_epoch", "cut_from", "cut_to", "cause"),
)
OF_FOLLOWING = tuple(
    ("truncate", f"{name}_cut_to < {name}_cut_from", f"{name}_cut_epoch", f"{name}_cut_from", f"{name}_cut_to", "cause")
    for name in ("restart", "learned")
)
"""Of kafka-high-watermark, which cuts when a replica begins to follow."""

OF_BUILDING = (("aux_state_built", "starts_at IS NOT NULL", "believed_epoch", WHOLE, "starts_at", "null"),)
OF_RETENTION = (
    *(("local_delete", f"{name}_to IS NOT NULL", "believed_epoch", f"{name}_from", f"{name}_to", "null") for name in PASSES),
    ("segment_roll", "rolled_by_retention IS NOT NULL", "believed_epoch", "rolled_by_retention", NO_OFFSET, "null"),
)

EVENT_COLUMNS = ("pid", "round", "kind", "broker", "leader_epoch", "from_offset", "to_offset", "cause")
REFUSED = (
    "pid", "refusing_since AS round", "'refused' AS kind", "refusing_broker AS broker", "refusing_epoch AS leader_epoch",
    "refusing_from AS from_offset", "refusing_from + refusing_records * (round - refusing_since) AS to_offset",
    "CAST(null AS INT) AS cause",
)  # fmt: skip


def count_outcomes(now: Round) -> Round:
    """Rounds without a leader that serves, below min.insync.replicas, under-replicated, and those in which nothing was taken.

    What is appended is acknowledged in the round after it at the earliest: only what waited before counts.
    """
    serves = f"coalesce({of_leader(f'{SERVES} AND NOT clients_cut')}, false)"
    now = now.with_columns(
        serves=serves,
        isr_size=over("count_if(in_isr)"),
        replica_count=over("count_if(position IS NOT NULL)"),
        taken_of_all=over("sum(taken_now)"),
        hw_rose=f"coalesce({of_leader(f'{SERVES} AND hw > hw_at_start')}, false)",
        waits_at_end=f"coalesce({of_leader('greatest(leo - hw, 0L)')}, 0L)",
        refused_of_leader=over("sum(refused_now)"),
        leader_leo_then=of_leader("leo_after_append"),
    )
    refused_on = "refused_of_leader = refusing_records AND refusing_broker = client_leader"
    return now.with_columns(
        leaderless_rounds="leaderless_rounds + IF(serves, 0, 1)",
        under_min_isr_rounds="under_min_isr_rounds + IF(isr_size < min_insync_replicas, 1, 0)",
        under_replicated_rounds="under_replicated_rounds + IF(isr_size < replica_count, 1, 0)",
        unwritable_rounds=(
            "unwritable_rounds + IF((unacked > 0 OR due > taken_of_all)"
            " AND NOT (hw_rose OR (taken_of_all > 0 AND due_on_append > 0)), 1, 0)"
        ),
        unacked="IF(due_on_append > 0, 0L, waits_at_end)",
        unacked_rounds="unacked_rounds + IF(due_on_append > 0, 0L, waits_at_end)",
        stopped_refusing=f"refusing_records > 0 AND NOT coalesce({refused_on}, false)",
        starts_refusing=f"refused_of_leader > 0 AND NOT coalesce({refused_on}, false)",
    )


def events(now: Round) -> Query:
    """What happened in the round, a row each: EVENT_COLUMNS."""
    of_appends = [
        ("segment_roll", f"rolled_{k} IS NOT NULL", "client_epoch", f"rolled_{k}", NO_OFFSET, "null")
        for k in range(now.inputs.batches_due)
    ]
    kinds = (*EVENTS, *of_appends, *(OF_FOLLOWING if now.inputs.cuts_to_hw else ()))
    kinds += OF_BUILDING if now.remote_segments is not None else ()
    kinds += OF_RETENTION if now.inputs.checks_retention else ()
    whole = {WHOLE: now.whole_start}
    rows = [
        {
            "kind": f"IF({when}, '{kind}', null)", "event_epoch": f"CAST({epoch} AS INT)", "from_offset": whole.get(start, start),
            "to_offset": end, "event_cause": f"CAST({cause} AS INT)",
        }
        for kind, when, epoch, start, end, cause in kinds
    ]  # fmt: skip
    told = now.replicas.stacked(rows).where("kind IS NOT NULL")
    told = told.select(
        "pid", "round", "kind", "broker", "event_epoch AS leader_epoch", "from_offset", "to_offset", "event_cause AS cause"
    )
    refused = now.replicas.where("is_first AND stopped_refusing").select(*REFUSED)
    return told.union(rolled_by_chunks(now, "fetch_epoch"), refused)


def carried(now: Round) -> Query:
    """Bytes that brokers took in this round: of followers from a source, of leaders from clients (no source)."""
    columns = ("scenario_id", "round", "broker", "source")
    rows = now.replicas.where("comes").select(*columns, "size AS bytes")
    if now.inputs.batches_due:
        sizes = (f"coalesce((end_{k} - base_{k}) * record_bytes_{k}, 0L)" for k in range(now.inputs.batches_due))
        produced = now.replicas.where("taken_now > 0").with_columns(source="CAST(null AS INT)")
        rows = rows.union(produced.select(*columns, f"{' + '.join(sizes)} AS bytes"))
    return rows.group_by(*columns).agg("sum(bytes) AS bytes")


def local_bytes(replicas: Query, logs: Query, batches: Query, segments: Query | None) -> Query:
    """What replicas have on their disks: pid, broker, bytes; null: nothing. Of segments all, below the log start too."""
    of_logs = bytes_between(contents(logs, replicas.select(*REPLICA, "log_start", "leo")), batches)
    if segments is None:
        return of_logs
    closed = segments.group_by(*REPLICA).agg("sum(size_bytes) AS closed_bytes")
    kept = replicas.select(*REPLICA, "keeps_segments", "segment_size")
    rows = kept.join(of_logs, REPLICA, "left").join(closed, REPLICA, "left")
    return rows.select(*REPLICA, "IF(keeps_segments, segment_size + coalesce(closed_bytes, 0L), bytes) AS bytes")


def standing(now: Round) -> Query:
    """How brokers stand after the round: what they lead and follow, and the bytes of their logs."""
    replicas = now.replicas.where("position IS NOT NULL")
    sizes = local_bytes(replicas, now.logs, now.batches, now.segments)
    rows = replicas.join(sizes, REPLICA, "left").group_by("scenario_id", "round", "broker")
    return rows.agg(
        "count_if(leader = broker AND running) AS leader_count",
        "count_if(leader != broker AND running) AS follower_count",
        "coalesce(sum(bytes), 0L) AS local_bytes",
    )


def end_round(now: Round) -> Round:
    """What the next round starts with."""
    starting = "starts_refusing"
    return now.with_columns(
        refusing_records="refused_of_leader",
        refusing_broker=f"IF({starting}, client_leader, refusing_broker)",
        refusing_since=f"IF({starting}, round, refusing_since)",
        refusing_from=f"IF({starting}, leader_leo_then, refusing_from)",
        refusing_epoch=f"IF({starting}, client_epoch, refusing_epoch)",
        round="round + 1",
    )


def histories(now: Round) -> Query:
    """At an election: what the leader before had, and what the new one begins with."""
    at_election = now.replicas.where("begins").select(
        *REPLICA, "log_start_at_start AS log_start", f"{now.whole_start} AS whole_start", "leo_at_start AS leo", "round",
        "client_leader", "client_epoch",
        "previous_client_leader", "previous_client_epoch",
    )  # fmt: skip
    ended = at_election.where("broker = previous_client_leader").with_columns(client_epoch="previous_client_epoch")
    begun = at_election.where("broker = client_leader").with_columns(log_start="least(log_start, whole_start)")
    parts = ended.with_columns(part="'end'").union(begun.with_columns(part="'begin'"))
    names = ("pid", "client_epoch", "part", "round", "log_start", f"{EPOCH} AS epoch", "from_offset", "to_offset")
    return contents(now.logs, parts).select(*names)


def leaderships(now: Round) -> Query:
    """The leaderships that begin, each with how far the one before came."""
    return now.replicas.where("begins AND broker = client_leader").select(
        "pid", "client_epoch", "broker", "round", f"least(log_start_at_start, {now.whole_start}) AS log_start",
        "old_cause AS cause", "previous_client_epoch", "ended_start", "ended_hw",
    )  # fmt: skip


def traced(now: Round, pids: Query) -> tuple[Query, Query]:
    """The round in the tables `trace` and `trace_partitions`, of these partitions."""
    own = now.replicas.join(pids.broadcast(), "pid")
    replicas = own.where("position IS NOT NULL")
    caches = now.leader_epochs.group_by(*REPLICA).agg("array_sort(collect_list(struct(epoch, start_offset))) AS epochs")
    built = (
        " WHEN is_built THEN 'aux_state_built' WHEN builds THEN 'building_remote_log_aux'"
        " WHEN hears_moved THEN 'moved_to_tiered_storage'"
    )
    state = (
        f"CASE{built if now.remote_segments is not None else ''} WHEN answer IS NULL THEN null"
        " WHEN arrived IS NULL THEN 'unanswered' WHEN arrived = 'end of epoch' THEN 'asked'"
        " WHEN arrived = 'out of order' THEN 'out_of_order'"
        " WHEN cut_to < cut_from THEN 'truncated' WHEN comes THEN 'fetched' WHEN starts_anew THEN 'out_of_range' ELSE 'empty' END"
    )
    replicas, of_segments = _with_segments(now, replicas)
    if now.remote_segments is not None:
        replicas = replicas.join(newest_records(now, replicas), REPLICA, "left")
        of_segments = (*of_segments, *LIST_OFFSETS)
    rows = replicas.join(caches, REPLICA, "left").select(
        "scenario_id", "topic_id", "pid", "round - 1 AS round", "broker",
        "CASE WHEN offline THEN 'offline' WHEN leads THEN 'leader' ELSE 'follower' END AS role", "believed_epoch AS leader_epoch",
        f"{now.whole_start} AS log_start_offset", "log_start AS local_log_start_offset", "leo", "hw",
        "IF(broker = client_leader, null, remote_leo) AS remote_leo", "in_isr", f"{state} AS fetch_state",
        "coalesce(epochs, array()) AS epochs",
        *of_segments,
    )  # fmt: skip
    members = {name: f"array_sort(collect_list(broker) FILTER (WHERE {flag})) AS {name}" for name, flag in _SETS.items()}
    partitions = own.group_by("scenario_id", "topic_id", "pid", "round", "leader", "leader_epoch")
    return rows, partitions.agg(*members.values()).with_columns(round="round - 1")


def _with_segments(now: Round, replicas: Query) -> tuple[Query, tuple[str, ...]]:
    """The replicas with their closed segments, and what a trace has of segments, where they are kept."""
    if now.segments is None:
        return replicas, ()
    closed = now.segments.group_by(*REPLICA).agg(
        "array_sort(collect_list(base_offset)) AS bases", "sum(size_bytes) AS closed_bytes"
    )
    bases = "IF(keeps_segments, concat(coalesce(bases, array()), array(segment_base)), null) AS local_segments"
    size = "IF(keeps_segments, segment_size + coalesce(closed_bytes, 0L), null) AS local_bytes"
    return replicas.join(closed, REPLICA, "left"), (bases, size)


LIST_OFFSETS = (
    "IF(tiered, highest_remote, null) AS highest_remote_offset",
    *(
        f"IF(tiered AND leads AND NOT offline, {value}, null) AS {name}_offset"
        for name, value in {
            "latest": "hw",
            "earliest": "whole_start",
            "max_timestamp": "coalesce(newest_offset, -1L)",
            "earliest_local": "log_start",
            "latest_tiered": "highest_remote",
            "earliest_pending_upload": (
                "IF(highest_remote < 0, IF(log_start = whole_start, whole_start, -1L), greatest(highest_remote + 1, whole_start))"
            ),
        }.items()
    ),
)
"""What a leader answers to the special timestamps of ListOffsets."""


def newest_records(now: Round, replicas: Query) -> Query:
    """The first record of the newest round in leaders' own logs: pid, broker, newest_offset."""
    own = replicas.where("tiered AND leads").select(*REPLICA, "log_start", "leo")
    runs = now.batches.renamed(base_offset="run_base", end_offset="run_end")
    held = contents(now.logs, own).join(runs, ["pid", "epoch"]).where("run_base < to_offset AND run_end > from_offset")
    place = "((least(to_offset, run_end) - 1 - run_base) DIV batch_records)"
    first = f"greatest(from_offset, run_base, IF(batch_rounds = 0, 0L, run_base + {place} * batch_records))"
    newest = held.select(*REPLICA, f"first_round + batch_rounds * {place} AS newest", f"{first} AS first")
    return newest.group_by(*REPLICA).agg("min_by(first, struct(-newest, first)) AS newest_offset")


_SETS = {"isr": "in_isr", "elr": "in_elr", "last_known_elr": "in_last_known_elr"}
