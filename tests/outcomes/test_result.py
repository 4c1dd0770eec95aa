"""`emulator.read`: the tables of a run as relations, pandas, Arrow and DataFrames."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import emulator
from emulator.errors import InputError
from emulator.outcomes import duckdb_tables
from emulator.outcomes.view_texts import ALL_COLUMNS, HELPER_VIEWS

ROOT = Path(__file__).parents[2]
DATA = Path(__file__).parent / "data" / "small_run.json"


def test_the_example_of_the_documentation(small_run: Path) -> None:
    text = (ROOT / "docs" / "tables.md").read_text("utf-8").split("### In Python\n")[1]
    example = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert example is not None
    shown: dict[str, Any] = {}
    exec(example[1].replace('"build/demo/result"', repr(str(small_run))), shown)
    worst = shown["worst"][["scenario_id", "topic", "partition", "acked_lost"]]
    assert worst.values.tolist()[0] == [1, "orders", 0, 50]
    assert sorted(worst.values.tolist()[1:]) == [[0, "logs", 0, 3], [1, "logs", 0, 3]]
    assert shown["by_topic"].to_dict("list") == {"topic": ["logs", "orders"], "acked": [1806, 3400]}
    assert shown["events"].num_rows == len(json.loads(DATA.read_text("utf-8"))["events"])
    assert shown["events"].column_names == [column.name for column in ALL_COLUMNS["events"]]
    assert set(shown["losses"]["topic"]) == {"logs", "orders"}


def test_every_table_and_view_is_there(small_run: Path) -> None:
    result = emulator.read(small_run)
    assert result.tables == [name for name in ALL_COLUMNS if (small_run / name).is_dir()]
    assert {"outcomes", "lost", "duckdb", "spark"} <= set(dir(result))
    for name, columns in ALL_COLUMNS.items():
        assert getattr(result, name).columns[: len(columns)] == [column.name for column in columns]
    for name in reversed(HELPER_VIEWS):  # what a view builds on comes with it
        assert getattr(result, name).columns
    assert len(result.ledgers.df()) == 0
    joined = result.outcomes.join(result.partitions, "scenario_id, topic, partition")
    assert len(joined.df()) == 6
    assert repr(result) == f"emulator.read({str(small_run)!r})"
    assert len(emulator.read(f"file:{small_run}").outcomes.df()) == 6


def test_spark_has_the_same(small_run: Path, spark: SparkSession) -> None:
    result = emulator.read(small_run)
    frames = result.spark(spark)
    assert set(vars(frames)) == {*ALL_COLUMNS, *HELPER_VIEWS}
    for name in ("outcomes", "lost", "unread"):
        rows = [row.asDict(recursive=True) for row in getattr(frames, name).collect()]
        relation = getattr(result, name)
        ours = [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]
        assert sorted(map(str, rows)) == sorted(map(str, ours))


def test_no_java_starts(small_run: Path) -> None:
    code = f"import emulator, sys; rows = emulator.read({str(small_run)!r}).lost.df(); sys.exit('pyspark' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_what_is_no_result(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    for folder in (tmp_path, tmp_path / "nowhere", tmp_path / "notes"):
        with pytest.raises(InputError) as error:
            emulator.read(folder)
        assert str(error.value) == (
            f"{folder}: no tables of a run are there; write them with: emulator run SCENARIO.toml --out DIR"
        )


def test_what_a_run_does_not_have(small_run: Path) -> None:
    with pytest.raises(AttributeError, match=r'a run has no table or view outcoms \(did you mean "outcomes"\?\)'):
        emulator.read(small_run).outcoms  # noqa: B018
    with pytest.raises(AttributeError):
        emulator.read(small_run)._repr_html_  # noqa: B018


def test_what_only_spark_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"s3a://bucket/run: is not on this machine; allowed: emulator.read\(DIR\).spark"):
        emulator.read("s3a://bucket/run").outcomes  # noqa: B018
    (tmp_path / "events").mkdir()
    damaged = tmp_path / "events" / "part-0.parquet"
    damaged.write_text("not parquet")
    with pytest.raises(InputError, match=r"allowed: emulator.read\(DIR\).spark") as error:
        emulator.read(tmp_path).events  # noqa: B018
    assert "\n" not in str(error.value)
    monkeypatch.setattr(duckdb_tables, "_memory_bytes", lambda: damaged.stat().st_size)
    with pytest.raises(InputError, match="larger than what fits this machine"):
        emulator.read(tmp_path).outcomes  # noqa: B018
    (tmp_path / "_staging-1").mkdir()
    (tmp_path / "_staging-1" / "_COMMIT").write_text("{}")
    with pytest.raises(InputError, match="has not finished publishing"):
        emulator.read(tmp_path).outcomes  # noqa: B018
