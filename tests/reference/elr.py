"""Eligible leader replicas (docs/kafka_rounds.md; KIP-966): the members that left an ISR below the minimum still count.

The controller holds ELR, who may lead because everything committed is in its log, and LK (LastKnownELR), whom it would
have to ask or trust when neither ISR nor ELR has anybody left. Without the feature both stay empty.

Choices where the page is silent:

* alter_config of min.insync.replicas empties ELR and LK also when it changes nothing, and while the controller is down.
* LK stays within the replicas with every strategy. When the strategy was changed to none, LK may hold several: the first
  in replica order that may lead leads.
* Recovery: an isolated broker that is not fenced yet answers, since it runs. Answers hold for the next round alone: a
  controller that is down in it asks anew when it is back. The strategy of the round in which the answers are looked at
  decides how. With `balanced` only members of LK may win.
* Without the feature unclean.recovery.strategy means nothing.
"""

from __future__ import annotations

from .partition import NO_LEADER, Controller, Partition

BALANCED, AGGRESSIVE = "balanced", "aggressive"
BALANCED_OR_AGGRESSIVE = (BALANCED, AGGRESSIVE)


def change_isr(partition: Partition, isr: set[int]) -> None:
    """The ISR changes at once from what it is to `isr`, and with it who is eligible."""
    controller, settings = partition.controller, partition.settings
    before, controller.isr = controller.isr, isr
    if not partition.has_elr:
        return
    replicas = set(controller.replicas)
    if len(isr) >= min(settings.min_insync_replicas, len(replicas)):
        partition.coverage["elr_cleared"] += bool(controller.elr)
        forget_elr(partition)
        return
    were_eligible = controller.elr | before
    controller.elr = (were_eligible - isr) & replicas
    if settings.recovery_strategy in BALANCED_OR_AGGRESSIVE:
        controller.last_known_elr = (controller.last_known_elr | were_eligible) - isr - controller.elr
    controller.last_known_elr &= replicas
    partition.coverage["elr_grew"] += bool(controller.elr & before)
    partition.coverage["isr_became_empty"] += bool(before) and not isr


def forget_elr(partition: Partition) -> None:
    """Nobody outside of the ISR is eligible, or was."""
    partition.controller.elr, partition.controller.last_known_elr = set(), set()


def remove_unclean_restarts(partition: Partition) -> None:
    """Who comes back after an unclean stop may have lost records: it is eligible no more."""
    if not partition.rules.remove_unclean_from_elr:
        return
    controller = partition.controller
    unclean = {broker for broker in controller.elr if partition.status(broker).unclean_restart}
    controller.elr = controller.elr - unclean
    if partition.settings.recovery_strategy in BALANCED_OR_AGGRESSIVE:
        controller.last_known_elr = controller.last_known_elr | unclean
    partition.coverage["unclean_left_elr"] += len(unclean)


def eligible_leader(partition: Partition, blocked: set[int]) -> int | None:
    """The first of ELR that is not blocked, if the ISR is empty."""
    controller = partition.controller
    if controller.isr:
        return None
    eligible = [broker for broker in controller.replicas if broker in controller.elr - blocked]
    return next(iter(partition.preferred_first(eligible)), None)


def remember_last_leader(controller: Controller, leader: int) -> None:
    """What an election to `leader` means for LK with strategy none; the controller still holds the leader before."""
    if leader != NO_LEADER:
        controller.last_known_elr = set()
    elif controller.leader != NO_LEADER and not controller.isr:
        controller.last_known_elr = {controller.leader} & set(controller.replicas)


def ask_for_recovery(partition: Partition) -> None:
    """After step 3: without a leader, and with a strategy for that, the controller asks who has how much."""
    controller, strategy = partition.controller, partition.settings.recovery_strategy
    controller.recovery_answers = {}
    if not partition.has_elr or controller.leader != NO_LEADER or not partition.controller_up:
        return
    asked = set(controller.replicas)
    if strategy == BALANCED:
        asked = set() if controller.isr or controller.elr else controller.last_known_elr & asked
    elif strategy != AGGRESSIVE:
        return
    for broker in asked:
        if partition.status(broker).running and partition.is_unfenced(broker):
            log = partition.replicas[broker].log
            controller.recovery_answers[broker] = (-1 if log.cache.latest is None else log.cache.latest, log.leo)
            partition.coverage[f"recovery_answer_{strategy}"] += 1


def most_complete_answer(partition: Partition, blocked: set[int]) -> int | None:
    """Who answered the question of the round before with the last epoch, and the largest LEO in it; None to wait on."""
    controller, answers = partition.controller, partition.controller.recovery_answers
    usable = [broker for broker in controller.replicas if broker in answers and broker not in blocked]
    if partition.settings.recovery_strategy == BALANCED:
        if controller.isr or controller.elr or not controller.last_known_elr <= set(usable):
            partition.coverage["balanced_recovery_waits"] += 1
            return None
        usable = [broker for broker in usable if broker in controller.last_known_elr]
    partition.coverage["recovered"] += bool(usable)
    return max(usable, key=lambda broker: answers[broker], default=None)
