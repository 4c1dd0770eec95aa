"""`emulator compare --report placement`: by hand, and every trial against the replica sets and who failed."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from datasets.placement_trials import placement_trials_toml
from emulator.cli import main
from emulator.outcomes.placement_report import placement_report
from emulator.run import run_emulation
from emulator.scenario import Run, Scenario, load_run

BY_HAND = """
rounds = 60
[cluster]
brokers = 6
racks = 2
[[topics]]
name = "t"
assignment = [[1, 2, 3], [3, 1, 2], [4, 5, 6]]
[[workload]]
name = "w"
topic = "t"
records_per_round = 1
[[faults]]
name = "a"
kind = "power_loss"
broker = 1
from_round = 10
[[faults]]
name = "b"
kind = "power_loss"
broker = 2
from_round = 10
[[faults]]
name = "c"
kind = "power_loss"
broker = 3
from_round = 10
[[variants]]
name = "two of each"
faults = [{ name = "c", broker = 4 }]
[[variants]]
name = "disks, one after the other"
faults = [
  { name = "a", kind = "disk_loss", broker = 4 },
  { name = "b", kind = "broker_crash", broker = 5, from_round = 35 },
  { name = "c", kind = "disk_loss", broker = 6 },
]
[[variants]]
name = "four"
faults = [{ kind = "broker_crash", broker = 6, from_round = 11 }]
[[variants]]
name = "one comes back"
faults = [{ name = "a", to_round = 30 }]
[[variants]]
name = "a rack"
faults = [{ kind = "rack_loss", rack = "0", from_round = 10 }]
[[variants]]
name = "nothing written"
workload = [{ name = "w", from_round = 59 }]
[[variants]]
name = "elsewhere"
topics = [{ name = "t", assignment = [[1, 2], [3, 4, 5]] }]
"""


def emulated(spark: SparkSession, folder: Path, text: str) -> tuple[Run, Path]:
    (folder / "s.toml").write_text(text)
    run = load_run(str(folder / "s.toml"))
    run_emulation(run, str(folder / "out"), spark)
    return run, folder / "out"


def rows_of(spark: SparkSession, out: Path) -> dict[tuple[str, int], dict[str, Any]]:
    columns, rows = placement_report(str(out), spark)
    named = [dict(zip(columns, row, strict=True)) for row in rows]
    return {(row["scenario"], row["failures"]): row for row in named}


def test_by_hand(spark: SparkSession, tmp_path: Path) -> None:
    """Two copysets of three in six brokers: 2 of 20 triples; of 15 fours each is in 3. {1, 2}: 4 of 20 triples, 6 of 15 fours."""
    rows = rows_of(spark, emulated(spark, tmp_path, BY_HAND)[1])
    assert list(rows) == [("base", 3), ("base", 4), ("elsewhere", 3), ("elsewhere", 4)]
    three, four = rows["base", 3], rows["base", 4]
    assert (three["scenarios"], three["brokers"], three["partitions"], three["copysets"]) == (7, 6, 3, 2)
    assert (three["loss_probability"], four["loss_probability"]) == (0.1, 0.4)
    # Base loses two partitions, "two of each" none, the disks one; who comes back, a rack and nothing written are no trials.
    assert (three["trials"], three["lost_trials"], three["lost_partitions"]) == (3, 2, 1.0)
    assert (four["trials"], four["lost_trials"], four["lost_partitions"]) == (1, 1, 2.0)
    assert (three["emulated"], three["emulated_low"], three["emulated_high"]) == (0.666667, 0.094299, 0.991596)
    assert three["agree"] is True
    # {1, 2} is whole in {1, 2, x} and {3, 4, 5} in itself: 5 of 20; {1, 2, x, y} and {3, 4, 5, x}: 6 + 3 of 15.
    other = rows["elsewhere", 3]
    assert (other["copysets"], other["loss_probability"], other["trials"], other["lost_trials"]) == (2, 0.25, 1, 1)
    assert (rows["elsewhere", 4]["loss_probability"], rows["elsewhere", 4]["trials"]) == (0.6, 0)
    assert rows["elsewhere", 4]["agree"] is None


def fails_whole(scenario: Scenario, failed: frozenset[int]) -> int:
    """Partitions whose replicas are all among those who fail."""
    return sum(failed.issuperset(row) for row in scenario.topics[0].assignment.tolist())


def test_every_trial_is_as_the_replica_sets_say(spark: SparkSession, tmp_path: Path) -> None:
    placements = ("random", "rack-aware", "copyset:4", "tiered-replication:2")
    run, out = emulated(spark, tmp_path, placement_trials_toml(40, 9, 3, [3, 4], 8, placements))
    rows = rows_of(spark, out)
    assert len(rows) == 8
    for start in range(0, 64, 16):
        base = run.scenarios[start]
        for number, count in enumerate((3, 4)):
            trials = run.scenarios[start + 8 * number : start + 8 * number + 8]
            lost = [fails_whole(of, frozenset(of.faults.column("broker").to_pylist())) for of in trials]
            every = [frozenset(failed) for failed in combinations(range(1, 10), count)]
            row = rows[base.name, count]
            assert row["loss_probability"] == round(sum(fails_whole(base, failed) > 0 for failed in every) / len(every), 6)
            assert (row["scenarios"], row["trials"], row["lost_trials"]) == (16, 8, sum(map(bool, lost)))
            assert row["lost_partitions"] == round(sum(lost) / 8, 3)
    assert any(row["lost_trials"] for row in rows.values())
    assert all(row["agree"] for row in rows.values())


def test_without_failures_the_graph_is_told(spark: SparkSession, tmp_path: Path) -> None:
    text = BY_HAND[: BY_HAND.index("[[faults]]")]
    rows = rows_of(spark, emulated(spark, tmp_path, text)[1])
    told = [(count, row["loss_probability"], row["trials"], row["agree"]) for (_, count), row in rows.items()]
    assert told == [(3, 0.1, 0, None), (6, 1.0, 0, None)]


def test_groups_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "anywhere", "--report", "placement", "--by", "topic"]) != 0
    assert "--by: placements are of whole scenarios" in capsys.readouterr().err
