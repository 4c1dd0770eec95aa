"""What sets Kafka's protocol generations apart, and the guards that mutants lack: one flag each, as SQL where runs mix them.

Scenarios of several protocols run in one job, so a rule that holds for some of them only is a test of `feed.protocol`;
one that holds for all or none is a constant, which Spark folds away. Steps: docs/kafka_rounds.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from emulator.expressions.mixed_rules import holds


@dataclass(frozen=True)
class Rules:
    """The rules of one protocol; the defaults are Kafka's of today, the numbers are the steps of a round.

    epochs_in_fetch (4): fetches carry epochs, the leader checks them and answers divergence (KIP-320, KIP-595).
    entry_at_election (2): a new leader puts its epoch into its cache at once (KIP-279), else with its first append.
    asks (4, 7): who begins to follow asks for the end of its last epoch first (KIP-101).
    answers_epoch (7): the answer names the epoch it is about (KIP-279).
    cuts_to_high_watermark (1, 8): who begins to follow cuts its log to its high watermark (before KIP-101).
    The others are guards; a protocol without one of them is a mutant.
    cut_by_epoch (7): after a diverging answer the log is cut to where both logs end the epoch, else to the own high watermark.
    join_at_high_watermark, join_at_epoch_start (5): what a follower must have reached to join the ISR.
    wait_for_maximal_isr (6): joiners, pending joins and those about to join hold the high watermark back.
    fetch_in_leader_epoch (4): a fetch of another epoch is refused.
    forget_followers (2): a new leader knows no follower's LEO.
    hold_below_min_isr (6): the high watermark stays while |ISR| < min.insync.replicas.
    remove_unclean_from_elr (2): who restarts after an unclean stop leaves the ELR.
    response_in_leader_epoch (7, 8): a response that comes after the follower learned of another leader or epoch is dropped.
    Of tiered storage (docs/tiered_rounds.md):
    below_last_stable (copy): a segment is copied when it ends below the last stable offset, else as soon as it is closed.
    wait_for_lag (copy): a segment is copied when it has waited for its lag (KIP-1241), else as soon as it is closed.
    finished_counts (copy): the highest remote offset rises when a copy is finished, else when it is started.
    within_lineage (copy): it is looked up by the log's own epochs, else by any epoch.
    forget_on_truncation (copy): a truncation lowers it, else (Kafka to 4.3) it never falls while the broker runs.
    copy_before_delete (local retention): only what is copied goes from the disk.
    log_start_first (expiry): the log start rises before remote segments go, else in a later run, to what is left.
    check_transitions (metadata): an event that a segment's state does not allow changes nothing.
    lookup_by_epoch (lookup): a segment is looked up by the log's epoch at the offset, else any that has the offset is taken.
    build_epochs (followers): who starts behind remote storage takes the epochs before from there, else it starts without.
    drop_log (followers): and its own log goes, else its segments stay on the disk.
    """

    epochs_in_fetch: bool = True
    entry_at_election: bool = True
    asks: bool = False
    answers_epoch: bool = False
    cuts_to_high_watermark: bool = False
    cut_by_epoch: bool = True
    join_at_high_watermark: bool = True
    join_at_epoch_start: bool = True
    wait_for_maximal_isr: bool = True
    fetch_in_leader_epoch: bool = True
    forget_followers: bool = True
    hold_below_min_isr: bool = True
    remove_unclean_from_elr: bool = True
    response_in_leader_epoch: bool = True
    below_last_stable: bool = True
    wait_for_lag: bool = True
    finished_counts: bool = True
    within_lineage: bool = True
    forget_on_truncation: bool = True
    copy_before_delete: bool = True
    log_start_first: bool = True
    check_transitions: bool = True
    lookup_by_epoch: bool = True
    build_epochs: bool = True
    drop_log: bool = True


_BEFORE_KIP320 = {"epochs_in_fetch": False, "join_at_epoch_start": False, "fetch_in_leader_epoch": False}

MUTANT_PREFIX = "kafka-mutant-"

RULES: dict[str, Rules] = {
    "kafka": Rules(),
    "kafka-high-watermark": Rules(entry_at_election=False, cuts_to_high_watermark=True, **_BEFORE_KIP320),
    "kafka-kip101": Rules(entry_at_election=False, asks=True, **_BEFORE_KIP320),
    "kafka-kip279": Rules(asks=True, answers_epoch=True, **_BEFORE_KIP320),
    MUTANT_PREFIX + "truncate-to-high-watermark": Rules(cut_by_epoch=False),
    MUTANT_PREFIX + "join-without-high-watermark": Rules(join_at_high_watermark=False),
    MUTANT_PREFIX + "join-without-epoch-start": Rules(join_at_epoch_start=False),
    MUTANT_PREFIX + "high-watermark-over-committed-isr": Rules(wait_for_maximal_isr=False),
    MUTANT_PREFIX + "fetch-without-epoch-check": Rules(fetch_in_leader_epoch=False),
    MUTANT_PREFIX + "new-leader-keeps-old-remote-leo": Rules(forget_followers=False),
    MUTANT_PREFIX + "high-watermark-below-min-isr": Rules(hold_below_min_isr=False),
    MUTANT_PREFIX + "unclean-kept-in-elr": Rules(remove_unclean_from_elr=False),
    MUTANT_PREFIX + "response-after-epoch-moved": Rules(response_in_leader_epoch=False),
    MUTANT_PREFIX + "copy-above-last-stable": Rules(below_last_stable=False),
    MUTANT_PREFIX + "copy-without-lag": Rules(wait_for_lag=False),
    MUTANT_PREFIX + "started-counts-as-copied": Rules(finished_counts=False),
    MUTANT_PREFIX + "resume-after-any-epoch": Rules(within_lineage=False),
    MUTANT_PREFIX + "remote-offset-kept-on-truncation": Rules(forget_on_truncation=False),
    MUTANT_PREFIX + "delete-before-copy": Rules(copy_before_delete=False),
    MUTANT_PREFIX + "delete-before-log-start": Rules(log_start_first=False),
    MUTANT_PREFIX + "any-transition": Rules(check_transitions=False),
    MUTANT_PREFIX + "lookup-without-epoch": Rules(lookup_by_epoch=False),
    MUTANT_PREFIX + "follower-without-epochs": Rules(build_epochs=False),
    MUTANT_PREFIX + "follower-keeps-log": Rules(drop_log=False),
}
"""Protocol name -> rules; a protocol's place here is `feed.protocol`."""

