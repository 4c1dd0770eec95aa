"""Leader epoch caches, and which epochs logs hold, follow what a round did to the logs (LeaderEpochFileCache)."""

from __future__ import annotations

from dataclasses import replace

from emulator.rounds.relational.queries.query import Query
from emulator.rounds.relational.tables import EPOCH_COLUMNS, REPLICA, Round
from emulator.rounds.relational.verbs.logs import EPOCH

ENTERS_EPOCH = "protocol IN ('kafka', 'kafka-kip279')"
"""SQL: a leader takes its epoch into its cache when it is told that it leads; else with its first append."""

BY_ARRIVAL = "OVER (PARTITION BY pid, broker ORDER BY start_offset, arrival)"
LATER_ARRIVALS = f"{BY_ARRIVAL[:-1]} ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)"
OLD, FETCHED, APPENDED, TOLD = range(4)
"""The order in which entries arrive in a round."""


def keep_epochs_of_last_moments(now: Round, grown: Query) -> Round:
    """Logs that have grown in last moments have the epoch of what came: pid, broker, epoch, start_offset."""
    first = _entries(grown, FETCHED)
    caches = assign(_entries(now.leader_epochs, OLD).union(first)).select(*EPOCH_COLUMNS)
    if now.own_logs is not None:
        now = replace(now, own_logs=_held(_entries(now.own_logs, OLD).union(first)).select(*EPOCH_COLUMNS))
    return replace(now, leader_epochs=caches)


def keep_caches_of_leaders(now: Round) -> Round:
    """Leader epoch caches follow steps 1 to 3.

    Logs are damaged, dropped, and begin later; who was told that it leads has its epoch.
    """
    changed = now.replicas.where("cut_to IS NOT NULL OR is_dropped OR new_log_start IS NOT NULL")
    changes = changed.select(*REPLICA, "is_dropped AS clears", "cut_to", "CAST(null AS BIGINT) AS cut_after", "new_log_start")
    told = now.replicas.where(f"is_told AND {ENTERS_EPOCH}").select(
        *REPLICA, "client_epoch AS epoch", "leo_at_start AS start_offset"
    )
    return _follow(now, changes, told)


def keep_epochs_of_appends(now: Round) -> Round:
    """What T appended has its epoch: the log holds it, and a cache that has not does so now.

    Today's caches have it since T was told; where logs hold what caches say nothing is left to do.
    """
    if now.own_logs is None or not now.inputs.batches_due:
        return now
    first = now.replicas.where("taken_now > 0").select(
        *REPLICA, "client_epoch AS epoch", "leo_after_append - taken_now AS start_offset", f"{APPENDED} AS arrival"
    )
    caches = _entries(now.leader_epochs, OLD).union(first)
    logs = _entries(now.own_logs, OLD).union(first)
    return replace(now, leader_epochs=assign(caches).select(*EPOCH_COLUMNS), own_logs=_held(logs).select(*EPOCH_COLUMNS))


def keep_caches_of_followers(now: Round) -> Round:
    """Leader epoch caches follow steps 7 to 9.

    Logs are cut, have what came, and begin later; who leads since has its epoch.
    """
    assert now.taken is not None
    # Where the log began in between, a cut leaves nothing: also of the entry that comes to stand there.
    learned = "IF(learned_cut_to <= learned_cut_start, -1L, learned_cut_to)"
    cut_after = learned if now.inputs.cuts_to_hw else "CAST(null AS BIGINT)"
    changed = now.replicas.where(f"cut_to IS NOT NULL OR starts_anew OR new_log_start IS NOT NULL OR {cut_after} IS NOT NULL")
    changes = changed.select(*REPLICA, "starts_anew AS clears", "cut_to", f"{cut_after} AS cut_after", "new_log_start")
    fetched = now.taken.select(*REPLICA, "epoch", "from_offset AS start_offset")
    if now.remote_segments is not None:
        fetched = fetched.union(built_epochs(now))
    told = now.replicas.where(f"new_epoch IS NOT NULL AND {ENTERS_EPOCH}").select(
        *REPLICA, "new_epoch AS epoch", "new_start AS start_offset"
    )
    return _follow(now, changes, told, fetched)


