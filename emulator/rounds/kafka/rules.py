"""What sets Kafka's protocol generations apart, and the guards that mutants lack: one flag each, as SQL where runs mix them.

Scenarios of several protocols run in one job, so a rule that holds for some of them only is a test of `feed.protocol`;
one that holds for all or none is a constant, which Spark folds away. Steps: docs/kafka_rounds.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from emulator.rounds.mixed_rules import holds


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
}
"""Protocol name -> rules; a protocol's place here is `feed.protocol`."""

PROTOCOL_NUMBERS = {name: number for number, name in enumerate(RULES)}


@dataclass(frozen=True)
class RunRules:
    """The rules of all protocols in a run; `slots`: replicas of its widest partition.

    `elr`: a scenario of it has eligible leader replicas (KIP-966); `late_news`: in one news may come late; `budgets`: in one
    brokers' bandwidth is limited; `segments`: in one retention may delete local segments; `tiers`: a topic is tiered, or deleted
    (then `segments` as well); `consumers`: groups read. Else no expression speaks of them.
    """

    slots: int
    protocols: tuple[str, ...] = field(default=("kafka",))
    elr: bool = False
    late_news: bool = False
    budgets: bool = False
    segments: bool = False
    tiers: bool = False
    consumers: bool = False

    @property
    def nested_counters(self) -> tuple[str, ...]:
        """Columns whose counters move in this run."""
        return ("readers",) if self.consumers else ()

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
