"""Step 2 of the round: fencing, elections and the commands to the controller, only while it is up.

Choices where docs/kafka_rounds.md is silent:

* preferred_leader_election and reassign that are given while the controller is down are lost, not kept.
* Commands run after both election stages and count a returning broker as unfenced: first the preferred election
  (once, by command or by rebalance), then the reassignments and cancellations of the round in file order, with the
  check for completion after each, then that check once more.
* A reassign while one is unfinished looks at the replicas of now, those under way included: brokers that the old one
  was adding and the new one keeps are none that it adds; others that it was adding stay until completion. Where nobody
  is to be added, or nobody to be removed, the builder keeps whom the old one had (PartitionChangeBuilder begins with
  them).
* A cancellation that needs an unclean election where these are not enabled, or while nothing is under way, is nothing.
  With ELR and a recovery strategy it elects nobody from outside of the ISR: that is left to recovery.
* Completion looks at the ISR as fencing and elections of this round left it.
* A reassignment may drop T and leave nobody to lead: what T held is told as lost at the next election.
* Brokers are told only the outcome of the step: a leader elected and replaced within it never knows.
* An epoch that rises from no leader to no leader writes no event.
* The end of a reassignment is a change of the ISR also when the ISR stays as it is; it changes ELR and LK once, at the
  replicas and the minimum ISR of after. An election is none.
* With ELR on every fenced member writes its own `isr_shrink`, the last one too; an election from ELR no `isr_expand`.
"""

from __future__ import annotations

from .elr import (
    BALANCED_OR_AGGRESSIVE,
    change_isr,
    eligible_leader,
    most_complete_answer,
    remember_last_leader,
    remove_unclean_restarts,
)
from .log import Log
from .partition import NO_LEADER, Controller, Leadership, Partition, Progress, Replica


def fence_and_elect(partition: Partition) -> None:
    """Fence, elect, obey commands, and tell the outcome to a new leader that can be told."""
    if not partition.controller_up:
        return
    controller = partition.controller
    epoch_before, held_before, led_before = controller.epoch, _what_it_holds(controller), controller.leader
    leader_before = partition.client_leader
    log_before = leader_before.log if leader_before is not None else None

    returning = {broker for broker in controller.replicas if partition.status(broker).returning}
    fenced = {broker for broker in controller.replicas if partition.status(broker).fenced}
    _remove_fenced(partition, fenced | returning)
    _elect_if_needed(partition, fenced | returning)
    if controller.leader == NO_LEADER and returning:
        partition.coverage["returning_considered"] += 1
        _elect_if_needed(partition, fenced)
    _elect_preferred(partition)
    for command in partition.case.get("commands", []):
        if command["round"] != partition.now:
            continue
        if command["kind"] == "reassign":
            _start_reassignment(partition, list(command["replicas"]))
            _complete_reassignment(partition)
        elif command["kind"] == "cancel_reassignment":
            _cancel_reassignment(partition)
    _complete_reassignment(partition)
    if returning:
        partition.coverage["returning"] += 1
    leadership = partition.leadership
    if leadership is not None and _what_it_holds(controller) != held_before:
        leadership.asked_in_vain |= bool(leadership.pending_joins | leadership.pending_shrinks)
    if controller.epoch != epoch_before and controller.leader != NO_LEADER:
        _begin_leadership(partition, log_before, led_before)
    elif log_before is not None and leader_before is not partition.client_leader:
        partition.ledger.damaged[:0] = log_before.whole()


def _what_it_holds(controller: Controller) -> tuple[object, ...]:
    """What an AlterPartition request must know, or it has an old partition epoch: a new leader is told by an epoch of its own."""
    return set(controller.isr), list(controller.replicas), set(controller.adding), set(controller.removing)


def _remove_fenced(partition: Partition, blocked: set[int]) -> None:
    if partition.has_elr:
        _remove_fenced_one_by_one(partition, blocked)
        return
    controller = partition.controller
    remaining = controller.isr - blocked
    if not remaining:
        if controller.leader in controller.isr:
            remaining = {controller.leader}
        else:
            remaining = {next(broker for broker in controller.replicas if broker in controller.isr)}
    for broker in sorted(controller.isr - remaining):
        partition.ledger.counts["isr_shrinks"] += 1
        partition.ledger.event(partition.now, "isr_shrink", broker, controller.epoch, cause=partition.cause_of(broker))
    controller.isr = remaining


def _remove_fenced_one_by_one(partition: Partition, blocked: set[int]) -> None:
    """With ELR: in replica order, the leader last; nobody stays because it is the last one."""
    controller = partition.controller
    leaving = [broker for broker in controller.replicas if broker in controller.isr & blocked]
    for broker in sorted(leaving, key=lambda one: one == controller.leader):
        partition.ledger.counts["isr_shrinks"] += 1
        partition.ledger.event(partition.now, "isr_shrink", broker, controller.epoch, cause=partition.cause_of(broker))
        change_isr(partition, controller.isr - {broker})
    remove_unclean_restarts(partition)


