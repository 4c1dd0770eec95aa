"""Eligible leader replicas of the controller alone: Kafka's PartitionChangeBuilderTest."""

from __future__ import annotations

from typing import Any

import pytest

from .controller import fence_and_elect
from .elr import change_isr, remove_unclean_restarts
from .elr_cases import TIMEOUT, elr_case, stops
from .partition import NO_LEADER, Partition
from .variant_cases import fault

STRATEGIES = ("none", "balanced", "aggressive")


def built(
    isr: set[int], elr: set[int], last_known: set[int], strategy: str, leader: int = 1, faults: list[dict[str, Any]] | None = None
) -> Partition:
    case = elr_case(
        replicas=[1, 2, 3, 4],
        topic_config={"min.insync.replicas": 3, "unclean.recovery.strategy": strategy},
        initial={"leader": leader, "leader_epoch": 100, "isr": sorted(isr), "elr": sorted(elr)},
        faults=faults or [],
    )
    partition = Partition(case)
    partition.controller.last_known_elr = last_known
    return partition


def controller_of(partition: Partition) -> tuple[int, int, set[int], set[int], set[int]]:
    controller = partition.controller
    return controller.leader, controller.epoch, controller.isr, controller.elr, controller.last_known_elr


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_isr_shrinks_below_the_minimum(strategy: str) -> None:
    partition = built({1, 2, 3, 4}, set(), set(), strategy)
    change_isr(partition, {1, 2})
    assert controller_of(partition) == (1, 100, {1, 2}, {3, 4}, set())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_isr_expands_to_the_minimum(strategy: str) -> None:
    partition = built({1, 2}, {3}, {4}, strategy)
    change_isr(partition, {1, 2, 3})
    assert controller_of(partition) == (1, 100, {1, 2, 3}, set(), set())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_isr_adds_a_new_member_that_is_not_in_elr(strategy: str) -> None:
    partition = built({1}, {3}, {2}, strategy)
    change_isr(partition, {1, 4})
    assert controller_of(partition) == (1, 100, {1, 4}, {3}, {2})


@pytest.mark.parametrize(("strategy", "last_known"), [("none", set()), ("balanced", {3}), ("aggressive", {3})])
def test_unclean_shutdowns_leave_elr(strategy: str, last_known: set[int]) -> None:
    """The table's LK 3 is what KIP-966 says; Kafka 4.1 has the last leader there only."""
    partition = built({1}, {2, 3}, set(), strategy, faults=[fault("broker_crash", 3, 0, 1), *stops(2)])
    partition.now = TIMEOUT
    assert partition.status(3).unclean_restart
    remove_unclean_restarts(partition)
    assert controller_of(partition) == (1, 100, {1}, {2}, last_known)


@pytest.mark.parametrize(("strategy", "last_known"), [("none", set()), ("balanced", {2})])
def test_a_member_of_elr_can_be_elected(strategy: str, last_known: set[int]) -> None:
    partition = built({1}, {3}, set(last_known), strategy, faults=stops(1))
    fence_and_elect(partition)
    assert controller_of(partition) == (3, 101, {3}, {1}, last_known)
    assert partition.ledger.counts["unclean_elections"] == 0


@pytest.mark.parametrize(("strategy", "last_known"), [("none", {1}), ("balanced", set())])
def test_isr_can_shrink_to_zero(strategy: str, last_known: set[int]) -> None:
    partition = built({1, 2, 3, 4}, set(), set(), strategy, faults=stops(1, 2, 3, 4))
    change_isr(partition, set())
    fence_and_elect(partition)
    assert controller_of(partition) == (NO_LEADER, 101, set(), {1, 2, 3, 4}, last_known)


def test_members_that_are_fenced_together_leave_one_by_one() -> None:
    """Unlike one change to nobody: 2 leaves an ISR that is still big enough, and the leader comes last."""
    partition = built({1, 2, 3, 4}, set(), set(), "none", faults=stops(1, 2, 3, 4))
    fence_and_elect(partition)
    assert controller_of(partition) == (NO_LEADER, 101, set(), {1, 3, 4}, {1})


def test_the_last_known_leader_is_elected() -> None:
    partition = built(set(), set(), {1}, "none", leader=NO_LEADER)
    fence_and_elect(partition)
    assert controller_of(partition) == (1, 101, {1}, set(), set())
    assert partition.ledger.counts["unclean_elections"] == 1


def test_the_last_known_leader_is_not_elected_past_elr() -> None:
    partition = built(set(), {3}, {1}, "none", leader=NO_LEADER, faults=stops(3))
    fence_and_elect(partition)
    assert controller_of(partition) == (NO_LEADER, 100, set(), {3}, {1})


# KIP-966's examples
