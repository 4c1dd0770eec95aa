"""The protocols that scenarios may name, and in what rules each differs from today's Kafka, BookKeeper or Raft.

A mutant is the system without one guard. What a rule is: class Rules in emulator/rounds/kafka/input_records.py and
emulator/rounds/bookkeeper/inputs.py; docs/kafka_rounds.md, docs/tiered_rounds.md, docs/bookkeeper_rounds.md have its step.
"""

from __future__ import annotations

from collections.abc import Mapping

TIER_GUARDS = (
    "below_last_stable", "wait_for_lag", "finished_counts", "within_lineage", "forget_on_truncation", "copy_before_delete",
    "log_start_first", "check_transitions", "lookup_by_epoch", "build_epochs", "drop_log",
)  # fmt: skip
"""The rules about remote storage."""

_BEFORE_KIP320 = {"epochs_in_fetch": 0, "join_at_epoch_start": 0, "fetch_in_leader_epoch": 0}
_KAFKA_MUTANT, _BOOKKEEPER_MUTANT = "kafka-mutant-", "bookkeeper-mutant-"


def _lacking(guard: str) -> dict[str, int]:
    """Kafka of today without one of its guards; divergence is looked for in a follower's first fetch of an epoch only."""
    return {guard: 0} if guard in TIER_GUARDS else {guard: 0, "check_every_fetch": 0}


KAFKA_PROTOCOLS: Mapping[str, Mapping[str, int]] = {
    "kafka": {},
    "kafka-high-watermark": {"entry_at_election": 0, "cuts_to_high_watermark": 1, **_BEFORE_KIP320},
    "kafka-kip101": {"entry_at_election": 0, "asks": 1, **_BEFORE_KIP320},
    "kafka-kip279": {"asks": 1, "answers_epoch": 1, **_BEFORE_KIP320},
    _KAFKA_MUTANT + "truncate-to-high-watermark": _lacking("cut_by_epoch"),
    _KAFKA_MUTANT + "join-without-high-watermark": _lacking("join_at_high_watermark"),
    _KAFKA_MUTANT + "join-without-epoch-start": _lacking("join_at_epoch_start"),
    _KAFKA_MUTANT + "high-watermark-over-committed-isr": _lacking("wait_for_maximal_isr"),
    _KAFKA_MUTANT + "fetch-without-epoch-check": _lacking("fetch_in_leader_epoch"),
    _KAFKA_MUTANT + "new-leader-keeps-old-remote-leo": _lacking("forget_followers"),
    _KAFKA_MUTANT + "high-watermark-below-min-isr": _lacking("hold_below_min_isr"),
    _KAFKA_MUTANT + "unclean-kept-in-elr": _lacking("remove_unclean_from_elr"),
    _KAFKA_MUTANT + "response-after-epoch-moved": _lacking("response_in_leader_epoch"),
    _KAFKA_MUTANT + "copy-above-last-stable": _lacking("below_last_stable"),
    _KAFKA_MUTANT + "copy-without-lag": _lacking("wait_for_lag"),
    _KAFKA_MUTANT + "started-counts-as-copied": _lacking("finished_counts"),
    _KAFKA_MUTANT + "resume-after-any-epoch": _lacking("within_lineage"),
    _KAFKA_MUTANT + "remote-offset-kept-on-truncation": _lacking("forget_on_truncation"),
    _KAFKA_MUTANT + "delete-before-copy": _lacking("copy_before_delete"),
    _KAFKA_MUTANT + "delete-before-log-start": _lacking("log_start_first"),
    _KAFKA_MUTANT + "any-transition": _lacking("check_transitions"),
    _KAFKA_MUTANT + "lookup-without-epoch": _lacking("lookup_by_epoch"),
    _KAFKA_MUTANT + "follower-without-epochs": _lacking("build_epochs"),
    _KAFKA_MUTANT + "follower-keeps-log": _lacking("drop_log"),
}
"""Protocol of partitions -> the rules in which it is not today's Kafka."""

TIERED_PROTOCOLS = tuple(name for name, rules in KAFKA_PROTOCOLS.items() if rules.keys() <= set(TIER_GUARDS))
"""Those that topics with remote storage may have: Kafka of today, and mutants that lack one of TIER_GUARDS."""

LEDGER_PROTOCOLS: Mapping[str, str | None] = {
    "bookkeeper": None,
    _BOOKKEEPER_MUTANT + "recovery-reads-do-not-fence": "recovery_reads_fence",
    _BOOKKEEPER_MUTANT + "no-such-entry-as-unknown": "no_is_an_answer",
    _BOOKKEEPER_MUTANT + "unknown-as-no-such-entry": "unknown_is_no_answer",
    _BOOKKEEPER_MUTANT + "no-lac-floor": "lac_floor",
    _BOOKKEEPER_MUTANT + "close-at-lac": "recover_tail",
    _BOOKKEEPER_MUTANT + "ack-quorum-as-fence-quorum": "enough_missing",
    _BOOKKEEPER_MUTANT + "limbo-says-no": "limbo_is_unknown",
    _BOOKKEEPER_MUTANT + "damaged-not-fenced": "damaged_are_fenced",
    _BOOKKEEPER_MUTANT + "list-not-checked": "list_is_checked",
}
"""Protocol of ledgers -> the guard that it lacks; none of BookKeeper itself."""

