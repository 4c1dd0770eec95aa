"""The protocols that scenarios may name, and in what rules each differs from today's Kafka, BookKeeper or Raft.

A mutant is the system without one guard. What a rule is: class Rules in emulator/rounds/kafka/input_records.py and
emulator/rounds/bookkeeper/inputs.py; docs/kafka_rounds.md, docs/tiered_rounds.md, docs/bookkeeper_rounds.md have its step. What
each protocol of groups is: emulator/rounds/quorums/protocols.py.
"""

from __future__ import annotations

from collections.abc import Mapping

from emulator.rounds.quorums import protocols as of_groups

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

GROUP_PROTOCOLS: Mapping[str, str | None] = {
    name: guard
    for base, own in of_groups.PROTOCOLS.items()
    for name, guard in {base: None, **{f"{base}-mutant-{end}": guard for end, guard in own.mutants.items()}}.items()
}
"""Protocol of groups, which commit by quorums -> the guard that it lacks (docs/quorum_rounds.md), if it is a mutant."""


def without_mutant(protocol: str) -> str:
    """The protocol of which a mutant is one; itself if it is none."""
    return protocol.partition("-mutant-")[0]


def group_protocol(protocol: str) -> of_groups.Protocol:
    """What a protocol of groups is, or the one of which it is a mutant."""
    return of_groups.PROTOCOLS[without_mutant(protocol)]


PARTITIONS, LEDGERS, GROUPS = "partitions", "ledgers", "groups"
"""Systems, by what they have."""

PROTOCOLS = (*KAFKA_PROTOCOLS, *LEDGER_PROTOCOLS, *GROUP_PROTOCOLS)


def system_of(protocol: str) -> str:
    """The system that a protocol is of; that of partitions for an unknown one."""
    return LEDGERS if protocol in LEDGER_PROTOCOLS else GROUPS if protocol in GROUP_PROTOCOLS else PARTITIONS
