"""What a rack that is cut off says of its brokers, by hand: of the definitions, and of the sweep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from emulator.faults import broker_timelines

from .naive_timeline import naive_timelines
from .test_timeline import fault, fault_table, rounds_of
from .test_timeline import told as told_of

BROKERS = [(1, "a"), (2, "a"), (3, "b"), (4, "b"), (5, None)]
ROUNDS, TIMEOUT = 12, 3

Said = dict[int, list[dict[str, Any]]]


def by_definition(*rows: dict[str, Any]) -> Said:
    return naive_timelines(fault_table(*rows), BROKERS, ROUNDS, TIMEOUT)


def by_sweep(*rows: dict[str, Any]) -> Said:
    return told_of(broker_timelines(fault_table(*rows), BROKERS, ROUNDS, TIMEOUT))


def cut(from_round: int, to_round: int, rack: str = "a", **more: Any) -> dict[str, Any]:
    return fault("rack_isolation", from_round, to_round, None, rack=rack, **more)


@pytest.fixture(params=[by_definition, by_sweep], ids=["definitions", "sweep"])
def told(request: pytest.FixtureRequest) -> Callable[..., Said]:
    return request.param  # type: ignore[no-any-return]


def test_its_brokers_are_isolated(told: Callable[..., Said]) -> None:
    said = told(cut(2, 8), cut(3, 4, clients=True))
    for broker in (1, 2):
        assert rounds_of(said[broker], "isolated") == list(range(2, 8))
        assert rounds_of(said[broker], "clients_cut") == [3]
        assert rounds_of(said[broker], "fence_now") == [5]
        assert rounds_of(said[broker], "waking") == rounds_of(said[broker], "unfence_now") == [8]
        assert [of_round["cause"] for of_round in said[broker]] == [-1, -1, *[0] * 10]
    for broker in (3, 4, 5):
        assert rounds_of(said[broker], "isolated") == rounds_of(said[broker], "fenced") == []
        assert {of_round["cause"] for of_round in said[broker]} == {-1}


def test_its_brokers_reach_each_other(told: Callable[..., Said]) -> None:
    """Rack a is cut in rounds 2 to 7, b in 4 to 8; 2 is isolated by itself in 5, and 1 sends it nothing in 6."""
    rows = [fault("isolation", 5, 6, 2), fault("link_cut", 6, 7, 1, peer=2, direction="out")]
    said = told(cut(2, 8), cut(4, 9, "b"), *rows)
    drops = {broker: [of_round["drop_to"] for of_round in of_broker] for broker, of_broker in said.items()}
    assert drops[1][1:10] == [(), *[(3, 4, 5)] * 3, (2, 3, 4, 5), (2, 3, 4, 5), (3, 4, 5), (3, 4), ()]
    assert drops[2][1:10] == [(), *[(3, 4, 5)] * 3, (1, 3, 4, 5), (3, 4, 5), (3, 4, 5), (3, 4), ()]
    assert drops[3][1:10] == [(), (1, 2), (1, 2), *[(1, 2, 5)] * 5, ()]
    assert drops[5][1:10] == [(), (1, 2), (1, 2), *[(1, 2, 3, 4)] * 4, (3, 4), ()]


def test_it_is_as_strong_as_an_isolation(told: Callable[..., Said]) -> None:
    """The first row of the two, and stronger than a cut link."""
    said = told(fault("isolation", 3, 4, 1), cut(2, 5), fault("link_cut", 1, 3, 1, peer=2))
    assert [of_round["cause"] for of_round in said[1]][:6] == [-1, 2, 1, 0, 1, 1]


def test_a_broker_that_is_dead_is_a_rack_mate_still(told: Callable[..., Said]) -> None:
    """1 is offline from round 4 on, and not isolated: 2, which is, would hear it, and 3 would."""
    said = told(cut(2, 8), fault("broker_crash", 4, 6, 1))
    assert rounds_of(said[1], "isolated") == [2, 3]
    assert [of_round["drop_to"] for of_round in said[1]][3:9] == [(3, 4, 5), *[()] * 5]
    assert [of_round["drop_to"] for of_round in said[3]][3:9] == [(1, 2), *[(2,)] * 4, ()]