TIER_GUARDS = (
    *("below_last_stable", "wait_for_lag", "finished_counts", "within_lineage", "forget_on_truncation", "copy_before_delete"),
    *("log_start_first", "check_transitions", "lookup_by_epoch", "build_epochs", "drop_log"),
)
"""The rules about remote storage."""

TIERED_PROTOCOLS = tuple(name for name, rules in RULES.items() if replace(rules, **dict.fromkeys(TIER_GUARDS, True)) == Rules())
"""Those that topics with remote storage may have: Kafka of today, and mutants that lack one of TIER_GUARDS."""

PROTOCOL_NUMBERS = {name: number for number, name in enumerate(RULES)}


@dataclass(frozen=True)
class RunRules:
    """The rules of all protocols in a run; `slots`: replicas of its widest partition.

    `elr`: a scenario of it has eligible leader replicas (KIP-966); `late_news`: in one news may come late; `budgets`: in one
    brokers' bandwidth is limited; `segments`: in one retention may delete local segments; `tiers`: a topic is tiered, or deleted
    (then `segments` as well); `lists`: brokers ask the remote store itself for metadata; `by_local_log`:
    elections go by what replicas have themselves (KIP-1303); `consumers`: groups read. Else no expression speaks of them.
    """

    slots: int
    protocols: tuple[str, ...] = field(default=("kafka",))
    elr: bool = False
    late_news: bool = False
    budgets: bool = False
    segments: bool = False
    tiers: bool = False
    lists: bool = False
    by_local_log: bool = False
    consumers: bool = False

    @property
    def nested_counters(self) -> tuple[str, ...]:
        """Columns whose counters move in this run."""
        return (*(("readers",) if self.consumers else ()), *(("tier_counts", "aux_state") if self.tiers else ()))

    @property
    def works_in_functions(self) -> bool:
        """Whether most of a round's work is in higher-order functions: remote segments and their events are arrays."""
        return self.tiers

    def some(self, rule: str) -> bool:
        """Whether any protocol of the run has the rule."""
        return any(getattr(RULES[name], rule) for name in self.protocols)

    def some_lack(self, rule: str) -> bool:
        """Whether any protocol of the run lacks the rule."""
        return not all(getattr(RULES[name], rule) for name in self.protocols)

    def choose(self, rule: str, having: str, lacking: str) -> str:
        """SQL text: one of two expressions, by whether the row's protocol has the rule."""
        holds = self.holds(rule)
        return {"true": having, "false": lacking}.get(holds, f"IF({holds}, {having}, {lacking})")

    def holds(self, rule: str) -> str:
        """SQL text: whether the row's protocol has the rule."""
        return holds(RULES, self.protocols, rule)
