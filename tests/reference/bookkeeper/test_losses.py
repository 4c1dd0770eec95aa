"""What is lost, unreadable and under-replicated, and the faults behind it, each case from docs/bookkeeper_rounds.md."""

from __future__ import annotations

from typing import Any

import pytest

from .given import adds, case, command, crash, fault
from .losses import losses
from .simulate import Result, simulate

NO_JOURNAL = {"journalWriteData": False, "flushInterval": 1_000_000}
BOTH_DISKS = case((2, 2, 2), 2, 30, workload=[adds(0, 10)], faults=[fault("disk_loss", 1, 12, 15), fault("disk_loss", 2, 13, 18)])
"""Ten entries on two bookies, one after the other of which loses its disk."""


def told(result: Result, kind: str) -> list[tuple[Any, ...]]:
    """(round, broker, from, to, records, cause) of each event of a kind."""
    columns = ("round", "broker", "from_offset", "to_offset", "records", "cause")
    return [tuple(event[name] for name in columns) for event in result.ledger.events if event["kind"] == kind]


def test_both_disks_of_a_ledger() -> None:
    result = simulate(BOTH_DISKS)
    assert losses(result.ledger) == (10, 0, 0)
    assert told(result, "entries_lost") == [(12, 1, 0, 10, None, 0), (13, 2, 0, 10, None, 1)]
    assert told(result, "acked_lost") == [(13, 2, 0, 10, None, 1)]


def test_in_one_round_the_last_one_by_id_had_the_last_copies() -> None:
    faults = [fault("disk_loss", 2, 12, 15), fault("disk_loss", 1, 12, 15)]
    assert told(simulate({**BOTH_DISKS, "faults": faults}), "acked_lost") == [(12, 2, 0, 10, None, 0)]


@pytest.mark.parametrize(("from_round", "expected"), [(30, (0, 0, 10)), (20, (0, 0, 10)), (12, (0, 10, 0))])
def test_one_disk_and_the_other_away(from_round: int, expected: tuple[int, int, int]) -> None:
    """A bookie that is paused at the end has the only copies; back again, it is one of two that there should be."""
    faults = [fault("disk_loss", 1, 12, 15), fault("broker_pause", 2, from_round, 29 if expected[1] == 0 else None)]
    result = simulate({**BOTH_DISKS, "faults": faults})
    assert losses(result.ledger) == expected
    assert told(result, "acked_lost") == []


def test_striped_entries() -> None:
    """3/2/2: entries 0, 3, 6 and 9 are on the first two bookies only."""
    result = simulate({**BOTH_DISKS, **case((3, 2, 2), 3, 30), "workload": [adds(0, 10)]})
    assert losses(result.ledger) == (4, 0, 6)
    assert told(result, "acked_lost") == [(13, 2, 0, 10, 4, 1)]


def test_closed_below_what_was_acknowledged() -> None:
    """Two bookies that lost their disks say no; the third, which has all, is paused: what it has is behind the end then."""
    faults = [fault("disk_loss", 1, 12, 15), fault("disk_loss", 2, 13, 18), fault("broker_pause", 3, 20)]
    given = {"faults": faults, "commands": [command("recover_ledger", 30)], "workload": [adds(0, 10)]}
    result = simulate({**case((3, 3, 2), 3, 50), **given})
    assert losses(result.ledger) == (10, 0, 0)
    assert [row[1:] for row in told(result, "acked_lost")] == [(None, 0, 10, None, 1)]


def test_acknowledged_when_nobody_has_it_any_more() -> None:
    """3/2/2: entry 1 has its answers from 2 and 3, which lose their disks; it is acknowledged when 1 gets entry 0 at last."""
    faults = [fault("delay_adds", 1, 0, 6), fault("disk_loss", 2, 1, 2), fault("disk_loss", 3, 2, 3)]
    given = {"config": {"addEntryTimeoutSec": 30}, "workload": [adds(0, 1, 2)], "faults": faults}
    result = simulate({**case((3, 2, 2), 3, 20), **given})
    assert result.adds == [(0, "OK"), (1, "OK")]
    assert told(result, "acked_lost") == [(6, None, 1, 2, None, 2)]
    assert losses(result.ledger) == (1, 0, 1)


def test_what_was_lost_may_come_back() -> None:
    """An add that is held up comes to the third bookie when the two others have lost the entry."""
    faults = [fault("delay_adds", 3, 0, 8, to_offset=1), fault("disk_loss", 1, 4, 5), fault("disk_loss", 2, 5, 6)]
    given = {"workload": [adds(0, 1)], "faults": faults, "config": {"addEntryTimeoutSec": 30}}
    result = simulate({**case((3, 3, 2), 3, 20), **given})
    assert told(result, "acked_lost") == [(5, 2, 0, 1, None, 2)]
    assert losses(result.ledger) == (0, 0, 1)


def test_causes_of_a_change_and_of_a_stop() -> None:
    """An add that is dropped times out: that is behind the ensemble change; a crash with nobody to come in behind the close."""
    dropped = simulate(case((2, 2, 2), 3, 30, workload=[adds(0, 20)], faults=[fault("drop_adds", 2, 3, 4)]))
    assert [row[5] for row in told(dropped, "ensemble_change")] == [0]
    stopped = simulate(case((2, 2, 2), 2, 30, workload=[adds(0, 20)], faults=[fault("isolation", 1, 0, 2), crash(1, 5)]))
    assert [row[5] for row in told(stopped, "ledger_closed")] == [1]


def test_causes_of_a_recovery() -> None:
    faults = [fault("client_crash", None, 8)]
    result = simulate(case(rounds=40, workload=[adds(0, 20)], faults=faults, commands=[command("recover_ledger", 12)]))
    assert {row[5] for kind in ("recovery_started", "fence", "ledger_closed") for row in told(result, kind)} == {0}
    asked = simulate(case(rounds=40, workload=[adds(0, 20)], commands=[command("recover_ledger", 12)]))
    assert {row[5] for kind in ("recovery_started", "fence", "ledger_closed") for row in told(asked, kind)} == {None}


def test_causes_of_repair() -> None:
    """The strongest fault in force on the lost bookie goes with its replacement."""
    config = {"autoRecoveryDaemonEnabled": True}
    faults = [fault("broker_pause", 1, 12), fault("power_loss", 1, 12), fault("broker_crash", 1, 12)]
    given = {"workload": [adds(0, 10)], "faults": faults, "config": config, "commands": [command("close_ledger", 11)]}
    result = simulate(case(rounds=40, **given))
    for kind in ("underreplicated", "copied", "rereplicated"):
        assert [row[5] for row in told(result, kind)] == [1], kind
    decommissioned = [command("close_ledger", 11), command("decommission_bookie", 13, broker=1)]
    result = simulate(case(rounds=40, **given | {"faults": [], "commands": decommissioned}))
    assert [row[5] for row in told(result, "rereplicated")] == [None]