def _elect_if_needed(partition: Partition, blocked: set[int]) -> None:
    """Elect when there is no leader, or it is blocked: from the ISR, else from ELR, else uncleanly, else nobody."""
    controller = partition.controller
    if controller.leader in controller.replicas and controller.leader not in blocked:
        return
    alive = [broker for broker in controller.replicas if broker not in blocked]
    clean = [broker for broker in alive if broker in controller.isr]
    eligible = None if clean else eligible_leader(partition, blocked)
    unclean = None if clean or eligible is not None else _unclean_leader(partition, blocked, alive)
    if clean:
        _change_leader(partition, partition.preferred_first(clean)[0], "election", _cause_of_t(partition))
    elif eligible is not None:
        controller.isr = {eligible}
        controller.elr = controller.elr - {eligible}
        _change_leader(partition, eligible, "election", _cause_of_t(partition))
        partition.coverage["elected_from_elr"] += 1
    elif unclean is not None:
        controller.isr = {unclean}
        controller.elr, controller.last_known_elr = set(), set()
        _change_leader(partition, unclean, "unclean_election", _cause_of_t(partition))
    elif controller.leader != NO_LEADER:
        _change_leader(partition, NO_LEADER, "leader_lost", partition.cause_of(controller.leader))


def _unclean_leader(partition: Partition, blocked: set[int], alive: list[int]) -> int | None:
    """Who leads although it may lack committed records, or None."""
    if partition.has_elr and partition.settings.recovery_strategy in BALANCED_OR_AGGRESSIVE:
        return most_complete_answer(partition, blocked)
    controller = partition.controller
    if partition.has_elr and not controller.isr and not controller.elr:
        last_leader = [broker for broker in alive if broker in controller.last_known_elr]
        if last_leader:
            partition.coverage["elected_last_known_leader"] += 1
            return last_leader[0]
    return alive[0] if alive and partition.settings.unclean_election else None


def _cause_of_t(partition: Partition) -> int | None:
    """What is behind an election that fencing or a return makes: the fault of who led last."""
    return None if partition.leadership is None else partition.cause_of(partition.leadership.broker)


def _change_leader(partition: Partition, leader: int, kind: str, cause: int | None = None) -> None:
    controller = partition.controller
    told_of = controller.leader if leader == NO_LEADER else leader
    begins_at = None if leader == NO_LEADER else partition.replicas[leader].log.leo
    if partition.has_elr and partition.settings.recovery_strategy not in BALANCED_OR_AGGRESSIVE:
        remember_last_leader(controller, leader)
    controller.leader = leader
    controller.epoch += 1
    partition.ledger.event(partition.now, kind, told_of, controller.epoch, begins_at, cause=cause)
    partition.coverage[kind] += 1
    if leader != NO_LEADER:
        partition.ledger.counts["elections"] += 1
        partition.ledger.counts["unclean_elections"] += kind == "unclean_election"


def _elect_preferred(partition: Partition) -> None:
    controller, now = partition.controller, partition.now
    asked = any(
        command["round"] == now and command["kind"] == "preferred_leader_election"
        for command in partition.case.get("commands", [])
    )
    period_ms = partition.settings.rebalance_ms
    rebalancing = period_ms is not None and now > 0 and partition.settings.is_due(now, period_ms)
    first = controller.replicas[0]
    if not (asked or rebalancing) or controller.leader in (NO_LEADER, first):
        return
    is_first = partition.preferred_first([first, controller.leader])[0] == first
    if first in controller.isr and partition.is_unfenced(first) and is_first:
        partition.coverage["preferred_election"] += 1
        _change_leader(partition, first, "election")


def _start_reassignment(partition: Partition, target: list[int]) -> None:
    """The request as the controller takes it: replicas are the target, then who is to be removed, by id."""
    controller = partition.controller
    removing = sorted(set(controller.replicas) - set(target))
    adding = set(target) - set(controller.replicas)
    controller.replicas = target + removing
    controller.removing = set(removing) or controller.removing
    controller.adding = adding or controller.adding
    for broker in adding:
        partition.replicas[broker] = Replica(broker, partition.empty_log())
        if partition.leadership is not None:
            partition.leadership.progress[broker] = Progress()
    if adding:
        partition.oldest_news = partition.now + 1
    partition.coverage["reassign_started"] += 1
    if not controller.removing and not controller.adding:
        change_isr(partition, controller.isr)
        partition.coverage["reassign_kept_epoch"] += 1
        _tell_of_completion(partition)


