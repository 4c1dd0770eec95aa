"""Who joins the ISR, who is to leave it, who holds the high watermark back."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.columns import Step, built_once, inlined
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.slots import has


def judge_in_sync(state: DataFrame, rules: RunRules) -> DataFrame:
    """Mark this row as joining, shrinking, or holding the high watermark back, as the client leader judges it.

    Join: unfenced, noted in this round, at or above the high watermark of the round's start and the start of the
    leader's epoch (Partition.isFollowerInSync, KIP-966 rule 9). Shrink, in check rounds: not caught up for more than
    replica.lag.time.max.ms and not at the leader's LEO. Holds: a member of the maximal ISR, or an unfenced replica
    outside that is at the leader's LEO or was caught up within the lag time (Partition.maybeIncrementLeaderHW).
    ISR changes are confirmed in this round if the controller is up and the leader in touch with it (`confirms`), else they
    stay pending (KIP-497 AlterPartition; docs/kafka_rounds.md steps 5 and 6).
    """
    return state.withColumns(_judged(rules))


@built_once
def _judged(rules: RunRules) -> Step:
    names = ("joins", "confirms", "shrinks", "holds", "holds_after")
    known = inlined(_facts(rules), _judge(), _hold(rules))
    return {name: known[name] for name in names}


def _facts(rules: RunRules) -> Step:
    at_high_watermark = rules.choose("join_at_high_watermark", "leo >= leader_hw", "true")
    at_epoch_start = rules.choose("join_at_epoch_start", "leo >= leader_epoch_start", "true")
    eligible = "(world.unfenced & assigned & own_bit) != 0"
    return {
        "is_follower": "slot != client_leader AND (assigned & own_bit) != 0",
        "eligible": eligible,
        "joins": (
            f"noted AND {eligible} AND ((leader_isr | (pending_join & ~world.restarted) | pending_shrink) & own_bit) = 0"
            f" AND {at_high_watermark} AND {at_epoch_start}"
        ),
        "caught_up": "(coalesce(remote_leo = leader_leo, false) OR round - caught_up_round <= feed.lag_rounds)",
        "confirms": f"leader_runs AND world.controller_up AND NOT {has('world.untold', 'client_leader')}",
    }


def _judge() -> Step:
    return {
        "shrinks": (
            "leader_runs AND is_follower AND round % feed.isr_check_rounds = 0 AND NOT caught_up"
            " AND (joins OR (leader_isr & own_bit) != 0)"
        ),
        "leaves_pending": "confirms AND (pending_shrink & own_bit) != 0",
        "pends": "(pending_join & ~world.restarted & own_bit) != 0 AND (eligible OR NOT confirms)",
    }


def _hold(rules: RunRules) -> Step:
    member, after = "(leader_isr & own_bit) != 0", "NOT shrinks AND NOT leaves_pending"
    beyond = "pends OR joins OR (eligible AND caught_up)"
    maximal, maximal_after = f"({member} OR {beyond})", f"(NOT shrinks AND (({member} AND NOT leaves_pending) OR {beyond}))"
    committed, committed_after = f"({member})", f"({member} AND {after})"
    return {
        "holds": f"is_follower AND {rules.choose('wait_for_maximal_isr', maximal, committed)}",
        "holds_after": f"is_follower AND {rules.choose('wait_for_maximal_isr', maximal_after, committed_after)}",
    }
