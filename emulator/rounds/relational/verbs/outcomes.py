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
    ("election", "is_elected AND NOT is_unclean", "election_epoch", "leo_at_start", NO_OFFSET, "old_cause"),
    ("unclean_election", "is_elected AND is_unclean", "election_epoch", "leo_at_start", NO_OFFSET, "old_cause"),
    ("election", "is_preferred", "preferred_epoch", "leo_at_start", NO_OFFSET, "null"),
    ("election", "is_moved", "leader_epoch", "leo_at_start", NO_OFFSET, "null"),
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
        under_min_isr_rounds="under_min_isr_rounds + IF(isr_size < least(min_insync_replicas, replica_count), 1, 0)",
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


def write_down(now: Round) -> Round:
    """What happened is written down, and the bytes that brokers took."""
    return now.writing("events", events(now)).writing("carried", carried(now))


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


def remember_logs(now: Round) -> Round:
    """Write down what leaders held when they were replaced, and what the new ones begin with."""
    return now.writing("histories", histories(now)).writing("leaderships", leaderships(now))


def histories(now: Round) -> Query:
    """At an election: what the leader before had, and what the new one begins with."""
    at_election = now.replicas.where("begins").select(
        *REPLICA, f"least(log_start_at_start, {now.whole_start}) AS log_start", "leo_at_start AS leo", "round",
        "client_leader", "client_epoch",
        "previous_client_leader", "previous_client_epoch",
    )  # fmt: skip
    ended = at_election.where("broker = previous_client_leader").with_columns(client_epoch="previous_client_epoch")
    begun = at_election.where("broker = client_leader")
    parts = ended.with_columns(part="'end'").union(begun.with_columns(part="'begin'"))
    names = ("pid", "client_epoch", "part", "round", "log_start", f"{EPOCH} AS epoch", "from_offset", "to_offset")
    return contents(now.logs, parts).select(*names)


def leaderships(now: Round) -> Query:
    """The leaderships that begin, each with how far the one before came."""
    return now.replicas.where("begins AND broker = client_leader").select(
        "pid", "client_epoch", "broker", "round", f"least(log_start_at_start, {now.whole_start}) AS log_start",
        "old_cause AS cause", "previous_client_epoch", "ended_start", "ended_hw", "ended_owes_from",
    )  # fmt: skip
