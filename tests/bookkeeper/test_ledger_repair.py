"""Chosen cases of repair on the engine: autorecovery, limbo, checks, decommissioning; each as the reference has it."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.bookkeeper.by_reference import by_scenario, differences, of_engine, of_reference, run_of_cases
from tests.engine_helpers import Row, emulate
from tests.reference.bookkeeper.given import adds, case, command, crash, fault
from tests.reference.bookkeeper.rules import MUTANTS, REAL
from tests.reference.bookkeeper.simulate import simulate
from tests.reference.bookkeeper.test_repair import AUTO, CLOSED_AT_4, FORGOTTEN_FENCE, LOST_ENTRY, NO_JOURNAL, WITH_LIMBO

DELAYED = {**AUTO, "lostBookieRecoveryDelay": 5}
DECOMMISSION = [*CLOSED_AT_4["commands"], command("decommission_bookie", 10, broker=2)]
LOST_DISK = {**CLOSED_AT_4, "faults": [fault("disk_loss", 2, 10, 12)]}

CASES: dict[str, dict[str, Any]] = {
    "spare": case(**CLOSED_AT_4, config=DELAYED, faults=[crash(1, 10)]),
    "back_in_time": case(**CLOSED_AT_4, config=DELAYED, faults=[crash(1, 10, 19)]),
    "striped": case((5, 3, 2), **CLOSED_AT_4, config=AUTO, faults=[crash(1, 10)]),
    "no_source": case((2, 1, 1), **CLOSED_AT_4, config=AUTO, faults=[crash(1, 10)]),
    "no_spare": case(bookies=3, **CLOSED_AT_4, config=AUTO, faults=[crash(1, 10)]),
    "open": case(
        workload=[adds(0, 5), adds(40, 41)],
        config={**AUTO, "openLedgerRereplicationGracePeriod": 5000},
        faults=[crash(1, 10)],
    ),
    "older_fragment": case(rounds=40, workload=[adds(0, 20)], config=AUTO, faults=[crash(1, 5)]),
    "store_away": case(**CLOSED_AT_4, config=AUTO, faults=[crash(1, 10), fault("metadata_store_outage", None, 12, 30)]),
    "target_lost": case(**CLOSED_AT_4, config=AUTO, faults=[crash(1, 10), crash(4, 12)]),
    "decommissioned": case(**{**CLOSED_AT_4, "commands": DECOMMISSION}, config=AUTO, faults=[crash(2, 30), crash(1, 40)]),
    "disk_lost": case(**LOST_DISK),
    "checked": case(**{**LOST_DISK, "commands": [*CLOSED_AT_4["commands"], command("check_ledger", 15)]}),
    "lost_entry": {**LOST_ENTRY, "config": NO_JOURNAL},
    "limbo": {**LOST_ENTRY, "config": WITH_LIMBO},
    "limbo-says-no": {**LOST_ENTRY, "config": WITH_LIMBO},
    "forgotten_fence": {**FORGOTTEN_FENCE, "config": NO_JOURNAL},
    "fenced_again": {**FORGOTTEN_FENCE, "config": WITH_LIMBO},
    "damaged-not-fenced": {**FORGOTTEN_FENCE, "config": WITH_LIMBO},
}

Tables = dict[str, dict[str, list[Row]]]


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """All cases in one run."""
    folder = tmp_path_factory.mktemp("repair")
    protocols = {name: f"bookkeeper-mutant-{name}" for name in CASES if name in MUTANTS}
    return by_scenario(emulate(spark, run_of_cases(CASES, folder / "in", protocols), folder / "out"))


@pytest.mark.parametrize("name", CASES)
def test_as_the_reference_has_it(tables: Tables, name: str) -> None:
    result = simulate({**CASES[name], "rules": MUTANTS.get(name, REAL)}, watch=True)
    assert differences(of_reference(result), of_engine(tables[name])) == {}


def told(tables: Tables, name: str, *kinds: str) -> list[tuple[Any, ...]]:
    """The events of these kinds, in order."""
    rows = [e for e in tables[name]["events"] if e["kind"] in kinds]
    return sorted((e["round"], e["kind"], e["broker"], e["from_offset"], e["to_offset"]) for e in rows)


def fragments(tables: Tables, name: str) -> dict[int, list[int]]:
    """The ensembles at the end, by first entry."""
    return {row["first_entry"]: row["ensemble"] for row in tables[name]["fragments"]}


def violated(tables: Tables, name: str) -> set[str]:
    """The invariants that were broken."""
    return {row["invariant"] for row in tables[name]["violations"]}


def test_a_lost_bookie_is_replaced_after_the_delay(tables: Tables) -> None:
    """Ten rounds of delay, five entries in batches of two, and the metadata in the round after."""
    kinds = ("underreplicated", "copied", "rereplicated")
    assert told(tables, "spare", *kinds) == [
        (20, "underreplicated", 1, 0, None), (22, "copied", 4, 0, 5), (23, "rereplicated", 4, 0, 5),
    ]  # fmt: skip
    (ledger,) = tables["spare"]["ledgers"]
    assert (ledger["entries_copied"], ledger["underreplicated"]) == (5, 0)
    assert {row["lac_stored"][-1] for row in tables["spare"]["entries"]} == {4}
    assert told(tables, "back_in_time", *kinds) == []
    assert told(tables, "store_away", "rereplicated") == [(30, "rereplicated", 4, 0, 5)]
    for name in ("no_source", "no_spare"):
        assert tables[name]["ledgers"][0]["underreplicated"] == 1


def test_an_open_ledger_waits_and_is_recovered(tables: Tables) -> None:
    assert told(tables, "open", "underreplicated", "recovery_started") == [
        (10, "underreplicated", 1, 0, None), (21, "recovery_started", None, None, None),
    ]  # fmt: skip
    (ledger,) = tables["open"]["ledgers"]
    assert (ledger["state"], ledger["last_entry"], ledger["error"]) == ("CLOSED", 4, "LedgerFencedException")
    assert all(1 not in ensemble for ensemble in fragments(tables, "open").values())
    assert tables["older_fragment"]["ledgers"][0]["state"] == "OPEN"
    assert fragments(tables, "older_fragment") == {0: [4, 2, 3], 5: [4, 2, 3]}


def test_limbo(tables: Tables) -> None:
    """Who may have lost an entry doesn't say that there is none; the mutant that does loses it."""
    assert [row["bookies"] for row in tables["limbo"]["entries"]] == [[1, 2, 3]]
    assert [kind for _, kind, *_ in told(tables, "limbo", "limbo_entered", "limbo_left")] == ["limbo_entered", "limbo_left"]
    assert violated(tables, "limbo") == violated(tables, "fenced_again") == set()
    for name in ("lost_entry", "limbo-says-no", "forgotten_fence", "damaged-not-fenced"):
        assert "AllAckedEntriesAreReadable" in violated(tables, name), name


def test_everything_moves_before_a_decommissioned_bookie_goes(tables: Tables) -> None:
    (moved,) = [round_ for round_, *_ in told(tables, "decommissioned", "rereplicated") if round_ < 30]
    assert moved == 13
    assert 2 not in fragments(tables, "decommissioned")[0]
    assert violated(tables, "decommissioned") == set()
    assert all(len(set(row["bookies"]) - {1, 2}) == 3 for row in tables["decommissioned"]["entries"])


def test_a_check_brings_back_what_a_disk_lost(tables: Tables) -> None:
    assert {tuple(row["bookies"]) for row in tables["disk_lost"]["entries"]} == {(1, 3)}
    assert {tuple(row["bookies"]) for row in tables["checked"]["entries"]} == {(1, 2, 3)}
    assert told(tables, "checked", "filled") == [
        (15, "filled", 1, None, None), (15, "filled", 2, None, None), (15, "filled", 3, None, None),
    ]  # fmt: skip
