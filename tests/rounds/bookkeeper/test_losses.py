"""Compiled rounds against the reference where entries are lost: the cases of its own tests, and random schedules. No Spark."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from emulator.rounds.bookkeeper.constants import ALL_BETWEEN, EVENT_KINDS, NOBODY
from emulator.rounds.records import words_of
from tests.bookkeeper.by_reference import first_few, of_reference, run_of_cases
from tests.reference.bookkeeper.given import adds, case, command, crash, fault
from tests.reference.bookkeeper.schedules import loss_schedule
from tests.reference.bookkeeper.simulate import simulate
from tests.reference.bookkeeper.test_losses import BOTH_DISKS, NO_JOURNAL
from tests.rounds.bookkeeper.compared import Played, differences, of_rounds, played

DISKS = [fault("disk_loss", 1, 12, 15), fault("disk_loss", 2, 13, 18)]
BEHIND_THE_END, NOBODY_FOR_THE_SECOND = 530, 1564
"""Schedules in which a ledger is closed below what was acknowledged and some bookie still has; in which a recovery replaces one
bookie, has nobody for the next, and what it sent to the first arrives all the same."""
HELD = {"workload": [adds(0, 1, 2)], "config": {"addEntryTimeoutSec": 30}}
CASES: dict[str, Any] = {
    "both": BOTH_DISKS,
    "at_once": {**BOTH_DISKS, "faults": [fault("disk_loss", 2, 12, 15), fault("disk_loss", 1, 12, 15)]},
    "away": {**BOTH_DISKS, "faults": [DISKS[0], fault("broker_pause", 2, 20)]},
    "striped": {**BOTH_DISKS, **case((3, 2, 2), 3, 30)},
    "wide": {**case((5, 3, 2), 7, 60), "workload": [adds(0, 40, 3)], "faults": [*DISKS, fault("disk_loss", 4, 30, 33)]},
    "unflushed": {
        **case((3, 3, 2), 3, 60),
        "workload": [adds(0, 40)],
        "config": NO_JOURNAL | {"flushInterval": 4000},
        "faults": [crash(1, 20, 21), crash(2, 21, 22), crash(3, 22, 23)],
    },
    "behind": {
        **case((3, 3, 2), 3, 50),
        "workload": [adds(0, 10)],
        "faults": [*DISKS, fault("broker_pause", 3, 20)],
        "commands": [command("recover_ledger", 30)],
    },
    "acknowledged": {
        **case((3, 2, 2), 3, 20),
        **HELD,
        "faults": [fault("delay_adds", 1, 0, 6), fault("disk_loss", 2, 1, 2), fault("disk_loss", 3, 2, 3)],
    },
    "comes_back": {
        **case((3, 3, 2), 3, 20),
        **HELD,
        "faults": [fault("delay_adds", 3, 0, 8), fault("disk_loss", 1, 4, 5), fault("disk_loss", 2, 5, 6)],
    },
}


def assert_equal(cases: Mapping[str, Any], folder: Path, leaps: bool = False) -> Played:
    """The rounds end every case as the reference does, with the same events."""
    game = played(run_of_cases(cases, folder).scenarios, leaps)
    differing = {}
    for place, (name, one) in enumerate(cases.items()):
        expected = of_reference(simulate(one, watch=True, trace=False))
        found = differences(expected, of_rounds(game, place))
        if found:
            differing[name] = found
    assert not differing, f"{len(differing)} of {len(cases)} differ: {first_few(differing.items())}"
    return game


def test_cases_equal_reference(tmp_path: Path) -> None:
    """With leaps, too."""
    plain = assert_equal(CASES, tmp_path / "plain")
    leapt = assert_equal(CASES, tmp_path / "leapt", leaps=True)
    assert (words_of(plain.told.events) == words_of(leapt.told.events)).all()


def test_schedules_equal_reference(tmp_path: Path) -> None:
    """Entries that are lost with a bookie, striped ones, and behind the end."""
    schedules = {f"s{seed}": loss_schedule(seed) for seed in (*range(200), BEHIND_THE_END, NOBODY_FOR_THE_SECOND)}
    events = assert_equal(schedules, tmp_path).told.events
    lost = events[events.kind == EVENT_KINDS.index("acked_lost")]
    assert len(lost) > 40
    assert (lost.broker == NOBODY).any()
    assert (lost.entries != ALL_BETWEEN).any()
