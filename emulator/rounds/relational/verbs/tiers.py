"""Tiered storage as far as KIP-405's scenarios 1 to 3 need it (docs/tiered_rounds.md): what is known of it, and copies.

A remote segment is a row of `remote_segments`, each epoch of its log up to its end a row of `remote_epochs`. In the rounds
`log_start` is where a replica's own log starts, `whole_start` where the log does, with what is in remote storage.
"""

from __future__ import annotations

from dataclasses import replace

from emulator.rounds.relational.queries.query import Query
from emulator.rounds.relational.tables import REMOTE_COLUMNS, REMOTE_EPOCH_COLUMNS, REPLICA, Round
from emulator.rounds.relational.verbs.caches import keep_caches_of_followers
from emulator.rounds.relational.verbs.logs import epoch_ends
from emulator.rounds.relational.verbs.segments import segments_after_fetching

NO_DUTY, FOLLOWS, LEADS = range(3)
KNOWN = "(copied_round IS NULL OR copied_round < known_before OR copier = broker)"
"""SQL: the replica has read, or written itself, that the segment is copied."""

INSIDE = "last_offset >= base_offset"
"""SQL, of a row of `remote_epochs`: the segment has records of the epoch; else it is only in the checkpoint."""


def read_metadata(now: Round) -> Round:
    """Step 1: running brokers read what was written in the rounds before; a process that ended has forgotten its tasks."""
    if now.remote_segments is None:
        return now
    forgets = "offline OR position IS NULL"
    return now.with_columns(
        known_before="IF(running, round, known_before)",
        whole_start="IF(position IS NULL, 0L, whole_start)",
        highest_remote=f"IF({forgets}, -1L, highest_remote)",
        duty=f"IF({forgets}, {NO_DUTY}, duty)",
        builds_leader=f"IF({forgets}, null, builds_leader)",
    )


def known_epochs(now: Round, replicas: Query) -> Query:
    """The epochs of remote segments that replicas know of. `replicas`: with pid, broker, known_before."""
    assert now.remote_epochs is not None
    return replicas.join(now.remote_epochs.where(INSIDE), "pid").where(KNOWN)


def highest_remote_offsets(now: Round, replicas: Query, epochs: Query) -> Query:
    """How far logs are in remote storage: pid, broker, found_highest (RemoteLogManager.findHighestRemoteOffset).

    The newest epoch of a cache of which anything was copied decides, and no further than the log itself has it.
    `replicas`: with pid, broker, leo, known_before; `epochs`: their caches.
    """
    ends = epoch_ends(epochs).renamed(end_offset="next_start").drop("start_offset")
    own = known_epochs(now, replicas).join(ends, [*REPLICA, "epoch"])
    of_epochs = own.group_by(*REPLICA, "epoch", "leo", "next_start").agg("max(last_offset) AS copied_to")
    reached = "least(copied_to, coalesce(next_start, leo) - 1)"
    return of_epochs.group_by(*REPLICA).agg(f"max_by({reached}, epoch) AS found_highest")


def first_remote_offsets(now: Round, replicas: Query, epochs: Query) -> Query:
    """Where logs start by their remote segments: pid, broker, found_start (RemoteLogManager.findLogStartOffset)."""
    own = known_epochs(now, replicas).join(epochs.drop("start_offset"), [*REPLICA, "epoch"])
    return own.group_by(*REPLICA).agg("min_by(base_offset, struct(epoch, base_offset)) AS found_start")


def run_tier_tasks(now: Round) -> Round:
    """Step 9, the remote log manager: duties, how far the own log is tiered, and what leaders copy (RLMTask)."""
    if now.remote_segments is None:
        return now
    now = now.with_columns(highest_remote="least(highest_remote, leo - 1)").with_columns(
        new_duty=f"CASE WHEN NOT tiered THEN {NO_DUTY} WHEN leads THEN {LEADS} ELSE {FOLLOWS} END",
        works="tiered AND running AND position IS NOT NULL",
    )
    now = now.with_columns(takes="running AND position IS NOT NULL AND duty != new_duty")
    tasks = ("copy_next_ms", "expiry_next_ms", "follower_next_ms")
    now = now.with_columns(
        duty="IF(takes, new_duty, duty)",
        copied="IF(takes, null, copied)",
        knows_start="knows_start AND NOT takes",
        **{task: f"IF(takes, round * round_ms, {task})" for task in tasks},
    )
    now = now.with_columns(
        expires=f"works AND duty = {LEADS} AND round * round_ms >= expiry_next_ms",
        may_copy=f"works AND duty = {LEADS} AND round * round_ms >= copy_next_ms",
        looks=f"works AND duty = {FOLLOWS} AND round * round_ms >= follower_next_ms",
    )
    now = now.with_columns(may_copy="may_copy AND copies", **_next_runs())
    now = now.with_replicas(now.replicas.settled())
    now = _look_up(now)
    return _copy(now)


def _next_runs() -> dict[str, str]:
    """A run ends when it was due; one that had to wait ends with the round."""
    when = {"copy_next_ms": "may_copy", "expiry_next_ms": "expires", "follower_next_ms": "looks"}
    wait = "greatest(task_ms, round_ms)"
    return {
        task: f"IF({due}, IF({task} > (round - 1) * round_ms, {task}, round * round_ms) + {wait}, {task})"
        for task, due in when.items()
    }


