"""What is said beforehand of how long a run takes, and how much room."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from emulator.engine import estimate
from emulator.engine.estimate import Work, estimate_lines, joined, refuse_full_disk
from emulator.errors import EnvironmentProblem
from emulator.inputs.arrays.segments_of_run import segments_of_run
from emulator.run import dry_run
from emulator.scenario import load_run

MEASURED = {
    "3 partitions x 50": (Work(4_500, 9), 4.9),
    "1,000,000 x 3 x 40": (Work(1.02e9, 3_000_000, by_jobs=True), 52),
    "1,000,000 x 3 x 200": (Work(1.5e9, 3_000_000, by_jobs=True), 54),
    "100,000 x 3 x 40, traced": (Work(3.3e8, 300_000, 12_000_000, by_jobs=True), 60.4),
    "20,000 partitions, a day": (Work(2.8e7, 60_000, 0, 1_606_050, by_jobs=True), 33),
    "tiering_policies.toml": (Work(2.09e7, 20_400, 0, 1_050_085, 1_050_085, True), 37.3),
    "600,000 partitions, a week": (Work(1.3e9, 1_700_000, 0, 8_400_000, 8_400_000, True), 237),
}
"""Runs of benchmarks/RESULTS.md on two cores: their work, and the seconds that they took."""

SCENARIO = """
rounds = 1000
round_ms = 1000
[cluster]
brokers = 3
config = { "remote.log.storage.system.enable" = true }
[[topics]]
name = "kept"
partitions = 4
replication_factor = 3
config = { "segment.bytes" = 20000 }
[[topics]]
name = "tiered"
partitions = 2
replication_factor = 2
config = { "segment.bytes" = 10000, "remote.storage.enable" = true }
[[workload]]
topic = "*"
records_per_round = 2
record_bytes = 100
acks = "all"
[[workload]]
topic = "kept"
partitions = "0-1"
to_round = 500
records_per_round = 1
record_bytes = 1000
acks = "1"
[[consumers]]
group = "back"
topic = "tiered"
start = "earliest"
[[variants]]
name = "narrow"
cluster = { network_bytes_per_second = 8000, quota_window_rounds = 30 }
"""


@pytest.mark.parametrize("run", MEASURED)
def test_time_is_right_within_a_factor_of_two(run: str) -> None:
    work, measured = MEASURED[run]
    first, *_ = estimate_lines(work, 2)
    seconds = sum(estimate._seconds(work, 2).values())
    assert measured / 2 < seconds < measured * 2
    assert first.startswith("time: about ")
    assert first.endswith(" on 2 cores, compiling (once for a version) not counted")


def test_windows_of_shared_budgets_are_a_bound() -> None:
    """A replaced broker, throttled for a day of 8,640 windows: 99 s where the rest is 5. One task a scenario, one after the other
    where there are no jobs."""
    day = estimate.seconds_of_windows(8640, 1200)
    assert 99 / 2 < estimate.START_SECONDS + day < 99 * 2
    (first, *_), (both, *_) = (estimate_lines(Work(by_jobs=by_jobs, sharing=(10.0, 4.0)), 2) for by_jobs in (True, False))
    assert first.startswith("time: about 8 s, up to 18 s while budgets bind, on 2 cores, ")
    assert both.startswith("time: about 4 s, up to 18 s while budgets bind, on 2 cores, ")


def test_segments_are_what_is_appended(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO)
    base, _ = load_run(str(tmp_path / "s.toml")).scenarios
    kept, tiered = (4 * 1000 * 200 + 2 * 500 * 1000) / 20_000, 2 * 1000 * 200 / 10_000
    assert [of.sum() for of in segments_of_run(base)] == pytest.approx([kept + tiered, tiered])


def test_what_makes_it_long_is_said(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO)
    run = load_run(str(tmp_path / "s.toml"))
    lines = dry_run(run, "tiered:0", "plain", [5])
    assert "rounds: 1000 (16 min 40 s), 1000 ms each" in lines
    assert [line for line in lines if line.startswith("what may")] == [
        "what may take long: mode plain plays every round",
        "what may take long: partitions share budgets in 1 scenario: up to 34 windows, each played while a budget binds",
        "what may take long: what 1 consumer group read back is played round by round, remote reads above all",
    ]
    assert not any(line.startswith("what takes") for line in lines)
    (time,) = (line for line in lines if line.startswith("time: "))
    assert ", without what may take long (below), on " in time
    assert not any("without what" in line for line in estimate_lines(Work(by_jobs=True, sharing=(10.0,)), 2))


def test_the_longest_parts_are_said_first() -> None:
    lines = list(estimate_lines(joined([Work(3e9, 1000), Work(0, 3_000_000, copies=1e6, segments=1e6)]), 4))
    assert [line for line in lines if line.startswith("what takes")] == [
        "what takes long: rounds that are played: 50 s",
        "what takes long: inputs and tables of 3,001,000 replicas: 21 s",
        "what takes long: 1,000,000 segments that are copied to remote storage: 12 s",
    ]


def test_a_disk_that_is_too_small_is_found_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    def disk_usage(path: str) -> SimpleNamespace:
        looked.append(path)
        return SimpleNamespace(free=11_000_000)

    monkeypatch.setattr("emulator.engine.estimate.shutil.disk_usage", disk_usage)
    refuse_full_disk(str(tmp_path / "not" / "there"), 1_000_000, 0)
    with pytest.raises(EnvironmentProblem, match="the tables take at least 11.5 MB, and 11 MB are free there"):
        refuse_full_disk(f"file://{tmp_path}", 1_000_000, 1_000_000)
    assert looked == [str(tmp_path)] * 2
    refuse_full_disk("hdfs://host/out", 10**12, 0)
