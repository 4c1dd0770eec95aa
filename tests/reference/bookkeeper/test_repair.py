"""Lost entries and forgotten fences (BP-46), autorecovery, decommissioning, the check of a ledger."""

from __future__ import annotations

from typing import Any

import pytest

from .given import adds, case, command, crash, end_of, fault, fragments
from .repair import holders
from .rules import MUTANTS, OF_DAMAGE
from .schedules import broken, lossy_schedule
from .simulate import Result, simulate

NO_JOURNAL = {"journalWriteData": False, "flushInterval": 1_000_000}
WITH_LIMBO = {**NO_JOURNAL, "dataIntegrityCheckingEnabled": True}
LOSSY_SCHEDULES = 300


def violated(result: Result) -> set[str]:
    return {violation.invariant for violation in result.violations}


FORGOTTEN_FENCE = case(
    workload=[adds(0, 1), adds(25, 26)],
    faults=[fault("broker_pause", 3, 4, 20), crash(2, 21, 22), fault("drop_adds", 1, 23)],
    commands=[command("recover_ledger", 4)],
)
"""BP-46, first scenario: bookies 1 and 2 are fenced and the ledger is closed; 2 forgets it; 2 and 3 take another entry."""


def test_forgotten_fence() -> None:
    result = simulate({**FORGOTTEN_FENCE, "config": NO_JOURNAL}, watch=True)
    assert end_of(result.ledger) == ("CLOSED", 0)
    assert result.adds[1] == (1, "OK")
    assert "AllAckedEntriesAreReadable" in violated(result)


@pytest.mark.parametrize("config", [WITH_LIMBO, {"journalWriteData": True}])
def test_fence_that_is_not_forgotten(config: dict[str, Any]) -> None:
    result = simulate({**FORGOTTEN_FENCE, "config": config}, watch=True)
    assert result.adds[1] == (1, "LedgerFencedException")
    assert violated(result) == set()


LOST_ENTRY = case(
    workload=[adds(1, 2)],
    faults=[fault("drop_adds", 2, 0), crash(1, 3, 4), fault("client_crash", None, 3)],
    commands=[command("recover_ledger", 5)],
)
"""BP-46, second scenario: entry 0 is acknowledged by bookies 1 and 3; 1 loses it, 1 and 2 say that there is none."""


def test_lost_entry() -> None:
    result = simulate({**LOST_ENTRY, "config": NO_JOURNAL}, watch=True)
    assert end_of(result.ledger) == ("CLOSED", -1)
    assert "AllAckedEntriesAreReadable" in violated(result)


def test_lost_entry_with_limbo() -> None:
    result = simulate({**LOST_ENTRY, "config": WITH_LIMBO}, watch=True)
    assert end_of(result.ledger) == ("CLOSED", 0)
    assert violated(result) == set()
    assert holders(result.ledger, 0) == [1, 2, 3]
    assert not result.ledger.bookies[1].limbo


@pytest.mark.parametrize("mutant", OF_DAMAGE)
def test_mutants_lose_what_limbo_saves(mutant: str) -> None:
    saved_by = {"limbo-says-no": LOST_ENTRY, "damaged-not-fenced": FORGOTTEN_FENCE}[mutant]
    result = simulate({**saved_by, "config": WITH_LIMBO, "rules": MUTANTS[mutant]}, watch=True)
    assert "AllAckedEntriesAreReadable" in violated(result)


def test_random_losses_are_lost_without_limbo() -> None:
    assert broken(MUTANTS["limbo-says-no"], range(80, 120))


@pytest.mark.parametrize(("config", "kind", "kept"), [
    ({}, "broker_crash", True), ({}, "power_loss", True), ({}, "disk_loss", False),
    ({"journalSyncData": False}, "broker_crash", True), ({"journalSyncData": False}, "power_loss", False),
    (NO_JOURNAL, "broker_crash", False), (NO_JOURNAL, "power_loss", False), (NO_JOURNAL, "controlled_shutdown", True),
])  # fmt: skip
def test_what_survives(config: dict[str, Any], kind: str, kept: bool) -> None:
    given = case(workload=[adds(1, 4)], config={"flushInterval": 1_000_000, **config}, faults=[fault(kind, 1, 6, 8)])
    assert bool(simulate(given).ledger.bookies[1].entries) is kept