def _look_up(now: Round) -> Round:
    """Followers, and leaders at first, look up how far their logs are tiered; leaders where they start."""
    epochs = keep_caches_of_followers(now).leader_epochs.settled()
    asks = "looks OR (expires AND highest_remote < 0) OR (may_copy AND copied IS NULL)"
    asking = now.replicas.where(asks).select(*REPLICA, "leo", "known_before")
    starting = now.replicas.where("may_copy AND NOT knows_start").select(*REPLICA, "known_before")
    highest = highest_remote_offsets(now, asking, epochs)
    starts = first_remote_offsets(now, starting, epochs)
    now = now.with_replicas(now.replicas.join(highest, REPLICA, "left").join(starts, REPLICA, "left"))
    rises = "may_copy AND coalesce(found_start > whole_start AND found_start <= hw, false)"
    return now.with_columns(
        highest_remote="greatest(highest_remote, found_highest)",
        copied="IF(may_copy, coalesce(copied, found_highest, -1L), copied)",
        knows_start="knows_start OR may_copy",
        new_log_start=f"IF({rises}, greatest(found_start, coalesce(new_log_start, 0L)), new_log_start)",
        whole_start=f"IF({rises}, found_start, whole_start)",
    ).with_columns(log_start="greatest(log_start, IF(tiered, whole_start, log_start))")


def _copy(now: Round) -> Round:
    """Leaders copy their closed segments below the high watermark, from the one on that is not copied (RLMCopyTask)."""
    assert now.remote_segments is not None and now.remote_epochs is not None
    remote, remote_epochs = now.remote_segments, now.remote_epochs
    now = now.with_replicas(now.replicas.drop("found_highest", "found_start").settled())
    leaders = now.replicas.where("may_copy").select(
        *REPLICA, "position", "round", "hw", "believed_epoch", "greatest(copied + 1, whole_start) AS copies_from"
    )
    due = segments_after_fetching(now).join(leaders, REPLICA).where("end_offset > copies_from AND end_offset <= hw")
    last = remote.group_by("pid").agg("max(number) AS last_number")
    nth = "row_number() OVER (PARTITION BY pid ORDER BY position, base_offset)"
    copies = due.join(last, "pid", "left").select(
        "pid", f"CAST(coalesce(last_number, -1) + {nth} AS INT) AS number", "base_offset", "end_offset - 1 AS segment_end",
        "size_bytes", "broker AS copier", "believed_epoch AS leader_epoch", "round AS copied_round",
    )  # fmt: skip
    copies = copies.select(*REMOTE_COLUMNS).settled()
    epochs = _epochs_of(copies, keep_caches_of_followers(now).leader_epochs).settled()
    now = replace(now, remote_segments=remote.union(copies), remote_epochs=remote_epochs.union(epochs))
    again = _copied_before(now, epochs)
    copied = copies.join(again, ["pid", "number"], "left").renamed(copier="broker").group_by(*REPLICA)
    done = copied.agg(
        "max(segment_end) AS copied_now", "count(1) AS requests", "sum(size_bytes) AS bytes_copied",
        "coalesce(sum(IF(is_again, size_bytes, 0L)), 0L) AS bytes_again",
    )  # fmt: skip
    now = now.with_replicas(now.replicas.join(done, REPLICA, "left")).with_columns(
        copied="coalesce(copied_now, copied)",
        highest_remote="greatest(highest_remote, copied_now)",
        remote_copy_requests="remote_copy_requests + coalesce(requests, 0L)",
        remote_copy_bytes="remote_copy_bytes + coalesce(bytes_copied, 0L)",
        remote_copied_again_bytes="remote_copied_again_bytes + coalesce(bytes_again, 0L)",
    )
    uploads = copies.select("pid", "copied_round AS round", "copier AS broker", "size_bytes")
    return now.writing("uploads", uploads).writing(
        "events",
        copies.exploded("kind", "array('copy_started', 'copy_finished')").select(
            "pid", "copied_round AS round", "kind", "copier AS broker", "leader_epoch", "base_offset AS from_offset",
            "segment_end + 1 AS to_offset", "CAST(null AS INT) AS cause",
        ),
    )  # fmt: skip


def _epochs_of(segments: Query, caches: Query) -> Query:
    """Rows of `remote_epochs`: the copier's cache up to a segment's end; `start_offset`, `first_offset`: in log and segment."""
    entries = epoch_ends(caches).renamed(broker="copier", end_offset="next_start")
    own = segments.drop("size_bytes", "leader_epoch").join(entries, ["pid", "copier"]).where("start_offset <= segment_end")
    return own.with_columns(
        first_offset="greatest(start_offset, base_offset)",
        last_offset="least(coalesce(next_start - 1, segment_end), segment_end)",
    ).select(*REMOTE_EPOCH_COLUMNS)


def _copied_before(now: Round, epochs: Query) -> Query:
    """Which copies have records that an earlier one has: pid, number, is_again."""
    assert now.remote_epochs is not None
    earlier = now.remote_epochs.where(INSIDE).select(
        "pid", "epoch", "number AS other", "base_offset AS other_base", "segment_end AS other_end"
    )
    both = epochs.where(INSIDE).join(earlier, ["pid", "epoch"])
    shared = both.where("other < number AND other_base <= segment_end AND base_offset <= other_end")
    return shared.select("pid", "number").distinct().with_columns(is_again="true")
