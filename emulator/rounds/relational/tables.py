"""The tables of a round. A broker goes by its id, a partition by `pid`; offsets are exclusive ends, rounds count from 0.

Between two rounds a partition's columns are a table of their own; within one they stand beside those of its replicas
(`begin_round`), so that a verb may look at all replicas of a partition by a window.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from emulator.rounds.relational.queries.query import Query

PARTITION = ["pid"]
REPLICA = ["pid", "broker"]

COUNTERS = (
    "elections", "unclean_elections", "leaderless_rounds", "under_min_isr_rounds", "under_replicated_rounds",
    "unwritable_rounds", "unacked_rounds", "isr_shrinks", "isr_expands",
)  # fmt: skip
REPLICA_COUNTERS = ("appended", "refused", "truncated", "replicated_bytes", "local_deleted_bytes")

PARTITION_COLUMNS = {
    "pid": "bigint", "scenario_id": "int", "topic_id": "int", "workload_id": "int", "rounds": "int", "round": "int",
    "leader": "int", "leader_epoch": "int", "client_leader": "int", "client_epoch": "int", "lead_start": "bigint",
    "lead_hw": "bigint", "owes_from": "bigint", "asked_in_vain": "boolean", "moves": "boolean", "oldest_news": "int",
    "unacked": "bigint", "refusing_broker": "int", "refusing_records": "bigint", "refusing_since": "int",
    "refusing_from": "bigint", "refusing_epoch": "int", "keeps_segments": "boolean", **dict.fromkeys(COUNTERS, "bigint"),
}  # fmt: skip
"""`leader`, `leader_epoch`: what the controller holds. `client_leader`, `client_epoch`: T, and the epoch it was elected with;
it knows that it leads from `lead_start` on, and committed up to `lead_hw`. `owes_from`: what it appended from there on had no
answer yet when this epoch began, null: it does not know yet that it leads. `asked_in_vain`: the controller will refuse what it
asked for. `moves`: a reassignment is under way.
`refusing_...`: T turns this many records away in each round, since when. `keeps_segments`: one of its may be deleted."""

REPLICA_COLUMNS = {
    "pid": "bigint", "broker": "int", "is_first": "boolean", "position": "int", "target_position": "int",
    "in_isr": "boolean", "in_elr": "boolean", "in_last_known_elr": "boolean", "answer_epoch": "int", "answer_leo": "bigint",
    "leads": "boolean", "believed_leader": "int", "believed_epoch": "int", "truncating": "boolean",
    "log_start": "bigint", "leo": "bigint", "hw": "bigint", "hw_checkpoint": "bigint", "flushed": "bigint",
    "segment_base": "bigint", "segment_size": "bigint", "segment_round": "int", "segment_newest": "int",
    "credit_bytes": "bigint",
    "known_in_isr": "boolean", "join_pends": "boolean", "shrink_pends": "boolean", "remote_leo": "bigint",
    "caught_up_round": "int", "previous_round": "int", "previous_leader_leo": "bigint",
    **dict.fromkeys(REPLICA_COUNTERS, "bigint"),
}  # fmt: skip
"""`position`: place in the replica list, null: no replica (any more, or not yet). `is_first`: one row of every partition.
`target_position`: place in the replica list that a reassignment comes to, null: it goes.
`answer_...`: what it told the controller that looks for a leader. `leads`: it thinks that it leads, in `believed_epoch`.
`segment_...`: base, bytes, round of its first chunk and of its newest record (null: it is empty) of the active segment.
`known_in_isr` to `previous_leader_leo`: what T knows of it, null: nothing."""

EPOCH_COLUMNS = {"pid": "bigint", "broker": "int", "epoch": "int", "start_offset": "bigint"}
BATCH_COLUMNS = {
    "pid": "bigint", "epoch": "int", "base_offset": "bigint", "end_offset": "bigint", "batch_records": "bigint",
    "record_bytes": "bigint", "acked_on_append": "boolean", "unacknowledged": "boolean", "first_round": "int",
    "batch_rounds": "int",
}  # fmt: skip
ACKS = ("acked_on_append", "unacknowledged")
"""Of batches: whether acks is 0 or 1, and whether it is 0."""

TIER_COUNTERS = (
    "remote_copy_requests", "remote_copy_bytes", "remote_copied_again_bytes", "moved_to_tiered_storage", "aux_state_requests",
    "aux_state_errors", "aux_state_downloads",
)  # fmt: skip
TIER_COLUMNS = {
    "pid": "bigint", "broker": "int", "whole_start": "bigint", "highest_remote": "bigint", "duty": "int", "copied": "bigint",
    "knows_start": "boolean", **dict.fromkeys(("copy_next_ms", "expiry_next_ms", "follower_next_ms"), "bigint"),
    "known_before": "int",
    "builds_leader": "int", "builds_epoch": "int", "builds_next": "int", **dict.fromkeys(TIER_COUNTERS, "bigint"),
}  # fmt: skip
"""`whole_start`: where the log starts, with what is in remote storage. `highest_remote`: the last offset it knows to be there,
-1: none. `copied`: where its copy task stands, null: not looked up yet. `..._next_ms`: when its tasks are due.
`known_before`: it has read the metadata that was written before. `builds_...`: whom it asks for its state, null: nobody."""

REMOTE_COLUMNS = {
    "pid": "bigint", "number": "int", "base_offset": "bigint", "segment_end": "bigint", "size_bytes": "bigint", "copier": "int",
    "leader_epoch": "int", "copied_round": "int",
}  # fmt: skip
REMOTE_EPOCH_COLUMNS = {
    "pid": "bigint", "number": "int", "base_offset": "bigint", "segment_end": "bigint", "copier": "int", "copied_round": "int",
    "epoch": "int", "start_offset": "bigint", "first_offset": "bigint", "last_offset": "bigint",
}  # fmt: skip
SEGMENT_COLUMNS = {
    "pid": "bigint", "broker": "int", "base_offset": "bigint", "end_offset": "bigint", "size_bytes": "bigint",
    "first_round": "int", "newest_round": "int",
}  # fmt: skip


@dataclass(frozen=True)
class Tables:
    """The state between two rounds.

    partitions, replicas: PARTITION_COLUMNS, REPLICA_COLUMNS. leader_epochs: the leader epoch caches, a row an entry: what a
    replica's log has of an epoch goes from its start to the next entry's, or the LEO. batches: what leaders appended, whoever has
    it: a record is (epoch, offset). A row is some batches of `batch_records` in a row, BATCH_COLUMNS: the first was appended in
    `first_round`, each other one `batch_rounds` after it. own_logs: what logs hold, as leader_epochs has it, where that is not
    what caches say (None: it is): in generations before KIP-320, and where a replica begins beyond its leader's log
    (`logs.BEYOND`). segments: the closed segments
    that replicas have on their disks, SEGMENT_COLUMNS, where one may be deleted; None: no partition of the run keeps any.
    tiers: what replicas do and know of remote storage, TIER_COLUMNS. remote_segments, remote_epochs: what is there (tiers.py);
    None: nobody has any.
    """

    partitions: Query
    replicas: Query
    leader_epochs: Query
    batches: Query
    own_logs: Query | None = None
    segments: Query | None = None
    tiers: Query | None = None
    remote_segments: Query | None = None
    remote_epochs: Query | None = None

    @property
    def logs(self) -> Query:
        """What logs hold."""
        return self.leader_epochs if self.own_logs is None else self.own_logs


@dataclass(frozen=True)
class Round:
    """A round on its way: `replicas` have their partition's columns, its settings, and what the faults say of their broker.

    What one verb leaves to the next: `fetches`, a row for each request; what data is on its way, by fetch of the round (`chunks`)
    and by epoch (`taken`); the segments that it `closed`. `epochs_at_start`: caches behind step 1, where a leader answers from
    them. `written`: what is written down for the end of the run, by table name.
    """

    replicas: Query
    leader_epochs: Query
    batches: Query
    inputs: RoundInputs
    own_logs: Query | None = None
    fetches: Query | None = None
    chunks: Query | None = None
    taken: Query | None = None
    closed: Query | None = None
    epochs_at_start: Query | None = None
    segments: Query | None = None
    remote_segments: Query | None = None
    remote_epochs: Query | None = None
    written: tuple[tuple[str, Query], ...] = ()

    def with_columns(self, **texts: str) -> Round:
        """The round with more columns of replicas, or other values of them; all of them see the values before."""
        return replace(self, replicas=self.replicas.with_columns(**texts))

    def with_replicas(self, replicas: Query) -> Round:
        """The round with other replicas."""
        return replace(self, replicas=replicas)

    @property
    def logs(self) -> Query:
        """What logs hold: a row for each epoch, from where it starts up to the next one."""
        return self.leader_epochs if self.own_logs is None else self.own_logs

    @property
    def whole_start(self) -> str:
        """SQL: where a replica's log starts, with what is in remote storage."""
        return WHOLE_START if self.remote_segments is not None else "log_start"

    def writing(self, table: str, rows: Query) -> Round:
        """The round with rows to write down."""
        return replace(self, written=(*self.written, (table, rows)))


