"""Slow links and disks of bookies, worked out by hand. No Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.bookkeeper.by_reference import run_of_cases
from tests.rounds.bookkeeper.compared import played
from tests.rounds.bookkeeper.test_traced_rounds import rows_of

Case = dict[str, Any]


def case(**fault: Any) -> Case:
    """Four entries of 1000 bytes a round to bookies 1, 2 and 3, of which 3 may be slow from round 0 on."""
    return {
        "rounds": 20,
        "round_ms": 500,
        "brokers": [1, 2, 3, 4],
        "replicas": [1, 2, 3],
        "topic_config": {"ensembleSize": 3, "writeQuorumSize": 3, "ackQuorumSize": 2},
        "workload": [{"from_round": 0, "to_round": 20, "records_per_round": 4, "record_bytes": 1000, "max_in_flight": 20}],
        "faults": [{"broker": 3, "from_round": 0, "to_round": 20, **fault}],
    }


SLOW_DISK = {"kind": "slow_disk", "bytes_per_second": 2000}
"""One entry a round."""


def entries_of_3(case: Case, folder: Path) -> list[int]:
    """How many entries bookie 3 has at the end of each round."""
    _, bookies = rows_of(run_of_cases({"case": case}, folder).scenarios)
    return [row["entries"] for rows in bookies.values() for row in rows if row["broker"] == 3]


SLOW_LINK = {"kind": "slow_link", "bytes_per_second": 2000}


@pytest.mark.parametrize("fault", [SLOW_DISK, SLOW_LINK, {**SLOW_LINK, "direction": "in"}])
def test_a_slow_bookie_is_replaced_when_its_answers_come_too_late(tmp_path: Path, fault: Case) -> None:
    """It takes entry k in round k, which was sent in round k // 4: the first to wait 5 s, ten rounds, is entry 13."""
    slow = case(**fault)
    assert entries_of_3(slow, tmp_path)[:14] == list(range(1, 15))
    told = played(run_of_cases({"case": slow}, tmp_path).scenarios).told.events
    # It fails in round 13 and is to be replaced with the adds of round 14, which the store says in round 15: behind LAC 55.
    assert [(int(e.at_round), int(e.from_entry), int(e.cause)) for e in told] == [(15, 56, 0)]


@pytest.mark.parametrize("fault", [
    {**SLOW_LINK, "direction": "out"},
    {**SLOW_LINK, "peer": 1},
    {"kind": "slow_link", "round_trip_ms": 900.0},
    {"kind": "slow_disk", "bytes_per_second": 8000},
])  # fmt: skip
def test_what_is_not_slow_for_adds(tmp_path: Path, fault: Case) -> None:
    assert entries_of_3(case(**fault), tmp_path) == [4 * (round_ + 1) for round_ in range(20)]


def test_nobody_waits_for_a_slow_disk_where_the_journal_is_not_forced(tmp_path: Path) -> None:
    unforced = case(**SLOW_DISK) | {"config": {"journalSyncData": False}}
    assert entries_of_3(unforced, tmp_path)[-1] == 80


def test_what_a_round_lets_through_is_kept_for_an_entry_that_is_larger(tmp_path: Path) -> None:
    """400 bytes a round: an entry of 1000 goes through in every second or third one: 400, 800, 1200 - 1000, 600, 1000 - 1000."""
    slow = case(kind="slow_disk", bytes_per_second=800)
    assert entries_of_3(slow, tmp_path)[:10] == [0, 0, 1, 1, 2, 2, 2, 3, 3, 4]
