"""What the faults say of bookies, against the reference round by round; first ensembles; ledgers that go through the same."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.faults.bookies import CRASHES, BookieTimeline, bookie_causes, bookie_timelines, store_outages
from emulator.faults.kinds import FAULT_KINDS, FaultRow
from emulator.scenario import load_run
from tests.reference.bookkeeper import status
from tests.reference.bookkeeper.status import bookie_rounds

ROUNDS = 40
KINDS = (
    *("broker_crash", "rack_loss", "power_loss", "disk_loss", "controlled_shutdown", "broker_pause", "broker_pause"),
    *("isolation", "isolation", "metadata_store_outage", "controller_loss", "slow_disk"),
)
HEAD = 'protocol = "bookkeeper"\nrounds = 10\n'


def random_faults(rng: random.Random) -> list[dict[str, Any]]:
    """Up to eight faults on two bookies in racks a and b."""
    faults = []
    for _ in range(rng.randint(0, 8)):
        kind, start = rng.choice(KINDS), rng.randint(0, ROUNDS - 2)
        fault: dict[str, Any] = {"kind": kind, "from_round": start, "to_round": start + rng.choice((1, 2, 5, 12, 50))}
        if kind == "rack_loss":
            fault["rack"] = rng.choice("ab")
        elif kind not in ("metadata_store_outage", "controller_loss"):
            fault["broker"] = rng.choice((1, 2))
        if kind == "isolation":
            fault["clients"] = rng.random() < 0.5
        faults.append(fault)
    return faults


def cut_racks(rng: random.Random) -> list[dict[str, Any]]:
    """Some isolations of a rack."""
    starts = [rng.randint(0, ROUNDS - 2) for _ in range(rng.choice((0, 0, 1, 2)))]
    return [
        {
            "kind": "rack_isolation",
            "rack": rng.choice("ab"),
            "from_round": start,
            "to_round": start + rng.choice((1, 5, 12)),
            "clients": rng.random() < 0.5,
        }
        for start in starts
    ]


def row_of(number: int, fault: dict[str, Any]) -> FaultRow:
    """The fault as the engine reads it."""
    fields = dict.fromkeys(FaultRow._fields) | fault
    fields |= {"fault_id": number, "rank": FAULT_KINDS[fault["kind"]].rank, "to_round": min(fault["to_round"], ROUNDS)}
    return FaultRow(**(fields | {"clients": bool(fault.get("clients"))}))  # type: ignore[arg-type]


def state_at(timeline: BookieTimeline | None, round_: int) -> tuple[bool, ...]:
    """(dead, paused, silent, registered, crashed, stopped, power_lost, disk_lost) in a round."""
    if timeline is None:
        return (False, False, False, True, False, False, False, False)
    at = max(place for place, begin in enumerate(timeline.rounds) if begin <= round_)
    state = timeline.states[at]
    marked = timeline.rounds[at] == round_
    marks = (state.crashed, state.stopped, state.power_lost, state.disk_lost)
    return (state.dead, state.paused, state.silent, state.registered, *(mark and marked for mark in marks))


@pytest.mark.parametrize("seed", range(300))
def test_bookies_round_by_round(seed: int) -> None:
    rng = random.Random(seed)
    faults, timeout = random_faults(rng), rng.randint(1, 8)
    faults += cut_racks(rng)
    rows = [row_of(number, fault) for number, fault in enumerate(faults)]
    timelines = bookie_timelines(rows, [(1, "a"), (2, "b")], ROUNDS, timeout)
    for bookie, rack in ((1, "a"), (2, "b")):
        for round_, expected in enumerate(bookie_rounds(bookie, rack, faults, ROUNDS, timeout)):
            flags = (expected.dead, expected.paused, expected.silent, expected.registered)
            marks = (expected.crashed, expected.clean_stop, expected.power_lost, expected.disk_lost)
            assert state_at(timelines.get(bookie), round_) == (*flags, *marks), (bookie, round_)
    ups = dict(store_outages(rows, ROUNDS))
    up, outages = True, status.store_outages(faults, ROUNDS)
    for round_ in range(ROUNDS):
        up = ups.get(round_, up)
        assert up == (round_ not in outages)
    assert set(CRASHES) == {"broker_crash", "rack_loss"}


@pytest.mark.parametrize("clients", [False, True])
def test_a_rack_that_is_cut_off_is_an_isolation_of_each_bookie(clients: bool) -> None:
    """Bookies ask each other nothing. A session of four rounds ends in round 9; broker 3 is in another rack."""
    span = {"from_round": 5, "to_round": 12, "clients": clients}
    bookies = [(1, "a"), (2, "a"), (3, "b")]
    other = {"kind": "broker_crash", "broker": 2, "from_round": 8, "to_round": 10}
    racks = [row_of(0, {"kind": "rack_isolation", "rack": "a", **span}), row_of(1, other)]
    each = [row_of(bookie, {"kind": "isolation", "broker": bookie, **span}) for bookie in (1, 2)]
    found = bookie_timelines(racks, bookies, ROUNDS, 4)
    assert found == bookie_timelines([*each, row_of(3, other)], bookies, ROUNDS, 4)
    assert found.keys() == {1, 2}
    told = [state_at(found[1], round_) for round_ in range(4, 13)]
    assert [silent for _, _, silent, *_ in told] == [False, *[clients] * 7, False]
    assert [registered for _, _, _, registered, *_ in told] == [True] * 5 + [False] * 3 + [True]
    assert bookie_causes(racks, bookies, ROUNDS) == {1: [(5, 0)], 2: [(5, 0), (8, 1), (10, 0)]}


def assignment_of(text: str, folder: Path) -> np.ndarray:
    """The first ensembles of a file's first topic."""
    (folder / "s.toml").write_text(HEAD + text)
    return load_run(str(folder / "s.toml")).scenarios[0].topics[0].assignment


def test_first_ensembles_spread_over_registered_bookies(tmp_path: Path) -> None:
    text = '[cluster]\nbrokers = 5\n[[topics]]\nname = "l"\npartitions = 6\n'
    assert assignment_of(text, tmp_path).tolist() == [[1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 1], [5, 1, 2], [1, 2, 3]]
    away = text + '[[faults]]\nkind = "broker_crash"\nbroker = 2\nfrom_round = 0\nto_round = 3\n'
    assert assignment_of(away, tmp_path).tolist()[:2] == [[1, 3, 4], [3, 4, 5]]


def test_first_ensembles_by_racks(tmp_path: Path) -> None:
    text = '[cluster]\nbrokers = 6\nracks = 2\n[[topics]]\nname = "l"\npartitions = 6\nplacement = "rack_aware"\n'
    ensembles = assignment_of(text, tmp_path)
    for ensemble in ensembles.tolist():
        racks = [(bookie - 1) % 2 for bookie in ensemble]
        assert racks[0] != racks[1] and racks[1] != racks[2]
