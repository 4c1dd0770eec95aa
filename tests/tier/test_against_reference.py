"""The texts of tiered storage give what the plain-Python reference gives, in many random situations, in one job."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from .by_reference import as_said, ask, expected, row_of
from .random_tiers import situation
from .texts import ANSWERS, INPUTS, STAGES

SITUATIONS = 1500


@pytest.fixture(scope="module")
def compared(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """What the texts and what the reference say, situation by situation."""
    path: Path = tmp_path_factory.mktemp("tiers") / "situations.json"
    said = []
    with path.open("w") as file:
        for seed in range(SITUATIONS):
            given = situation(seed)
            asked = ask(given)
            row = row_of(seed, given, asked)
            says = expected(given, asked)
            said.append(says)
            file.write(json.dumps({**row, "so_far": says["so_far"]}) + "\n")
    schema = ", ".join(f"{name} {kind}" for name, kind in INPUTS.items())
    return list(zip(answers_to(spark.read.schema(schema).json(str(path)).repartition(2)), said, strict=True))


@pytest.mark.parametrize("name", list(ANSWERS))
def test_alike(compared: list[tuple[dict[str, Any], dict[str, Any]]], name: str) -> None:
    for number, (answers, says) in enumerate(compared):
        if name in says:
            assert as_said(name, answers[name]) == says[name], f"situation {number}"


def answers_to(inputs: DataFrame) -> list[dict[str, Any]]:
    frame = inputs
    for stage in STAGES:
        frame = frame.select("*", *(F.expr(text).alias(name) for name, text in stage.items()))
    columns = [F.col("seed"), *(F.expr(text).alias(name) for name, text in ANSWERS.items())]
    answer = F.to_json(F.struct(*columns), {"ignoreNullFields": "false"}).alias("answer")
    return sorted((json.loads(row.answer) for row in frame.select(answer).collect()), key=lambda row: row["seed"])
