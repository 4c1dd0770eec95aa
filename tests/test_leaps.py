"""Leaps give what plain rounds give, in every table; what an older version left is not gone on from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from emulator.engine.identity import FOLDER
from emulator.errors import InputError
from emulator.run import run_emulation
from emulator.scenario import Run, load_run
from emulator.table_columns.spark_columns import OUTPUT_TABLES
from tests.engine_helpers import Row, read_table

LONG = """
name = "long"
protocol = "kafka"
rounds = 500
[cluster]
brokers = 4
config = { "leader.imbalance.check.interval.seconds" = 30 }
[[topics]]
name = "orders"
partitions = 4
replication_factor = 3
config = { "min.insync.replicas" = 2, "segment.bytes" = 500000 }
[[topics]]
name = "flushed"
partitions = 2
replication_factor = 2
config = { "flush.ms" = 20000, "flush.messages" = 700 }
[[topics]]
name = "two_batches"
assignment = [[2, 3, 1], [3, 4, 1]]
[[topics]]
name = "never_rolled"
assignment = [[2, 3]]
config = { "segment.ms" = 9223372036854775807, "segment.bytes" = 100000 }
[[topics]]
name = "flushed_by_time"
assignment = [[3, 4]]
config = { "flush.messages" = 1, "flush.ms" = 20000 }
[[initial.replicas]]
topic = "flushed_by_time"
partition = 0
broker = 3
leo = 100
hw = 100
flushed_offset = 50
[[workload]]
topic = "[on]*"
records_per_round = 5
record_bytes = 1000
acks = "all"
[[workload]]
topic = "flushed"
records_per_round = 5
record_bytes = 1000
acks = "all"
[[workload]]
topic = "two_batches"
records_per_round = 240
record_bytes = 1000
acks = "all"
[[workload]]
topic = "two_batches"
records_per_round = 160
record_bytes = 1000
acks = "all"
[[workload]]
topic = "flushed"
from_round = 350
to_round = 445
records_per_round = 3
record_bytes = 100
acks = "1"
[[faults]]
kind = "broker_crash"
broker = 1
from_round = 53
to_round = 200
[[faults]]
kind = "power_loss"
broker = 2
from_round = 166
to_round = 180
[[faults]]
kind = "power_loss"
broker = 3
from_round = 437
to_round = 455
[[faults]]
kind = "isolation"
broker = 4
from_round = 225
to_round = 325
[[variants]]
name = "short"
rounds = 451
"""


def tables(spark: SparkSession, run: Run, out: Path, **options: Any) -> dict[str, list[str]]:
    """Every table of a run but `runs`, in an order of its own; of `scenarios` all but the mode."""
    run_emulation(run, str(out), spark, **options)
    read: dict[str, list[Row]] = {name: read_table(out / name) for name in OUTPUT_TABLES if name != "runs"}
    assert {row.pop("mode") for row in read["scenarios"]} == {options["mode"]}
    return {name: sorted(map(repr, rows)) for name, rows in read.items()}


def differing(one: dict[str, list[str]], other: dict[str, list[str]]) -> dict[str, list[str]]:
    """Rows of one and not of the other, a few of each table."""
    return {name: sorted(set(one[name]) ^ set(other[name]))[:4] for name in one if one[name] != other[name]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("long")


@pytest.fixture(scope="module")
def long(folder: Path) -> Run:
    """Segments that roll, flushes by time and number, a preferred leader that comes back, losses between two checkpoints."""
    (folder / "long.toml").write_text(LONG)
    return load_run(str(folder / "long.toml"))


@pytest.fixture(scope="module")
def leapt(spark: SparkSession, folder: Path, long: Run) -> dict[str, list[str]]:
    """The tables of LONG in leap mode."""
    return tables(spark, long, folder / "leap", mode="leap")


def test_a_long_run_goes_through_what_it_should(leapt: dict[str, list[str]]) -> None:
    assert any("segment_roll" in row for row in leapt["events"])
    assert any("log_damaged" in row for row in leapt["events"])


def test_leaps_give_what_plain_rounds_give(spark: SparkSession, folder: Path, long: Run, leapt: dict[str, list[str]]) -> None:
    assert not differing(tables(spark, long, folder / "plain", mode="plain"), leapt)


@pytest.mark.parametrize("inner", ["", "kafka/", "bookkeeper/"])
def test_a_checkpoint_of_an_older_version_is_refused(spark: SparkSession, tmp_path: Path, long: Run, inner: str) -> None:
    """Of rounds as SQL text: in one line with --resume, removed with a note without it."""
    old = tmp_path / FOLDER / f"{inner}7"
    old.mkdir(parents=True)
    (old / "CHECKPOINT.json").write_text("{}")
    with pytest.raises(InputError, match=f"{FOLDER}/{inner}7: the checkpoint is of an older version of the emulator; allowed: "):
        run_emulation(long, str(tmp_path), spark, resume=True)
    assert old.is_dir()
    run_emulation(long, str(tmp_path), spark)
    assert not (tmp_path / FOLDER).exists()
