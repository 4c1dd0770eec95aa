"""What each protocol of groups is: rounds, scenario files, tables and reports ask here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

QUORUM, RAFT, PRIMARY_BACKUP_SYNC, PRIMARY_BACKUP_ASYNC, PACIFICA, ZAB, KRAFT, VIEWSTAMPED, HDFS_JOURNAL = range(9)
MAJORITY, IN_SYNC, ALL, ONE, TOLD = "majority", "in sync", "all", "one", "told"
"""Who must have a record before it is acknowledged."""
JOURNAL_KEYS = (
    "log.roll.period.ms",
    "ha.health-monitor.check-interval.ms",
    "ha.failover-controller.graceful-fence.rpc-timeout.ms",
    "ipc.client.connect.timeout",
    "ipc.client.rpc-timeout.ms",
    "dfs.qjournal.queued-edits.limit.mb",
    "dfs.qjournal.write-txns.timeout.ms",
)
"""HDFS's own names, but for the first one (docs/hdfs_journal_rounds.md, Keys)."""


class Protocol(NamedTuple):
    """A protocol of groups.

    `acks`: a majority of the members, all in sync, all, the leader alone, as many as acks.to.commit says. `votes`: servers stand
    when their timers run out, and are voted for; who is a member is an entry of the log. `fetches`: followers fetch, so that a
    server knows the leader of its epoch, also when it is back. `leases`: a primary holds leases of the others, whom it tells the
    configuration. `promises`: the term that a server promised is apart from that of its log. `segments`: a log is written in
    segments. `elector`: somebody outside says who leads. `on_disk`: the log is kept on a disk. `keys`: of its config, those that
    mean nothing for protocols without them. `commands`: kinds. `names`: what its own paper calls Raft's invariants. `mutants`:
    by the end of its name the guard (Rules) that each lacks.
    """

    number: int
    acks: str = MAJORITY
    votes: bool = False
    fetches: bool = False
    leases: bool = False
    promises: bool = False
    segments: bool = False
    elector: bool = False
    on_disk: bool = True
    keys: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    names: Mapping[str, str] = {}
    mutants: Mapping[str, str] = {}

    def acks_of(self, copies: Any, told: Any, in_sync: Any) -> Any:
        """How many must have a record, of numbers of members, of those told and of those in sync, or of arrays of them."""
        return {IN_SYNC: in_sync, ALL: copies, ONE: 1, TOLD: told}.get(self.acks, copies // 2 + 1)


PROTOCOLS: Mapping[str, Protocol] = {
    "quorum": Protocol(
        QUORUM,
        TOLD,
        elector=True,
        keys=("acks.to.commit", "logs.compared"),
        mutants={
            "elected-without-comparing-logs": "compare_logs",
            "append-without-previous": "check_previous",
            "older-leader-followed": "refuse_older_term",
        },
    ),
    "raft": Protocol(
        RAFT,
        votes=True,
        keys=("election.jitter.ms", "pre.vote", "check.quorum", "members.change"),
        commands=("reassign", "preferred_leader_election"),
        mutants={
            "commit-of-older-term": "own_term_commits",
            "vote-without-comparing-logs": "compare_logs",
            "votes-twice": "one_vote",
            "vote-forgotten": "keep_vote",
            "append-without-previous": "check_previous",
            "older-leader-followed": "refuse_older_term",
            "joint-by-new-majority-alone": "both_majorities",
            "changes-before-the-last-is-committed": "wait_for_change",
            "changes-before-a-commit-of-its-term": "own_term_first",
        },
    ),
    "primary-backup-sync": Protocol(PRIMARY_BACKUP_SYNC, ALL, elector=True),
    "primary-backup-async": Protocol(PRIMARY_BACKUP_ASYNC, ONE, elector=True),
    "pacifica": Protocol(
        PACIFICA,
        IN_SYNC,
        leases=True,
        elector=True,
        keys=("lease.period.ms",),
        names={"LeaderCompleteness": "ReconfigurationInvariant"},
        mutants={
            "lease-without-clock-bound": "leases_expire",
            "any-version": "check_version",
            "commit-before-all-prepared": "all_prepared",
            "added-before-caught-up": "catch_up_first",
            "prepare-without-previous": "check_previous",
        },
    ),
    "viewstamped": Protocol(
        VIEWSTAMPED,
        on_disk=False,
        names={"StateMachineSafety": "NoLogDivergence"},
        mutants={
            "own-log": "compare_logs",
            "longest-log": "current_epoch_first",
            "view-without-quorum": "quorum_of_changes",
            "older-primary-followed": "refuse_older_term",
            "returns-with-nothing": "recover_first",
            "recovers-from-any-primary": "quorum_of_answers",
        },
    ),
    "kraft": Protocol(
        KRAFT,
        votes=True,
        fetches=True,
        keys=("election.jitter.ms", "pre.vote"),
        commands=("reassign",),
        names={"ElectionSafety": "SingleLeader", "StateMachineSafety": "ConsistentCommittedData"},
        mutants={
            "high-watermark-at-epoch-start": "beyond_epoch_start",
            "vote-without-comparing-logs": "compare_logs",
            "votes-twice": "one_vote",
            "vote-forgotten": "keep_vote",
            "fetch-without-epoch": "check_previous",
            "older-leader-followed": "refuse_older_term",
            "voters-change-before-the-last-is-committed": "wait_for_change",
            "voters-change-before-a-commit-of-its-epoch": "own_term_first",
        },
    ),
    "zab": Protocol(
        ZAB,
        promises=True,
        names={
            "ElectionSafety": "Leadership2",
            "LeaderCompleteness": "PrimaryIntegrity",
            "StateMachineSafety": "PrefixConsistency",
        },
        mutants={
            "own-history": "compare_logs",
            "history-by-zxid-alone": "current_epoch_first",
            "established-without-acks": "acks_of_new_leader",
            "history-not-cut": "cut_history",
            "promise-forgotten": "keep_vote",
            "older-leader-followed": "refuse_older_term",
        },
    ),
    "hdfs-journal": Protocol(
        HDFS_JOURNAL,
        promises=True,
        segments=True,
        elector=True,
        keys=JOURNAL_KEYS,
        mutants={
            "older-writer-served": "refuse_older_term",
            "promise-forgotten": "keep_vote",
            "own-segment": "compare_logs",
            "longest-segment": "current_epoch_first",
            "accepted-recovery-forgotten": "accepted_counts",
            "recovered-without-acks": "acks_of_new_leader",
            "accepted-by-length": "same_content",
            "started-before-finalized": "finalize_first",
        },
    ),
}
"""By their names; a mutant is called protocol-mutant-..."""

WITH_VOTES, WITH_FETCHES, WITH_LEASES, WITH_PROMISES, WITH_SEGMENTS, ON_DISK = (
    tuple(own.number for own in PROTOCOLS.values() if getattr(own, has))
    for has in ("votes", "fetches", "leases", "promises", "segments", "on_disk")
)
"""Numbers of those of which a field is so: what compiled rounds ask of `Group.protocol`."""
