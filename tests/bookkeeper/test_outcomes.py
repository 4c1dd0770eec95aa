"""What the common tables say of ledgers, and rounds in which nothing could be written."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.bookkeeper.by_reference import by_scenario, run_of_cases
from tests.engine_helpers import Row, emulate
from tests.reference.bookkeeper.given import adds, case, command, crash, fault
from tests.reference.bookkeeper.simulate import simulate

CASES: dict[str, dict[str, Any]] = {
    "store_away": case(rounds=30, workload=[adds(0, 30)], faults=[crash(1, 5), fault("metadata_store_outage", None, 5, 12)]),
    "no_spare": case((2, 2, 2), bookies=2, rounds=30, workload=[adds(0, 30)], faults=[crash(1, 5)]),
    "spare": case((2, 2, 2), bookies=3, rounds=30, workload=[adds(0, 30)], faults=[crash(1, 5)]),
    "taken_over": case(rounds=30, workload=[adds(0, 20)], commands=[command("recover_ledger", 10)]),
}


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, list[Row]]]:
    """All cases in one run."""
    folder = tmp_path_factory.mktemp("outcomes")
    return by_scenario(emulate(spark, run_of_cases(CASES, folder / "in"), folder / "out"))


@pytest.mark.parametrize("name", CASES)
def test_rounds_without_an_acknowledgement(tables: dict[str, dict[str, list[Row]]], name: str) -> None:
    """What the application hands over waits until it is acknowledged, or refused by a writer that stopped."""
    unwritable, offered, lac, waited = 0, 0, -1, 0
    for row in simulate(CASES[name]).rounds:
        due = sum(w["records_per_round"] for w in CASES[name]["workload"] if w["from_round"] <= row["round"] < w["to_round"])
        offered += due
        unwritable += (due > 0 or bool(row["pending"])) and row["writer_lac"] == lac
        lac = row["writer_lac"]
        if all(answer == "OK" for _, answer in row["adds"]):
            waited += offered - 1 - lac
    (ledger,), (outcome,) = tables[name]["ledgers"], tables[name]["outcomes"]
    assert ledger["unwritable_rounds"] == unwritable > 0
    assert outcome["unwritable_rounds"] == outcome["leaderless_rounds"] == unwritable
    assert outcome["unacked_rounds"] == waited
    assert (waited > 0) == (name != "taken_over")


def test_outcomes(tables: dict[str, dict[str, list[Row]]]) -> None:
    def told(name: str, *columns: str) -> tuple[Any, ...]:
        return tuple(tables[name]["outcomes"][0][column] for column in columns)

    assert told("spare", "appended", "acked", "refused", "elections", "isr", "hw") == (29, 29, 0, 1, [2, 3], 29)
    assert told("no_spare", "acked", "acked_lost", "elections") == (5, 0, 0)
    assert tables["no_spare"]["ledgers"][0]["error"] == "LedgerClosedException"
    assert tables["no_spare"]["ledgers"][0]["state"] == "CLOSED"
    (taken,) = tables["taken_over"]["ledgers"]
    assert (taken["state"], taken["error"]) == ("CLOSED", "LedgerClosedException")
    assert tables["taken_over"]["outcomes"][0]["refused"] == taken["failed_adds"] + taken["refused_closed"] > 0


def test_partitions_and_invariants(tables: dict[str, dict[str, list[Row]]]) -> None:
    assert tables["spare"]["partitions"][0]["replicas"] == [3, 2]
    assert tables["spare"]["violations"] == []
