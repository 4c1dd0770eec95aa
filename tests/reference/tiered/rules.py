"""The guards of tiered storage, one flag each: all of them on is the round of the page, one of them off is a mutant."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TierRules:
    """Which guards hold; the names in brackets are the parts of docs/tiered_rounds.md.

    below_last_stable (copy): a segment is copied when it ends below the last stable offset. Off: whenever it isn't active.

    copy_before_delete (local retention): only what is copied goes from the disk. Off: whatever local retention says.

    finished_counts (copy): the highest remote offset rises when a copy is finished. Off: when it is started.

    within_lineage (copy): what the log's own epochs have in remote storage says where to go on. Off: the highest offset
    of any epoch.

    lookup_by_epoch (lineage): a segment is looked up by the log's epoch at the offset. Off: any that has the offset.

    log_start_first (expiry): the log start rises before remote segments go. Off: one run later.

    build_epochs (followers): a follower takes the epochs below its start from the remote segment. Off: it starts without.

    forget_on_truncation (copy): a truncation lowers the highest remote offset. Off (Kafka to 4.3): it never falls while the
    broker runs.

    know_remote_first (expiry): the highest remote offset is known before the size of the log is taken (KAFKA-20732). Off
    (Kafka before 4.3.2): local segments may count twice.

    wait_for_lag (policies, KIP-1241): a segment is copied when it has waited for its lag. Off: when it is closed.

    check_transitions (metadata): an event that a segment's state does not allow changes nothing. Off: it does.
    """

    below_last_stable: bool = True
    copy_before_delete: bool = True
    finished_counts: bool = True
    within_lineage: bool = True
    lookup_by_epoch: bool = True
    log_start_first: bool = True
    build_epochs: bool = True
    forget_on_truncation: bool = True
    know_remote_first: bool = True
    check_transitions: bool = True
    wait_for_lag: bool = True


REAL = TierRules()

MUTANTS: dict[str, TierRules] = {
    "copy-above-last-stable": TierRules(below_last_stable=False),
    "delete-before-copy": TierRules(copy_before_delete=False),
    "started-counts-as-copied": TierRules(finished_counts=False),
    "resume-after-any-epoch": TierRules(within_lineage=False),
    "lookup-without-epoch": TierRules(lookup_by_epoch=False),
    "delete-before-log-start": TierRules(log_start_first=False),
    "follower-without-epochs": TierRules(build_epochs=False),
    "remote-offset-kept-on-truncation": TierRules(forget_on_truncation=False),
    "size-before-remote-offset": TierRules(know_remote_first=False),
    "any-transition": TierRules(check_transitions=False),
    "copy-without-lag": TierRules(wait_for_lag=False),
}
