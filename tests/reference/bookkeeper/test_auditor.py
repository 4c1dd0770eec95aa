"""The auditor of the cluster: for how long it waits for whom, and what it doesn't know."""

from __future__ import annotations

from typing import Any

import pytest

from .auditor import lost_by_round
from .given import adds, case, command, crash, fault
from .ledger import statuses_of
from .simulate import simulate

Rows = list[dict[str, Any]]

AUTO = {"autoRecoveryDaemonEnabled": True, "lostBookieRecoveryDelay": 10}
"""20 rounds."""
CLOSED_AT_4 = {"workload": [adds(0, 5)], "commands": [command("close_ledger", 6)]}


def lost_in(faults: Rows, commands: Rows | None = None) -> dict[int, list[int]]:
    """By bookie the rounds from which on it is lost."""
    given = case(faults=faults, commands=commands or [], config=AUTO)
    lost = [frozenset[int](), *lost_by_round(given, statuses_of(given))]
    begun: dict[int, list[int]] = {}
    for round_ in range(given["rounds"]):
        for bookie in sorted(lost[round_ + 1] - lost[round_]):
            begun.setdefault(bookie, []).append(round_)
    return begun


def published(faults: Rows, commands: Rows | None = None) -> list[tuple[int, int]]:
    """(round, bookie) of what is to be replaced of a closed ledger on 1, 2 and 3, in a cluster of seven."""
    given = case(**{**CLOSED_AT_4, "commands": [*CLOSED_AT_4["commands"], *(commands or [])]}, config=AUTO, faults=faults)
    return [(one["round"], one["broker"]) for one in simulate(given).ledger.events if one["kind"] == "underreplicated"]


def test_one_is_waited_for() -> None:
    assert lost_in([crash(1, 20)]) == {1: [40]}
    assert lost_in([crash(1, 20, 41)]) == {1: [40]}
    assert lost_in([crash(1, 20, 40)]) == {}


def test_of_two_neither_is_waited_for() -> None:
    """Nor in the round in which the wait for the first would have ended; the third is alone again."""
    assert lost_in([crash(1, 20), crash(2, 20)]) == {1: [20], 2: [20]}
    assert lost_in([crash(1, 20), crash(2, 40)]) == {1: [40], 2: [40]}
    assert lost_in([crash(1, 20), crash(2, 41)]) == {1: [40]}
    assert lost_in([crash(1, 20), crash(2, 30), crash(3, 32)]) == {1: [30], 2: [30], 3: [52]}


def test_who_comes_back_is_waited_for_no_more() -> None:
    """Not even in the round in which another one goes; who goes again is waited for anew."""
    assert lost_in([crash(1, 20, 30), crash(2, 30)]) == {2: [50]}
    assert lost_in([crash(1, 20, 31), crash(2, 30, 35)]) == {1: [30], 2: [30]}
    assert lost_in([crash(1, 20, 25), crash(1, 27)]) == {1: [47]}
    assert lost_in([crash(1, 2), crash(2, 3, 10), crash(2, 12)]) == {1: [3], 2: [3, 32]}


def test_who_is_away_at_the_start() -> None:
    assert lost_in([crash(1, 0)]) == {1: [20]}
    assert lost_in([crash(1, 0), crash(2, 0)]) == {1: [0], 2: [0]}


def test_a_session_that_ends_later() -> None:
    """A paused bookie is gone 18 rounds later."""
    assert lost_in([fault("broker_pause", 1, 10, 50)]) == {1: [48]}
    assert lost_in([fault("broker_pause", 1, 10, 50), crash(2, 20)]) == {1: [28], 2: [28]}


def test_who_joins_later_is_not_missed_before() -> None:
    """But it is as everybody else from then on."""
    joins = [command("add_bookie", 25, broker=7)]
    assert lost_in([crash(1, 20)], joins) == {1: [40]}
    assert lost_in([crash(1, 20), crash(7, 30)], joins) == {1: [30], 7: [30]}


def test_a_decommissioned_one_makes_no_second() -> None:
    """Nor is it waited for any more."""
    assert lost_in([crash(1, 20)], [command("decommission_bookie", 25, broker=2)]) == {1: [40]}
    assert lost_in([crash(1, 20), crash(3, 30)], [command("decommission_bookie", 25, broker=1)]) == {3: [50]}
    assert published([crash(1, 20)], [command("decommission_bookie", 25, broker=2)]) == [(25, 2), (40, 1)]


def test_bookies_that_the_ledger_has_nothing_to_do_with() -> None:
    """Bookie 7 is in no ensemble, and is the second one all the same."""
    assert published([crash(1, 20)]) == [(40, 1)]
    assert published([crash(1, 20), crash(7, 22)]) == [(22, 1)]
    assert published([crash(7, 20), crash(1, 22)]) == [(22, 1)]


@pytest.mark.parametrize(("faults", "lost"), [
    ([crash(1, 20)], {1: [46]}),  # it hears of it in round 26
    ([crash(1, 20, 25)], {}),
    ([crash(1, 20), crash(2, 24)], {1: [26], 2: [26]}),
    ([crash(1, 10), crash(2, 20)], {1: [26], 2: [26]}),
    ([crash(1, 10, 20), crash(2, 20)], {2: [46]}),
])  # fmt: skip
def test_what_the_store_does_not_tell(faults: Rows, lost: dict[int, list[int]]) -> None:
    assert lost_in([*faults, fault("metadata_store_outage", None, 18, 26)]) == lost


def test_a_wait_that_ends_while_the_store_is_away() -> None:
    """It is over in round 40: bookie 2, of which is told in round 45, is waited for; 1 is replaced if it isn't back by then."""
    outage = fault("metadata_store_outage", None, 35, 45)
    assert lost_in([outage, crash(1, 20), crash(2, 38)]) == {1: [40]}
    assert published([outage, crash(1, 20)]) == [(45, 1)]
    assert published([outage, crash(1, 20, 43)]) == []


def test_who_goes_again_is_waited_for_though_it_was_lost() -> None:
    assert published([crash(1, 10), crash(7, 12, 14), crash(2, 20, 30), crash(2, 32)]) == [(12, 1), (52, 2)]