def _complete_reassignment(partition: Partition) -> None:
    controller = partition.controller
    staying = [broker for broker in controller.replicas if broker not in controller.removing]
    if not (controller.removing or controller.adding) or not set(staying) <= controller.isr:
        return
    dropped = controller.removing
    _keep_replicas(partition, staying, set(staying))
    if controller.leader in staying and not dropped:
        partition.coverage["reassign_kept_epoch"] += 1
    elif controller.leader in staying:
        _change_leader(partition, controller.leader, "election")
        partition.coverage["reassign_kept_leader"] += 1
    else:
        heirs = [broker for broker in staying if partition.is_unfenced(broker)]
        _lead_by(partition, partition.preferred_first(heirs)[0] if heirs else NO_LEADER)
        partition.coverage["reassign_moved_leader"] += 1
    _tell_of_completion(partition)


def _tell_of_completion(partition: Partition) -> None:
    controller = partition.controller
    if controller.leader != NO_LEADER:
        partition.ledger.event(partition.now, "reassignment_completed", controller.leader, controller.epoch)
    partition.coverage["reassign_completed"] += 1


def _cancel_reassignment(partition: Partition) -> None:
    """Who was being added goes; the others stay in the order that they have now."""
    controller, unclean_allowed = partition.controller, partition.settings.unclean_election
    original = [broker for broker in controller.replicas if broker not in controller.adding]
    left = controller.isr - controller.adding
    if not (controller.removing or controller.adding) or not (left or unclean_allowed):
        return
    dropped, forced = controller.adding, not left
    isr = left or {original[0]}
    able = [broker for broker in original if broker in isr and partition.is_unfenced(broker)]
    anybody = [broker for broker in original if partition.is_unfenced(broker)]
    recovers = partition.has_elr and partition.settings.recovery_strategy in BALANCED_OR_AGGRESSIVE
    leader, kind = NO_LEADER, "unclean_election" if forced else "election"
    from_outside = False
    if controller.leader in able:
        leader, kind = controller.leader, "election"
    elif able:
        leader = partition.preferred_first(able)[0]
    elif anybody and unclean_allowed and not recovers:
        leader, kind, from_outside = anybody[0], "unclean_election", True
        isr = {leader}
    _keep_replicas(partition, original, isr)
    if from_outside:
        controller.elr = set()
    if partition.has_elr and leader != NO_LEADER and not recovers:
        controller.last_known_elr = set()
    if dropped or leader != controller.leader:
        _lead_by(partition, leader, kind)
    partition.coverage["reassign_cancelled"] += 1
    partition.coverage["reassign_cancelled_uncleanly"] += forced


def _keep_replicas(partition: Partition, staying: list[int], isr: set[int]) -> None:
    """Nothing is under way any more; who does not stay loses its log."""
    controller = partition.controller
    dropped = [broker for broker in controller.replicas if broker not in staying]
    controller.replicas = staying
    change_isr(partition, isr)
    controller.removing, controller.adding = set(), set()
    for broker in dropped:
        _drop_replica(partition, broker)


def _lead_by(partition: Partition, leader: int, kind: str = "election") -> None:
    """The leader of after a reassignment, in a new epoch."""
    controller = partition.controller
    if leader != NO_LEADER:
        _change_leader(partition, leader, kind)
    elif controller.leader != NO_LEADER:
        _change_leader(partition, NO_LEADER, "leader_lost", partition.cause_of(controller.leader))
    else:
        controller.epoch += 1


def _drop_replica(partition: Partition, broker: int) -> None:
    del partition.replicas[broker]
    leadership = partition.leadership
    if leadership is not None:
        leadership.progress.pop(broker, None)
        for known in (leadership.known_isr, leadership.pending_joins, leadership.pending_shrinks):
            known.discard(broker)


def _begin_leadership(partition: Partition, log_before: Log | None, led_before: int) -> None:
    """Make the elected replica T: what it knows of the others begins anew.

    A broker that led before and goes on leading is the same leader in another epoch: it keeps the others' LEOs, and answers
    who waited for it all along.
    """
    controller, now = partition.controller, partition.now
    replica = partition.replicas[controller.leader]
    goes_on = replica.broker == led_before and replica.leading_epoch is not None
    partition.coverage["leader_goes_on"] += goes_on
    if partition.leadership is not None:
        partition.ledger.lost_by_election(now, replica.broker, log_before or Log(), replica.log, _cause_of_t(partition))
    leadership_before = partition.leadership
    partition.leadership = Leadership(
        broker=replica.broker,
        epoch=controller.epoch,
        start_offset=replica.log.leo,
        known_isr=set(controller.isr),
        progress={
            broker: Progress(caught_up_round=now if broker in controller.isr else None)
            for broker in controller.replicas
            if broker != replica.broker
        },
    )
    if leadership_before is not None and goes_on:
        partition.leadership.owes_from = leadership_before.owes_from
    forgets = partition.rules.forget_followers
    if leadership_before is not None and (goes_on or not forgets):
        for broker, progress in partition.leadership.progress.items():
            known = leadership_before.progress.get(broker, Progress())
            progress.remote_leo, progress.in_line = known.remote_leo, known.in_line and not forgets
    if partition.is_untold(replica.broker):
        partition.coverage["untold_leader"] += 1
    else:
        partition.tell_leadership(replica, partition.leadership)
