"""The engine's log helpers against the cases of Kafka's LeaderEpochFileCacheTest (data/leader_epoch_cache.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from emulator.expressions.columns import Step, folded
from emulator.expressions.log import (
    assign_epoch,
    end_offset_for_epoch,
    epoch_cache,
    floor_epoch,
    last_epoch,
    truncate_from_end,
    truncate_from_start,
)

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data" / "leader_epoch_cache.json").read_text())["cases"]
RUNS = (
    "ARRAY<STRUCT<start_offset: BIGINT, epoch: INT, start_bytes: BIGINT, batch_records: INT, batch_bytes: BIGINT,"
    " pattern: ARRAY<STRUCT<records: INT, bytes: BIGINT>>, round: INT>>"
)


def step_of(operation: list[Any]) -> Step:
    """One operation of a case on the columns `log` and `log_start_offset`."""
    kind, *arguments = operation
    if kind == "assign":
        epoch, offset = arguments
        return {"log": assign_epoch("log", str(epoch), f"{offset}L")}
    if kind == "truncFromEnd":
        return {"log": truncate_from_end("log", f"{arguments[0]}L")}
    assert kind == "truncFromStart", kind
    offset = f"{arguments[0]}L"
    return {
        "log": f"IF({offset} > log_start_offset, {truncate_from_start('log', offset)}, log)",
        "log_start_offset": f"greatest(log_start_offset, {offset})",
    }


def answers_of(case: dict[str, Any]) -> str:
    """What a leader answers to every question of the case, as SQL; nothing above its last epoch or without any."""
    answers = [
        f"IF(coalesce({asked} <= {last_epoch('log')}, false), array(CAST({floor_epoch('log', str(asked))} AS BIGINT),"
        f" {end_offset_for_epoch('log', f'{leo}L', str(asked))}), array(-1L, -1L))"
        for asked, leo, *_ in case["expect"].get("endOffsetFor", [])
    ]
    return f"CAST(array({', '.join(answers)}) AS ARRAY<ARRAY<BIGINT>>)"


@pytest.fixture(scope="module")
def results(spark: SparkSession) -> dict[str, Any]:
    """Entries and answers of every case, computed in one job."""
    start = f"SELECT CAST(array() AS {RUNS}) AS log, 0L AS log_bytes, 0L AS log_start_offset"
    columns = []
    for number, case in enumerate(CASES):
        steps = [step_of(operation) for operation in case["ops"]]
        outputs: Step = {"entries": epoch_cache("log", "log_start_offset"), "answers": answers_of(case)}
        columns.append(F.expr(folded([*steps, outputs], list(outputs))).alias(f"case_{number}"))
    return spark.sql(start).select(columns).first().asDict(recursive=True)  # type: ignore[union-attr]


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case["name"] for case in CASES])
def test_leader_epoch_cache(results: dict[str, Any], number: int) -> None:
    expected, seen = CASES[number]["expect"], results[f"case_{number}"]
    entries = [[entry["epoch"], entry["start_offset"]] for entry in seen["entries"]]
    epochs = [epoch for epoch, _ in entries]
    if "entries" in expected:
        assert entries == expected["entries"]
    if "latest" in expected:
        assert (epochs[-1] if epochs else None) == expected["latest"]
    if "previous" in expected:
        assert epochs[-2] == expected["previous"]
    for asked, following in expected.get("nextEpoch", []):
        assert min((epoch for epoch in epochs if epoch > asked), default=None) == following
    assert seen["answers"] == [question[2:] for question in expected.get("endOffsetFor", [])]