_RAFT_MUTANT, _QUORUM_MUTANT, _PACIFICA_MUTANT = "raft-mutant-", "quorum-mutant-", "pacifica-mutant-"
_ZAB_MUTANT, _KRAFT_MUTANT, _VIEWSTAMPED_MUTANT = "zab-mutant-", "kraft-mutant-", "viewstamped-mutant-"
_HDFS_MUTANT = "hdfs-journal-mutant-"

GROUP_PROTOCOLS: Mapping[str, str | None] = {
    "quorum": None,
    "raft": None,
    _RAFT_MUTANT + "commit-of-older-term": "own_term_commits",
    _RAFT_MUTANT + "vote-without-comparing-logs": "compare_logs",
    _RAFT_MUTANT + "votes-twice": "one_vote",
    _RAFT_MUTANT + "vote-forgotten": "keep_vote",
    _RAFT_MUTANT + "append-without-previous": "check_previous",
    _RAFT_MUTANT + "older-leader-followed": "refuse_older_term",
    _RAFT_MUTANT + "joint-by-new-majority-alone": "both_majorities",
    _RAFT_MUTANT + "changes-before-the-last-is-committed": "wait_for_change",
    _RAFT_MUTANT + "changes-before-a-commit-of-its-term": "own_term_first",
    _QUORUM_MUTANT + "elected-without-comparing-logs": "compare_logs",
    _QUORUM_MUTANT + "append-without-previous": "check_previous",
    _QUORUM_MUTANT + "older-leader-followed": "refuse_older_term",
    "primary-backup-sync": None,
    "primary-backup-async": None,
    "pacifica": None,
    _PACIFICA_MUTANT + "lease-without-clock-bound": "leases_expire",
    _PACIFICA_MUTANT + "any-version": "check_version",
    _PACIFICA_MUTANT + "commit-before-all-prepared": "all_prepared",
    _PACIFICA_MUTANT + "added-before-caught-up": "catch_up_first",
    _PACIFICA_MUTANT + "prepare-without-previous": "check_previous",
    "viewstamped": None,
    _VIEWSTAMPED_MUTANT + "own-log": "compare_logs",
    _VIEWSTAMPED_MUTANT + "longest-log": "current_epoch_first",
    _VIEWSTAMPED_MUTANT + "view-without-quorum": "quorum_of_changes",
    _VIEWSTAMPED_MUTANT + "older-primary-followed": "refuse_older_term",
    _VIEWSTAMPED_MUTANT + "returns-with-nothing": "recover_first",
    _VIEWSTAMPED_MUTANT + "recovers-from-any-primary": "quorum_of_answers",
    "kraft": None,
    _KRAFT_MUTANT + "high-watermark-at-epoch-start": "beyond_epoch_start",
    _KRAFT_MUTANT + "vote-without-comparing-logs": "compare_logs",
    _KRAFT_MUTANT + "votes-twice": "one_vote",
    _KRAFT_MUTANT + "vote-forgotten": "keep_vote",
    _KRAFT_MUTANT + "fetch-without-epoch": "check_previous",
    _KRAFT_MUTANT + "older-leader-followed": "refuse_older_term",
    _KRAFT_MUTANT + "voters-change-before-the-last-is-committed": "wait_for_change",
    _KRAFT_MUTANT + "voters-change-before-a-commit-of-its-epoch": "own_term_first",
    "zab": None,
    _ZAB_MUTANT + "own-history": "compare_logs",
    _ZAB_MUTANT + "history-by-zxid-alone": "current_epoch_first",
    _ZAB_MUTANT + "established-without-acks": "acks_of_new_leader",
    _ZAB_MUTANT + "history-not-cut": "cut_history",
    _ZAB_MUTANT + "promise-forgotten": "keep_vote",
    _ZAB_MUTANT + "older-leader-followed": "refuse_older_term",
    "hdfs-journal": None,
    _HDFS_MUTANT + "older-writer-served": "refuse_older_term",
    _HDFS_MUTANT + "promise-forgotten": "keep_vote",
    _HDFS_MUTANT + "own-segment": "compare_logs",
    _HDFS_MUTANT + "longest-segment": "current_epoch_first",
    _HDFS_MUTANT + "accepted-recovery-forgotten": "accepted_counts",
    _HDFS_MUTANT + "recovered-without-acks": "acks_of_new_leader",
    _HDFS_MUTANT + "accepted-by-length": "same_content",
    _HDFS_MUTANT + "started-before-finalized": "finalize_first",
}
"""Protocol of groups, which commit by quorums -> the guard that it lacks (docs/quorum_rounds.md), if it is a mutant."""


def without_mutant(protocol: str) -> str:
    """The protocol of which a mutant is one; itself if it is none."""
    return protocol.partition("-mutant-")[0]


PARTITIONS, LEDGERS, GROUPS = "partitions", "ledgers", "groups"
"""Systems, by what they have."""

PROTOCOLS = (*KAFKA_PROTOCOLS, *LEDGER_PROTOCOLS, *GROUP_PROTOCOLS)


def system_of(protocol: str) -> str:
    """The system that a protocol is of; that of partitions for an unknown one."""
    return LEDGERS if protocol in LEDGER_PROTOCOLS else GROUPS if protocol in GROUP_PROTOCOLS else PARTITIONS
