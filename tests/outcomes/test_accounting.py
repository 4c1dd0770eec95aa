"""What was acknowledged, committed and lost, against plain sets of records."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from emulator.outcomes import ranges
from emulator.outcomes.accounting import losses_at_elections, partition_accounts, with_losses

from .leadership_histories import History, Records, contiguous
from .state_rows import epochs, log, state_frame, state_row

HISTORIES = 600


def test_random_histories_agree_with_sets_of_records(spark: SparkSession) -> None:
    histories = [History(seed) for seed in range(HISTORIES)]
    state = state_frame(spark, [row for i, history in enumerate(histories) for row in history.rows(i)])
    outcomes = {row["partition_id"]: row.asDict() for row in with_losses(partition_accounts(state)).collect()}
    lost: dict[int, list[Any]] = {i: [] for i in range(HISTORIES)}
    for row in losses_at_elections(state).filter("kind LIKE '%_lost'").collect():
        lost[row["partition_id"]].append(
            tuple(row[n] for n in ("round", "kind", "slot", "leader_epoch", "from_offset", "to_offset", "cause"))
        )
    for i, history in enumerate(histories):
        counted = {name: outcomes[i][name] for name in ("acked", "acked_lost", "committed_lost")}
        assert counted == history.outcomes(), f"history {i}"
        assert sorted(lost[i], key=str) == sorted(history.losses, key=str), f"history {i}"
        assert outcomes[i]["appended"] == sum(range(1, len(history.replicas) + 1))
    assert sum(history.outcomes()["acked_lost"] > 0 for history in histories) > HISTORIES // 10
    assert sum(len(history.losses) for history in histories) > HISTORIES // 2


def test_partitions_of_one_leadership_are_at_risk_only_when_their_log_is_cut(spark: SparkSession) -> None:
    opened = {
        "epoch": 0, "round": -1, "unclean": False, "cause": -1, "leo": 2, "log_start_offset": 0, "acked_before": 2,
        "entries": epochs((0, 0)),
    }  # fmt: skip
    lead = {"leaderships": [opened], "lead_start": 0, "lead_hw": 7, "acked_from": 6, "acked_to": 9}
    rows = [
        state_row(partition_id=0, leo=9, hw=7, log=log((0, 0)), **lead),
        state_row(partition_id=1, leo=4, hw=4, log=log((0, 0)), **lead),
        state_row(partition_id=2, leader=-1),
    ]
    state = state_frame(spark, rows)
    found = with_losses(partition_accounts(state)).orderBy("partition_id").select(
        F.col("histories").isNotNull().alias("at_risk"), "acked", "acked_lost", "committed_lost", "last.leo"
    )  # fmt: skip
    assert [tuple(row) for row in found.collect()] == [
        (False, 7, 0, 0, 9),
        (True, 7, 5, 3, 4),
        (False, 0, 0, 0, None),
    ]
    assert losses_at_elections(state).count() == 0


def test_last_member_elected_unclean(spark: SparkSession) -> None:
    """Replicas with LEO 10, 5 and 2, the last elected: 8 records lost with acks=1, 3 with acks=all and min ISR 2."""

    def rows(partition_id: int, acked_before: int) -> list[dict[str, Any]]:
        first = {
            "epoch": 0, "round": -1, "unclean": False, "cause": -1, "leo": 10, "log_start_offset": 0,
            "acked_before": acked_before, "entries": epochs((0, 0)),
        }  # fmt: skip
        unclean = {
            "epoch": 2, "round": 18, "unclean": True, "cause": 1, "leo": 2, "log_start_offset": 0, "acked_before": 0,
            "entries": epochs((0, 0)),
        }  # fmt: skip
        common: dict[str, Any] = {"partition_id": partition_id, "leader": 2, "leader_epoch": 2, "client_epoch": 2}
        return [
            state_row(slot=0, leo=10, log=log((0, 0)), leaderships=[first], lead_start=0, lead_hw=5, **common),
            state_row(slot=1, leo=5, log=log((0, 0)), **common),
            state_row(slot=2, leo=2, log=log((0, 0), (2, 2)), leaderships=[unclean], lead_start=2, lead_hw=2, **common),
        ]

    state = state_frame(spark, rows(0, 10) + rows(1, 5))
    outcomes = with_losses(partition_accounts(state)).orderBy("partition_id").select("acked_lost", "committed_lost")
    assert [tuple(row) for row in outcomes.collect()] == [(8, 3), (3, 3)]
    columns = ("partition_id", "round", "kind", "slot", "leader_epoch", "from_offset", "to_offset", "cause")
    losses = losses_at_elections(state).filter("kind LIKE '%_lost'").select(*columns).orderBy("partition_id", "kind")
    assert [tuple(row) for row in losses.collect()] == [
        (0, 18, "acked_lost", 2, 0, 2, 10, 1),
        (0, 18, "committed_lost", 2, 0, 2, 5, 1),
        (1, 18, "acked_lost", 2, 0, 2, 5, 1),
        (1, 18, "committed_lost", 2, 0, 2, 5, 1),
    ]


@pytest.mark.parametrize("operation", ["union", "within", "without", "above", "below"])
def test_ranges_are_sets(spark: SparkSession, operation: str) -> None:
    draw = Random(operation)

    def some() -> list[tuple[int, int, int]]:
        starts = [(draw.randrange(3), draw.randrange(12)) for _ in range(draw.randrange(5))]
        return [(epoch, start, start + draw.randint(1, 5)) for epoch, start in starts]

    cases = [(some(), some(), draw.randrange(14)) for _ in range(100)]
    frame = spark.createDataFrame(cases, f"a {ranges.RANGES}, b {ranges.RANGES}, at bigint")
    other = "at" if operation in ("above", "below") else "b"
    arguments = [F.col("a")] if operation == "union" else [F.col("a"), F.col(other)]
    found = ranges.union(getattr(ranges, operation)(*arguments))
    rows = frame.select(found.alias("found"), ranges.record_count(found).alias("records")).collect()
    for (a, b, at), row in zip(cases, rows, strict=True):
        left, right = records_of(a), records_of(b)
        expected = {
            "union": left,
            "within": left & right,
            "without": left - right,
            "above": {r for r in left if r[1] >= at},
            "below": {r for r in left if r[1] < at},
        }[operation]
        assert [tuple(r) for r in row["found"]] == contiguous(expected)
        assert row["records"] == len(expected)


def records_of(listed: list[tuple[int, int, int]]) -> Records:
    return {(epoch, offset) for epoch, low, high in listed for offset in range(low, high)}
