"""The notebook docs/tour.ipynb: its cells run, on another run than the one whose answers stand in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests import output_tables
from tests.notebooks import played

ROOT = Path(__file__).parents[1]
SMALL_RUN = ROOT / "tests" / "outcomes" / "data" / "small_run.json"


def test_cells_run(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output_tables.write_tables(json.loads(SMALL_RUN.read_text("utf-8")), tmp_path / "run")
    monkeypatch.setenv("EMULATOR_RESULT", str(tmp_path / "run"))
    monkeypatch.chdir(ROOT / "docs")
    notebook = json.loads((ROOT / "docs" / "tour.ipynb").read_text("utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    shown = played(notebook["cells"])
    written = [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(shown)
    kinds = [[each["output_type"] for each in outputs] for outputs in shown]
    assert kinds == [[each["output_type"] for each in outputs] for outputs in written], "written by python -m tests.notebooks"
    text = json.dumps(shown[1])
    assert "orders" in text
    assert spark.range(1).count() == 1  # not ours to stop
