"""When clients reached no leader: stretches from what is told of elections and faults, and the slices of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emulator.outcomes.ask import Asker
from tests.asked import no_spark

WriteTables = Callable[[dict[str, list[dict[str, Any]]], Path], None]

OF_SCENARIO = {"scenario_id": 0}
FAULTS: list[dict[str, Any]] = [
    {"kind": "broker_crash", "broker": 1, "from_round": 20, "to_round": 60},
    {"kind": "isolation", "broker": 2, "clients": False, "from_round": 20, "to_round": 60},
    {"kind": "isolation", "broker": 3, "clients": True, "from_round": 100, "to_round": 130},
    {"kind": "broker_pause", "broker": 4, "from_round": 100, "to_round": 104},
    {"kind": "broker_crash", "broker": 5, "from_round": 100, "to_round": 104},
    {"kind": "rack_loss", "rack": "a", "from_round": 230, "to_round": 260},
]
EVENTS: dict[int, list[tuple[int, str, int, int | None]]] = {
    0: [(38, "leader_lost", 1, 0), (60, "election", 1, 0)],  # noticed when its session ends
    1: [(38, "leader_lost", 2, 1), (60, "election", 2, 1)],
    2: [(118, "election", 1, 2)],
    3: [],  # back before anybody noticed
    4: [(118, "election", 5, 4)],  # back at once, and fenced as long as its session lasts
    5: [],  # nobody notices before the end
    6: [(5, "election", 2, None)],  # nobody led before
    7: [(40, "election", 4, None)],  # broker 1 led, which crashes in round 20, and so loses no leader of round 100
}
FIRST_LEADERS = {6: -1, 7: 1}
"""Of the others each is led by the broker of its own number."""
EXPECTED: dict[int, list[tuple[Any, ...]]] = {
    0: [(20, 60, 0)],
    2: [(100, 118, 2)],
    3: [(100, 104, 3)],
    4: [(100, 118, 4)],
    5: [(230, 240, 5)],
    6: [(0, 5, None)],
    7: [(20, 40, 0), (100, 104, 3)],
}


@pytest.fixture
def asker(tmp_path: Path, write_tables: WriteTables) -> Asker:
    """The partitions of EVENTS; broker 6 stands in rack a."""
    partitions = [{**OF_SCENARIO, "topic": "t", "partition": at} for at in EVENTS]
    tables: dict[str, list[dict[str, Any]]] = {
        "scenarios": [{**OF_SCENARIO, "name": "base", "rounds": 240, "round_ms": 500}],
        "brokers": [{**OF_SCENARIO, "broker": broker, "rack": "a" if broker == 6 else None} for broker in range(1, 7)],
        "faults": [{**OF_SCENARIO, "fault_id": number, **fault} for number, fault in enumerate(FAULTS)],
        "partitions": [{**one, "first_leader": FIRST_LEADERS.get(one["partition"], one["partition"] + 1)} for one in partitions],
        "outcomes": partitions,
        "events": [
            {**OF_SCENARIO, "topic": "t", "partition": at, "round": round_, "kind": kind, "broker": broker, "cause": cause}
            for at, rows in EVENTS.items()
            for round_, kind, broker, cause in rows
        ],
    }
    write_tables(tables, tmp_path / "run")
    return Asker(str(tmp_path / "run"), "duckdb", no_spark)


def test_stretches(asker: Asker) -> None:
    _, rows = asker.ask("SELECT partition, from_round, to_round, cause FROM leaderless_stretches ORDER BY ALL")
    found: dict[int, list[tuple[Any, ...]]] = {}
    for partition, *stretch in rows:
        found.setdefault(partition, []).append(tuple(stretch))
    assert found == EXPECTED


def test_slices_of_an_outage(asker: Asker) -> None:
    """Two minutes in slices of 5 s: at most 60 of them; rounds 20 to 60 are seconds 10 to 30."""
    columns, answer = asker.ask("@when_was_each_topic_unavailable")
    rows = [dict(zip(columns, row, strict=True)) for row in answer]
    slices = [(row["from_seconds"], row["to_seconds"], row["partitions"], row["leaderless_seconds"]) for row in rows]
    early = [(10.0, 15.0, 2, 10.0), (15.0, 20.0, 2, 10.0), (20.0, 25.0, 1, 5.0), (25.0, 30.0, 1, 5.0)]
    assert slices == [(0.0, 5.0, 1, 2.5), *early, (50.0, 55.0, 4, 14.0), (55.0, 60.0, 2, 8.0), (115.0, 120.0, 1, 5.0)]
    assert rows[0]["of_partitions"] == 8 and rows[0]["share_available"] == pytest.approx(1 - 2.5 / 40, abs=1e-4)