@dataclass(frozen=True)
class RoundInputs:
    """What comes from outside into a round: small tables, and which verbs have anything to do.

    batches_due: the most batches that a partition's workload has in this round. most_fetches: the most fetches that a follower
    makes in one. has_rates: some clients send as many records a second, in some rounds one more than in others.
    flushes_messages: some topic has flush.messages. has_older: some partitions are of a generation before KIP-320; cuts_to_hw:
    some of which logs are cut at their high watermark; restarts: brokers restart in this round; checks_retention: replicas look
    for segments to delete. deaths: brokers that are killed in it while they run, where leaders may append something more;
    is_calm: controllers have nothing to do in it.
    """

    number: int
    settings: Query
    brokers: Query
    workload: Query
    links: Query | None
    deaths: Query | None
    stale: Query | None
    reassignments: Query | None
    deletions: Query | None
    elections: Query | None
    news: Query | None
    batches_due: int
    most_fetches: int
    has_rates: bool
    flushes_messages: bool
    damages: bool
    has_elr: bool
    moves_partitions: bool
    has_older: bool
    cuts_to_hw: bool
    restarts: bool
    checks_retention: bool
    is_calm: bool


def over(aggregate: str) -> str:
    """SQL: an aggregate over all rows of the partition."""
    return f"{aggregate} OVER (PARTITION BY pid)"


