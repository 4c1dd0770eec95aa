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
    rounds = simulate(CASES[name]).rounds
    lacs = [-1, *(row["writer_lac"] for row in rounds)]
    stuck = sum(bool(row["pending"]) and lacs[at] == row["writer_lac"] for at, row in enumerate(rounds))
    (ledger,), (outcome,) = tables[name]["ledgers"], tables[name]["outcomes"]
    # The round in which adds fail leaves nothing pending.
    assert ledger["unwritable_rounds"] - stuck in ((0,) if ledger["failed_adds"] == 0 else (0, 1))
    assert outcome["leaderless_rounds"] == ledger["unwritable_rounds"]


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
