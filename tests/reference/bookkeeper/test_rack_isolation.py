"""To bookies a rack that is cut off is an isolation of each: they ask each other nothing. Bookies 1 and 2 are in rack a."""

from __future__ import annotations

from typing import Any

import pytest

from .causes import causes_of_bookie, numbered
from .given import adds, case, fault
from .simulate import Result, simulate
from .status import bookie_rounds

RACKS = {1: "a", 2: "a", 3: "b", 4: "b"}


def cut(from_round: int, to_round: int, **more: Any) -> dict[str, Any]:
    return fault("rack_isolation", None, from_round, to_round, rack="a", **more)


@pytest.mark.parametrize("clients", [False, True])
def test_what_it_says_of_a_bookie(clients: bool) -> None:
    """Sessions last three rounds. Without `clients` all hear it on."""
    history = bookie_rounds(1, "a", [cut(5, 20, clients=clients)], 25, 3)
    assert [now for now, said in enumerate(history) if not said.heard] == (list(range(5, 20)) if clients else [])
    assert [now for now, said in enumerate(history) if not said.registered] == list(range(8, 20))
    assert all(said.running for said in history)
    assert all(said.heard and said.registered for said in bookie_rounds(3, "b", [cut(5, 20, clients=clients)], 25, 3))


def played(*faults: dict[str, Any]) -> Result:
    """A ledger on bookies 1 and 2, with an entry a round from 0 to 19; an add times out after ten rounds."""
    given = {"racks": RACKS, "session_timeout_rounds": 3, "workload": [adds(0, 20)], "faults": list(faults)}
    return simulate(case((2, 2, 2), 4, 40, **given))


def test_a_ledger_whose_bookies_are_all_in_the_rack() -> None:
    """Entry 5 is sent in round 5 and acknowledged by nobody. 3 and 4 take its place, and those of all after it."""
    result = played(cut(5, 40, clients=True))
    changes = [one for one in result.ledger.events if one["kind"] == "ensemble_change"]
    assert {(one["from_offset"], one["cause"]) for one in changes} == {(5, 0)}
    assert result.rounds[-1]["fragments"] == {0: [1, 2], 5: [3, 4]}
    assert [number for number, answer in result.adds if answer == "OK"] == list(range(20))
    alone = [fault("isolation", bookie, 5, 40, clients=True) for bookie in (1, 2)]
    one_by_one = played(*alone)
    assert (one_by_one.rounds, one_by_one.adds) == (result.rounds, result.adds)


def test_whom_clients_reach_takes_entries() -> None:
    assert played(cut(5, 40)).rounds[-1]["fragments"] == {0: [1, 2]}


def test_causes() -> None:
    """As strong as an isolation: of equals the first row. A link has no part in it."""
    faults = [fault("link_cut", 1, 0, 9, peer=3), fault("isolation", 1, 4, 8), cut(2, 6), fault("broker_pause", 1, 3, 4)]
    first, second = (causes_of_bookie(bookie, "a", numbered(faults), 10) for bookie in (1, 2))
    assert first == [None, None, 2, 3, 1, 1, 1, 1, 1, 1]
    assert second == [None, None, *[2] * 8]