def is_due(period_ms: str) -> str:
    """SQL: what runs every so many ms runs in this round; a multiple of them is in ((round - 1) * round_ms, round * round_ms]."""
    return f"round * round_ms % {period_ms} < round_ms"


def of_leader(value: str) -> str:
    """SQL: a value of T's row."""
    return over(f"max(IF(broker = client_leader AND position IS NOT NULL, {value}, null))")


WHOLE_START = "IF(tiered, whole_start, log_start)"

SERVES = "(running AND leads AND position IS NOT NULL AND broker = client_leader AND believed_epoch = client_epoch)"
"""SQL: the replica is T, runs and knows that it leads."""


NOTHING_DECIDED = {
    **dict.fromkeys(("fenced_out", "is_elected", "is_unclean", "is_lost", "is_preferred", "begins", "is_told"), "false"),
    **dict.fromkeys(("is_dropped", "completes", "is_moved", "is_lost_to_move"), "false"),
    **dict.fromkeys(("election_epoch", "lost_epoch", "preferred_epoch"), "leader_epoch"),
    "old_cause": "CAST(null AS INT)", "ended_start": "lead_start", "ended_hw": "lead_hw",
    "ended_owes_from": "owes_from",
}  # fmt: skip
"""What a controller's verbs say of a round in which it does nothing."""


def begin_round(tables: Tables, inputs: RoundInputs) -> Round:
    """Put the state of the round before and the inputs of this one side by side."""
    in_force = "from_round <= round AND round < to_round"
    replicas = tables.replicas.join(tables.partitions, PARTITION)
    if tables.tiers is not None:
        replicas = replicas.join(tables.tiers, REPLICA)
    for rows, key in ((inputs.settings, ["topic_id"]), (inputs.brokers, ["scenario_id", "broker"])):
        replicas = replicas.join(rows.broadcast(), key).where(in_force).drop("from_round", "to_round")
    if inputs.stale is not None:
        covers = "stale_pid = pid AND stale_broker = broker AND stale_from <= round AND round < stale_to"
        replicas = replicas.join_where(inputs.stale.broadcast(), covers, "left")
        replicas = replicas.drop(*(f"stale_{name}" for name in ("pid", "broker", "from", "to")))
    now = Round(
        replicas, tables.leader_epochs, tables.batches, inputs,
        own_logs=tables.own_logs, epochs_at_start=tables.leader_epochs, segments=tables.segments,
        remote_segments=tables.remote_segments, remote_epochs=tables.remote_epochs,
    )  # fmt: skip
    if inputs.stale is not None:
        now = now.with_columns(stale="coalesce(stale_now, false)", was_stale="coalesce(stale_before, false)")
    else:
        now = now.with_columns(stale="false", was_stale="false", news_lag="CAST(null AS INT)")
    return now.with_columns(deaf="offline OR paused OR isolated OR stale").with_columns(
        untold="deaf OR waking OR was_stale",
        previous_client_leader="client_leader",
        previous_client_epoch="client_epoch",
        leader_at_start="leader",
        epoch_at_start="leader_epoch",
        **NOTHING_DECIDED,
    )


def parted(replicas: Query) -> tuple[Query, Query]:
    """The tables `partitions` and `replicas` of a round's replicas."""
    return replicas.where("is_first").select(*PARTITION_COLUMNS), replicas.select(*REPLICA_COLUMNS)
