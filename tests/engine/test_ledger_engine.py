"""Ledgers through a run: hours of a topic, too many ledgers of one, no states of rounds."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emulator.errors import InputError
from emulator.run import dry_run, run_emulation
from emulator.scenario import load_run
from tests.bookkeeper.test_topics_leaps import SHORT
from tests.engine_helpers import read_table


def test_hours_of_rollovers(spark: SparkSession, tmp_path: Path) -> None:
    rounds = 2 * 7200
    (tmp_path / "hours.toml").write_text(SHORT.format(rounds=rounds, more=""))
    run = load_run(str(tmp_path / "hours.toml"))
    assert "compiled rounds of ledgers: 1 of the scenarios, calls in the driver" in dry_run(run)
    run_emulation(run, str(tmp_path / "out"), spark)
    (topic,) = read_table(tmp_path / "out" / "topics")
    assert topic["messages"] == 2 * rounds
    assert topic["messages"] - topic["acked"] == topic["unacked"] <= 8
    assert topic["ledgers_created"] == 12
    assert topic["ledgers_deleted"] > 4
    assert topic["acked"] == topic["readable"] + topic["messages_deleted"]


def test_a_list_of_too_many_ledgers(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(SHORT.format(rounds=7200, more=", maxLedgers = 3"))
    with pytest.raises(InputError, match=r"scenario base: orders:0 needs more than 3 ledgers; allowed: maxLedgers = 6"):
        run_emulation(load_run(str(tmp_path / "short.toml")), str(tmp_path / "out"), spark)
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


def test_ledgers_have_no_states_of_rounds(tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(SHORT.format(rounds=20, more=""))
    with pytest.raises(InputError, match="--state-at: scenario base is of ledgers, and replica_states are those of partitions"):
        dry_run(load_run(str(tmp_path / "short.toml")), state_at=[3])
