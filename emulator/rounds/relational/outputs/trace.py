"""What is written down of rounds beside their verbs: traces of some partitions, and how brokers stand."""

from __future__ import annotations

from emulator.rounds.relational.queries.query import Query
from emulator.rounds.relational.tables import REPLICA, WHOLE_START, Round
from emulator.rounds.relational.verbs.logs import contents
from emulator.rounds.relational.verbs.outcomes import local_bytes

_SETS = {"isr": "in_isr", "elr": "in_elr", "last_known_elr": "in_last_known_elr"}


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
        " WHEN arrived IN ('diverging', 'above LEO') THEN 'truncated'"
        " WHEN comes THEN 'fetched' WHEN starts_anew THEN 'out_of_range' ELSE 'empty' END"
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


PENDING = "IF(highest_remote < 0, IF(log_start = whole_start, whole_start, -1L), greatest(highest_remote + 1, whole_start))"

LIST_OFFSETS = (
    "IF(keeps_segments, IF(tiered, highest_remote, -1L), null) AS highest_remote_offset",
    *(
        f"IF(keeps_segments AND leads AND NOT offline, {value}, null) AS {name}_offset"
        for name, value in {
            "latest": "hw",
            "earliest": WHOLE_START,
            "max_timestamp": "coalesce(newest_offset, -1L)",
            "earliest_local": "log_start",
            "latest_tiered": "IF(tiered, highest_remote, -1L)",
            "earliest_pending_upload": f"IF(tiered, {PENDING}, -1L)",
        }.items()
    ),
)
"""What a leader answers to the special timestamps of ListOffsets, in a run in which some topic is tiered."""


def newest_records(now: Round, replicas: Query) -> Query:
    """The first record of the newest round in leaders' own logs: pid, broker, newest_offset."""
    own = replicas.where("keeps_segments AND leads").select(*REPLICA, "log_start", "leo")
    runs = now.batches.renamed(base_offset="run_base", end_offset="run_end")
    held = contents(now.logs, own).join(runs, ["pid", "epoch"]).where("run_base < to_offset AND run_end > from_offset")
    place = "((least(to_offset, run_end) - 1 - run_base) DIV batch_records)"
    first = f"greatest(from_offset, run_base, IF(batch_rounds = 0, 0L, run_base + {place} * batch_records))"
    newest = held.select(*REPLICA, f"first_round + batch_rounds * {place} AS newest", f"{first} AS first")
    return newest.group_by(*REPLICA).agg("min_by(first, struct(-newest, first)) AS newest_offset")