@pytest.mark.parametrize("integrity_check", [False, True])
def test_random_losses_of_one_bookie(integrity_check: bool) -> None:
    broken = [
        seed for seed in range(LOSSY_SCHEDULES)
        if simulate(lossy_schedule(seed, integrity_check), watch=True, trace=False).violations
    ]  # fmt: skip
    assert bool(broken) is not integrity_check


AUTO = {"autoRecoveryDaemonEnabled": True, "rereplicationEntryBatchSize": 2}
CLOSED_AT_4 = {"workload": [adds(0, 5)], "commands": [command("close_ledger", 6)]}


def test_autorecovery_of_a_closed_ledger() -> None:
    """Bookie 1 has all 5 entries: three rounds of two, then the ensemble changes."""
    result = simulate(case(**CLOSED_AT_4, config=AUTO, faults=[crash(1, 10)]))
    assert fragments(result.ledger) == {0: [4, 2, 3]}
    changed = [row["round"] for row in result.rounds if row["fragments"][0] == [4, 2, 3]]
    assert changed[0] == 13
    assert result.ledger.repair.copied_entries == 5
    assert all(holders(result.ledger, entry) == [2, 3, 4] for entry in range(5))


def test_autorecovery_copies_what_the_lost_bookie_had() -> None:
    result = simulate(case((5, 3, 2), **CLOSED_AT_4, config=AUTO, faults=[crash(1, 10)]))
    assert fragments(result.ledger) == {0: [6, 2, 3, 4, 5]}
    assert sorted(result.ledger.bookies[6].entries) == [0, 3, 4]


def test_bookie_back_in_time_is_not_replaced() -> None:
    config = {**AUTO, "lostBookieRecoveryDelay": 5}
    given = case(**CLOSED_AT_4, config=config)
    assert fragments(simulate({**given, "faults": [crash(1, 10, 19)]}).ledger) == {0: [1, 2, 3]}
    assert fragments(simulate({**given, "faults": [crash(1, 10, 40)]}).ledger) == {0: [4, 2, 3]}


def test_open_ledger_is_recovered_after_a_grace_period() -> None:
    """Its writer is idle, and learns of it with its next add."""
    config = {**AUTO, "openLedgerRereplicationGracePeriod": 5000}
    given = case(workload=[adds(0, 5), adds(40, 41)], config=config, faults=[crash(1, 10)])
    result = simulate(given, watch=True)
    assert [result.rounds[round_]["state"] for round_ in (19, 21)] == ["OPEN", "IN_RECOVERY"]
    assert end_of(result.ledger) == ("CLOSED", 4)
    assert all(1 not in ensemble for ensemble in fragments(result.ledger).values())
    assert result.adds[5:] == [(5, "LedgerFencedException")]
    assert violated(result) == set()


def test_older_fragments_of_an_open_ledger_are_copied_at_once() -> None:
    given = case(rounds=40, workload=[adds(0, 20)], config=AUTO, faults=[crash(1, 5)])
    result = simulate(given, watch=True)
    assert fragments(result.ledger) == {0: [4, 2, 3], 5: [4, 2, 3]}
    assert result.ledger.metadata.state == "OPEN"
    assert violated(result) == set()


def test_decommissioned_bookie_leaves_all_ensembles() -> None:
    given = case(
        **{**CLOSED_AT_4, "commands": [*CLOSED_AT_4["commands"], command("decommission_bookie", 10, broker=2)]}, config=AUTO
    )
    assert fragments(simulate(given).ledger) == {0: [1, 4, 3]}


def test_check_of_a_ledger_brings_back_what_a_disk_lost() -> None:
    given = case(**CLOSED_AT_4, faults=[fault("disk_loss", 2, 10, 12)])
    assert holders(simulate(given).ledger, 3) == [1, 3]
    given["commands"] = [*given["commands"], command("check_ledger", 15)]
    assert holders(simulate(given).ledger, 3) == [1, 2, 3]


def test_no_copy_without_a_source() -> None:
    given = case((2, 1, 1), **CLOSED_AT_4, config=AUTO, faults=[crash(1, 10)])
    assert fragments(simulate(given).ledger) == {0: [1, 2]}
