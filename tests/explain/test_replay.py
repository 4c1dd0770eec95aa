"""A story told by playing the partition again is the one that a trace tells."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from emulator.cli import main
from emulator.errors import InputError
from emulator.explain.replay import refuse_others
from emulator.run import run_emulation
from emulator.scenario import load_run
from emulator.scenario.stored import load_stored

SCENARIO = """
rounds = 60
workload_file = "workload.csv"
faults_file = "faults.csv"
[cluster]
brokers = 5
session_timeout_rounds = 3
config = { "replica.lag.time.max.ms" = 2000 }
[[topics]]
name = "orders"
partitions = 12
replication_factor = 3
config = { "min.insync.replicas" = 2 }
[[topics]]
name = "logs"
partitions = 4
replication_factor = 2
[[fault_generators]]
kind = "independent_crashes"
mtbf_rounds = 60
mean_duration_rounds = 4
[[variants]]
name = "old"
protocol = "kafka-high-watermark"
rounds = 40
[[variants]]
name = "unclean"
topics = [{ name = "orders", config = { "unclean.leader.election.enable" = true } }]
[[variants]]
name = "narrow"
cluster = { network_bytes_per_second = 8000, quota_window_rounds = 5 }
"""
WORKLOAD = "topic,partitions,records_per_round,record_bytes,acks\norders,,3,100,all\nlogs,0-2,7,100,1\nlogs,3,2,10,0\n"
FAULTS = "kind,broker,from_round,to_round\nbroker_crash,1,5,20\npower_loss,2,18,35\npower_loss,3,17,22\n"


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("replay")
    (folder / "workload.csv").write_text(WORKLOAD)
    (folder / "faults.csv").write_text(FAULTS)
    (folder / "s.toml").write_text(SCENARIO)
    return folder / "s.toml"


@pytest.fixture(scope="module")
def folders(spark: SparkSession, scenario: Path) -> tuple[Path, Path]:
    """The same run without a trace, and with one of everything; the scenario file is another one afterwards."""
    run = load_run(str(scenario))
    run_emulation(run, str(scenario.parent / "plain"), spark)
    run_emulation(run, str(scenario.parent / "traced"), spark, trace="all")
    scenario.write_text("rounds = 1")
    return scenario.parent / "plain", scenario.parent / "traced"


@pytest.fixture
def explain(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[str, str]]:
    """What the command says on both streams, in the session of the tests and another working folder than the run's."""
    monkeypatch.setattr("emulator.session.get_session", lambda *_: spark)

    def run(folder: Path, arguments: str) -> tuple[str, str]:
        assert main(["explain", str(folder), *arguments.split()]) == 0
        printed = capsys.readouterr()
        return printed.out, printed.err

    return run


STORIES = [
    "--topic orders --partition 0",
    "--topic orders --partition 4 --scenario unclean",
    "--topic orders --partition 1 --scenario old --rounds 15-30",
    "--topic logs --partition 2 --scenario old",
    "--topic logs --partition 3 --rounds 18",
]


@pytest.mark.parametrize("arguments", STORIES)
def test_the_story_of_a_trace(arguments: str, folders: tuple[Path, Path], explain: Callable[..., tuple[str, str]]) -> None:
    out, err = explain(folders[0], arguments)
    assert (out, err) == explain(folders[1], arguments)
    assert "Not traced" not in out
    assert err == ""


def test_partitions_that_share_bandwidth_are_played_together(
    folders: tuple[Path, Path], explain: Callable[..., tuple[str, str]]
) -> None:
    narrow = "--topic orders --partition 4 --scenario narrow"
    out, err = explain(folders[0], narrow)
    assert out == explain(folders[1], narrow)[0] != explain(folders[1], STORIES[1])[0]
    assert err == "partitions share what their brokers have: all 16 are played again\n"


def test_a_changed_file_is_refused(folders: tuple[Path, Path], explain: Callable[..., tuple[str, str]]) -> None:
    workload = folders[0].parent / "workload.csv"
    workload.write_text(WORKLOAD.replace("7,100", "8,100"))
    try:
        out, err = explain(folders[0], STORIES[0])
    finally:
        workload.write_text(WORKLOAD)
    assert "Not traced: told from events" in out
    assert err.splitlines() == [
        f"not played again: {workload}: file: has changed since the run; allowed: the file as it was then, or another run",
        "not traced: emulator run SCENARIO.toml --trace orders:0 gives every round",
    ]


def run_row(path: Path, **values: Any) -> dict[str, Any]:
    """A row of table runs: scenario_path, scenario_text, scenario_folder, scenario_files."""
    run = load_run(str(path))
    row = {"scenario_path": run.path, "scenario_text": run.text, "scenario_folder": run.folder, "scenario_files": run.files}
    return {**row, **values}


def test_a_stored_run(tmp_path: Path) -> None:
    for name, text in (("workload.csv", WORKLOAD), ("faults.csv", FAULTS), ("s.toml", SCENARIO)):
        (tmp_path / name).write_text(text)
    row = run_row(tmp_path / "s.toml", scenario_path="s.toml")
    assert set(row["scenario_files"]) == {str(tmp_path / "workload.csv"), str(tmp_path / "faults.csv")}
    (tmp_path / "s.toml").unlink()
    run = load_stored(row)
    assert (run.path, [one.name for one in run.scenarios]) == ("s.toml", ["base", "old", "unclean", "narrow"])
    with pytest.raises(InputError, match=r"workload.csv: file: was not there at the time of the run; allowed: "):
        load_stored(
            {**row, "scenario_files": {str(tmp_path / "faults.csv"): row["scenario_files"][str(tmp_path / "faults.csv")]}}
        )
    (tmp_path / "faults.csv").unlink()
    with pytest.raises(InputError, match=r"faults.csv: file: does not exist; allowed: "):
        load_stored(row)


def test_rows_of_another_version_are_told() -> None:
    table = pa.table({"round": [1, 2], "kind": ["a", "b"], "later": [0, 0]})
    refuse_others({"events": table}, {"events": [{"kind": "b", "round": 2}, {"kind": "a", "round": 1}]})
    with pytest.raises(InputError, match="has other events than in the run"):
        refuse_others({"events": table}, {"events": [{"kind": "b", "round": 2}]})