def built_epochs(now: Round) -> Query:
    """The caches of those that have built their state in this round: pid, broker, epoch, start_offset."""
    assert now.remote_epochs is not None
    built = now.replicas.where("built_from IS NOT NULL").select(*REPLICA, "built_from AS number", "starts_at")
    return (
        built.join(now.remote_epochs, ["pid", "number"])
        .where("start_offset < starts_at")
        .select(*REPLICA, "epoch", "start_offset")
    )


def _follow(now: Round, changes: Query, told: Query, fetched: Query | None = None) -> Round:
    """The round with caches as they are after changes of logs, and then epochs that arrived.

    `changes`: a row for each log that changes: clears (all goes), cut_to and cut_after (what is at or above it goes, before and
    after what was fetched), new_log_start. `told`, `fetched`: pid, broker, epoch, start_offset.
    """
    new = [] if fetched is None else [_entries(fetched, FETCHED)]
    if now.own_logs is not None:
        logs = _held(_changed([_entries(now.own_logs, OLD), *new], changes))
        now = replace(now, own_logs=_truncate_from_start(logs).select(*EPOCH_COLUMNS))
        new = [entries.with_columns(epoch=EPOCH) for entries in new]
    caches = assign(_changed([_entries(now.leader_epochs, OLD), *new, _entries(told, TOLD)], changes))
    return replace(now, leader_epochs=_truncate_from_start(caches).select(*EPOCH_COLUMNS))


def _entries(entries: Query, arrival: int) -> Query:
    return entries.select(*EPOCH_COLUMNS).with_columns(arrival=f"{arrival}")


def _changed(entries: list[Query], changes: Query) -> Query:
    """The entries that are left of what was there, and of what was fetched."""
    first, *others = entries
    every = first.union(*others).join(changes, REPLICA, "left")
    stays = "NOT coalesce(clears, false) AND (cut_to IS NULL OR start_offset < cut_to)"
    kept = "cut_after IS NULL OR start_offset < cut_after"
    return every.where(f"arrival = {TOLD} OR (({kept}) AND (arrival = {FETCHED} OR ({stays})))")


def assign(entries: Query) -> Query:
    """Take entries into caches as they arrive (LeaderEpochFileCache.assign).

    The epoch that a cache has last changes nothing; another one drops all entries at or above its epoch, or its offset.
    """
    others = _of_another_epoch(entries)
    later = others.with_columns(later_epoch=f"min(epoch) {LATER_ARRIVALS}", later_start=f"min(start_offset) {LATER_ARRIVALS}")
    stays = "later_epoch IS NULL OR (epoch < later_epoch AND start_offset < later_start)"
    return later.where(stays).drop("later_epoch", "later_start")


def _held(entries: Query) -> Query:
    """What logs hold, with what arrives: before KIP-320 an epoch may come after a higher one."""
    later = _of_another_epoch(entries).with_columns(later_start=f"min(start_offset) {LATER_ARRIVALS}")
    return later.where("later_start IS NULL OR start_offset < later_start").drop("later_start")


def _of_another_epoch(entries: Query) -> Query:
    """The entries but those that go on with the epoch before them."""
    before = entries.with_columns(before=f"lag(epoch) {BY_ARRIVAL}")
    return before.where("before IS NULL OR before != epoch").drop("before")


def _truncate_from_start(epochs: Query) -> Query:
    """Drop entries at or below `new_log_start`, where a row has one; the last of them stays, and starts there."""
    starts = epochs.with_columns(next_start=f"lead(start_offset) {BY_ARRIVAL}")
    kept = starts.where("new_log_start IS NULL OR next_start IS NULL OR next_start > new_log_start")
    return kept.with_columns(start_offset="IF(new_log_start > start_offset, new_log_start, start_offset)").drop("next_start")
