"""Cases of Kafka's fetcher tests (AbstractFetcherThreadTest, the untiered ones of TierStateMachineTest) as one run.

Each case is a partition of its own brokers: leader, follower, and a third replica outside of the ISR that never runs, so
that with min.insync.replicas = 3 the leader's high watermark stays where the case has it. A poll is a round. Logs are
given as (epoch of each record), from the log start on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.engine_helpers import Row, emulate
from tests.reference.scenario_toml import to_tables

ROUNDS = 8


@dataclass(frozen=True)
class Log:
    """A replica at the start: the epoch of every record from the log start on, and its high watermark."""

    epochs: tuple[int, ...] = ()
    hw: int = 0
    log_start: int = 0

    def row(self) -> dict[str, Any]:
        """What [[initial.replicas]] says of it."""
        starts, offset = [], self.log_start
        for epoch, records in groupby(self.epochs):
            starts.append([epoch, offset])
            offset += len(list(records))
        return {"log_start_offset": self.log_start, "leo": offset, "hw": self.hw, "epochs": starts}


@dataclass(frozen=True)
class Case:
    """A case; `after`: what the follower shows at the end of rounds, `truncations`: how often its LEO falls."""

    name: str
    leader: Log
    follower: Log
    after: dict[int, dict[str, int]]
    leader_epoch: int = 0
    truncations: int = 0
    faults: tuple[dict[str, Any], ...] = ()
    new_epochs_at: tuple[int, ...] = field(default=())


END = ROUNDS - 1
CASES = [
    Case("testSimpleFetch", Log((0, 0), hw=2), Log(), {0: {"leo": 2, "hw": 2}}),
    Case(
        "testTruncation",
        Log((1, 3, 5), hw=2),
        Log((0, 2, 4)),
        {END: {"leo": 3, "hw": 2}},
        leader_epoch=5,
        truncations=3,
    ),
    Case(
        "testFollowerFetchOutOfRangeHigh",
        Log(),
        Log((0, 2, 4)),
        {0: {"leo": 0, "log_start_offset": 0, "hw": 0}},
        leader_epoch=4,
        truncations=1,
    ),
    Case(
        "testFollowerFetchOutOfRangeLow",
        Log((4,), hw=2, log_start=2),
        Log((0,)),
        {0: {"leo": 2, "log_start_offset": 2}, 1: {"leo": 3, "log_start_offset": 2, "hw": 2}},
        leader_epoch=4,
    ),
    Case(
        "testDivergingEpochs",
        Log((0, 2, 5), hw=2),
        Log((0, 2, 4)),
        {0: {"leo": 2}, END: {"leo": 3, "hw": 2}},
        leader_epoch=5,
        truncations=1,
    ),
    Case(
        "testTruncateOnFetchDoesNotProcessPartitionData",
        Log((0, 0, 2, 5, 5), hw=4),
        Log((0, 0, 2, 4, 4, 4), hw=1),
        {0: {"leo": 3, "hw": 1}, END: {"leo": 5, "hw": 4}},
        leader_epoch=5,
        truncations=1,
    ),
    Case("empty follower, log start 0", Log((0,) * 200, hw=199), Log(), {END: {"leo": 200, "hw": 199}}),
    Case(
        "empty follower, log start 10",
        Log((0,) * 190, hw=199, log_start=10),
        Log(),
        {0: {"leo": 10, "log_start_offset": 10}, END: {"leo": 200, "log_start_offset": 10, "hw": 199}},
    ),
    # The leader has a new epoch in round 0. Fenced: the follower has not heard of it until the end of round 3.
    Case(
        "testFencedFetch",
        Log((0, 0), hw=2),
        Log(),
        {2: {"leo": 0}, 3: {"leo": 0}, 4: {"leo": 2}},
        faults=({"kind": "stale_metadata", "broker": "follower", "from_round": 0, "to_round": 3},),
        new_epochs_at=(0,),
    ),
    # Unknown: the leader itself has not; the follower, told at the end of round 0, waits.
    Case(
        "testUnknownLeaderEpochWhileFetching",
        Log((0, 0, 0), hw=1),
        Log(),
        {0: {"leo": 0}, 3: {"leo": 0}, 5: {"leo": 3}},
        faults=(
            {"kind": "stale_metadata", "broker": "leader", "from_round": 0, "to_round": 4},
            {"kind": "link_cut", "broker": "leader", "peer": "follower", "from_round": 0, "to_round": 1},
        ),
        new_epochs_at=(0,),
    ),
]


def scenario_text() -> str:
    """All cases as one scenario file."""
    tables: list[tuple[str, dict[str, Any]]] = []
    for number, case in enumerate(CASES):
        topic = f"t{number}"
        ids = {"leader": 3 * number + 1, "follower": 3 * number + 2, "absent": 3 * number + 3}
        place = {"topic": topic, "partition": 0}
        config = {"min.insync.replicas": 3}
        tables.append(("topics", {"name": topic, "assignment": [list(ids.values())], "config": config}))
        known = {"leader": ids["leader"], "leader_epoch": case.leader_epoch, "isr": [ids["leader"], ids["follower"]]}
        tables.append(("initial.partitions", {**place, **known}))
        for name, log in (("leader", case.leader), ("follower", case.follower)):
            tables.append(("initial.replicas", {**place, "broker": ids[name], **log.row()}))
        tables.append(("faults", {"kind": "broker_crash", "broker": ids["absent"], "from_round": 0}))
        for fault in case.faults:
            brokers = {key: ids[fault[key]] for key in ("broker", "peer") if key in fault}
            tables.append(("faults", {**fault, **brokers}))
        for round_ in case.new_epochs_at:
            fewer = {"kind": "reassign", "replicas": [ids["leader"], ids["follower"]]}  # "absent" is dropped
            tables.append(("commands", {"round": round_, **place, **fewer}))
    head = f'name = "fetcher"\nrounds = {ROUNDS}\n[cluster]\nbrokers = {3 * len(CASES)}\nsession_timeout_rounds = 4\n'
    return head + to_tables(tables)


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    """The run of all cases."""
    return emulate(spark, scenario_text(), tmp_path_factory.mktemp("fetcher") / "out")


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.name for case in CASES])
def test_fetcher(tables: dict[str, list[Row]], number: int) -> None:
    case, follower = CASES[number], 3 * number + 2
    rows = {row["round"]: row for row in tables["trace"] if row["broker"] == follower}
    for round_, expected in case.after.items():
        assert {key: rows[round_][key] for key in expected} == expected, f"round {round_}"
    cuts = [row for row in tables["events"] if row["broker"] == follower and row["kind"] == "truncate"]
    assert len(cuts) == case.truncations
    leader = next(row for row in tables["trace"] if row["broker"] == follower - 1 and row["round"] == END)
    assert rows[END]["epochs"] == [entry for entry in leader["epochs"] if entry[1] < rows[END]["leo"]]
