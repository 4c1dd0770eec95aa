"""Partitions that are fetched from one broker to another share fetchers, where these have more to bring than they can."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from emulator import run as running
from emulator.cli import main
from emulator.engine import compiled_engine, shared_fetchers
from emulator.engine.fetch_use import FETCH_USE_SCHEMA, LEAST_BYTES, fetch_use, short_fetchers
from emulator.engine.stretches import END, Stretches
from emulator.inputs.arrays import prepare, read_block
from emulator.progress import Progress
from emulator.rounds.relational.inputs.refusals import lacking as lacking_of
from emulator.run import run_emulation
from emulator.scenario import Run, load_run
from emulator.scenario.stored import load_stored
from emulator.table_columns.spark_columns import OUTPUT_TABLES
from tests.engine_helpers import Row, read_table

MB, DOWN_AT, BACK_AT = 1_000_000, 10, 40
TEN_BATCHES = (
    """
[[workload]]
topic = "{topic}"
records_per_round = 1000
record_bytes = 1000
"""
    * 10
)
SCENARIO = f"""
rounds = 80
round_ms = 500
[cluster]
brokers = 6
quota_window_rounds = 10
[[topics]]
name = "four"
assignment = [[1, 2], [1, 2], [1, 2], [1, 2]]
[[topics]]
name = "alone"
assignment = [[3, 4]]
[[topics]]
name = "little"
assignment = [[5, 6], [5, 6]]
{TEN_BATCHES.format(topic="four")}
{TEN_BATCHES.format(topic="alone")}
[[workload]]
topic = "little"
records_per_round = 5
record_bytes = 1000
[[faults]]
kind = "broker_crash"
broker = 2
from_round = {DOWN_AT}
to_round = {BACK_AT}
[[faults]]
kind = "broker_crash"
broker = 4
from_round = {DOWN_AT}
to_round = {BACK_AT}
[[variants]]
name = "two"
cluster = {{ config = {{ "num.replica.fetchers" = 2 }} }}
[[variants]]
name = "many"
cluster = {{ config = {{ "num.replica.fetchers" = 4 }} }}
[[variants]]
name = "given"
cluster = {{ fetches_per_round = 80 }}
"""
"""Broker 2 comes back 300 MB behind in each of four partitions, broker 4 in one; what 6 fetches is next to nothing."""

TRACED = "four:0,four:3,alone:0"


class Lines(Progress):
    """Keeps what is noted."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.lines: list[str] = []

    def note(self, text: str) -> None:
        self.lines.append(text)


class Ended(Exception):
    pass


class Stops(Progress):
    """Ends a run after so many jobs of its second play."""

    def __init__(self, after: int) -> None:
        super().__init__(quiet=True)
        self.after, self.starts = after, 0

    def start(self, total_rounds: int, partitions: int, scenarios: int, round_ms: int = 0) -> None:
        self.starts += 1

    def advance(self, rounds_done: int, partitions_running: int, iterations: int, replica_rounds: int) -> None:
        if self.starts == 2 and iterations == self.after:
            raise Ended


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("fetchers") / "scenario.toml"
    path.write_text(SCENARIO)
    return load_run(str(path))


@pytest.fixture(scope="module")
def lines() -> Lines:
    return Lines()


@pytest.fixture(scope="module")
def out(run: Run, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, lines: Lines) -> Path:
    folder = tmp_path_factory.mktemp("driver") / "out"
    run_emulation(run, str(folder), spark, trace=TRACED, progress=lines)
    return folder


def tables_of(folder: Path) -> dict[str, list[str]]:
    tables: dict[str, list[Row]] = {name: read_table(folder / name) for name in OUTPUT_TABLES if name != "runs"}
    return {name: sorted(map(repr, rows)) for name, rows in tables.items()}


@pytest.fixture(scope="module")
def lacking(out: Path) -> dict[tuple[int, str, int], dict[int, int]]:
    """By (scenario_id, topic, partition) and round: records that the follower lacks."""
    ends: dict[tuple[int, str, int], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in sorted(read_table(out / "trace"), key=lambda row: row["broker"]):
        ends[row["scenario_id"], row["topic"], row["partition"]][row["round"]].append(row["leo"])
    return {place: {at: logs[0] - logs[1] for at, logs in of.items()} for place, of in ends.items()}


def megabytes_a_round(lacks: dict[int, int]) -> float:
    """What came in a round, at the mean of rounds at whose end it is still behind."""
    rounds = [at for at in lacks if at >= BACK_AT and lacks[at] > 0 and lacks[at] < lacks[at - 1]]
    fetched = [lacks[at - 1] - lacks[at] + 10_000 for at in rounds]  # so many records of 1,000 bytes are appended in each
    return sum(fetched) / len(fetched) / 1000


SHORT = "1 fetcher of scenario base"


def said(short: str) -> str:
    return f"more to fetch from one broker to another than {short} can bring (num.replica.fetchers)"


def test_who_shares(out: Path, lines: Lines) -> None:
    assert read_table(out / "runs")[0]["shared_fetchers"] == [0, 1]
    both = said(f"{SHORT}, and those of 1 more of 4 scenarios,")
    assert lines.lines[0] == f"{both}: all is played once more, its partitions together"
    assert "more to fetch" not in lines.lines[1]


def test_too_many_partitions_have_one_for_themselves(
    two: Run, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_fetchers, "MOST_TOGETHER", 6)
    told = Lines()
    run_emulation(two, str(tmp_path / "out"), spark, progress=told)
    assert told.lines == [
        f"{said(SHORT)}, but above 6 partitions each has one for itself: what limits it is to be given as"
        " network_bytes_per_second, else catching up is faster than it would be"
    ]
    assert read_table(tmp_path / "out" / "runs")[0]["shared_fetchers"] == []


def test_four_partitions_get_what_one_fetcher_brings(lacking: dict[tuple[int, str, int], dict[int, int]]) -> None:
    """4 MiB every 21.97 ms, 4 MB of them in whole batches: 91.03 MB in 500 ms, 22.76 for each. A real 4.1.1 broker's four got
    184 MB/s together.
    """
    for partition in (0, 3):
        found = megabytes_a_round(lacking[0, "four", partition])
        assert found == pytest.approx(22.76, rel=0.02)
        assert 4 * found * 2 == pytest.approx(184, rel=0.03)


def test_two_fetchers_bring_more(lacking: dict[tuple[int, str, int], dict[int, int]]) -> None:
    """Of every second partition each: 2 MB every 11.49 ms, 87.06 MB in 500 ms, 43.5 for each of two."""
    for partition in (0, 3):
        assert megabytes_a_round(lacking[1, "four", partition]) == pytest.approx(43.5, rel=0.03)


@pytest.mark.parametrize(("scenario", "place"), [(0, ("alone", 0)), (2, ("four", 0)), (2, ("four", 3)), (3, ("four", 0))])
def test_who_has_a_fetcher_for_himself(
    scenario: int, place: tuple[str, int], lacking: dict[tuple[int, str, int], dict[int, int]]
) -> None:
    """80 batches of 1 MB in a round: as many fetches fit, or are given. Alone beside those that share it is no less."""
    assert megabytes_a_round(lacking[(scenario, *place)]) == pytest.approx(80, rel=0.02)


@pytest.fixture(scope="module")
def two(run: Run) -> Run:
    """One that shares, and one that does not; in rounds enough to see it."""
    return replace(run, scenarios=tuple(replace(run.scenarios[at], rounds=BACK_AT + 8) for at in (0, 2)))


@pytest.fixture(scope="module")
def of_two(two: Run, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    folder = tmp_path_factory.mktemp("two") / "out"
    run_emulation(two, str(folder), spark)
    return tables_of(folder)


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run is large; sources edited between two runs are no other version."""
    monkeypatch.setattr(running, "source_digest", lambda: "the same")
    monkeypatch.setattr(compiled_engine, "is_for_driver", lambda *_: False)
    monkeypatch.setattr(compiled_engine, "JOB_WEIGHT", 1e3)


def test_jobs_and_a_resumed_run_give_the_tables_of_the_driver(
    two: Run, spark: SparkSession, of_two: dict[str, list[str]], tmp_path: Path, jobs: None
) -> None:
    again = tmp_path / "out"
    with pytest.raises(Ended):
        run_emulation(two, str(again), spark, progress=Stops(2))
    told = Lines()
    run_emulation(two, str(again), spark, progress=told, resume=True)
    assert told.lines[0].startswith("resuming: ")
    assert not any("once more" in line for line in told.lines)
    assert tables_of(again) == of_two
    assert read_table(again / "runs")[0]["shared_fetchers"] == [0]


def test_steps_of_many_partitions_give_the_same(
    two: Run, spark: SparkSession, of_two: dict[str, list[str]], tmp_path: Path, jobs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled_engine, "MOST_TOGETHER", 3)
    run_emulation(two, str(tmp_path / "out"), spark)
    assert tables_of(tmp_path / "out") == of_two


def test_such_a_run_is_explained_by_playing_all(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["explain", str(out), "--topic", "four", "--partition", "1", "--rounds", f"{BACK_AT}-{BACK_AT + 12}"]
    assert main([*where, "--scenario", "base"]) == 0
    base = capsys.readouterr()
    assert base.err == "partitions share what their brokers have: all 7 are played again\n"
    assert main([*where, "--scenario", "many"]) == 0
    many = capsys.readouterr()
    assert many.err == ""
    assert base.out != many.out
    assert main([*where, "--scenario", "base", "--fewest-faults"]) == 2
    assert "partitions share what their brokers have" in capsys.readouterr().err


def test_relational_rounds_have_none_of_it(out: Path) -> None:
    [row] = read_table(out / "runs")
    run = load_stored({**row, "scenario_files": dict(row["scenario_files"])})
    assert [scenario.shares_fetchers for scenario in run.scenarios] == [True, True, False, False]
    assert [list(lacking_of(scenario)) for scenario in run.scenarios] == [["fetchers that partitions share"]] * 2 + [[], []]


def told(*rows: tuple[int, ...]) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, FETCH_USE_SCHEMA, strict=True)], schema=FETCH_USE_SCHEMA)


def test_blocks_together_may_be_too_much(run: Run) -> None:
    """A fetcher brings 91.3 MB of two partitions in a round."""
    one_fetch = (1 << 20, 1 << 20)
    one, more = ((0, 1, 2, 0, 1, size * MB, *one_fetch) for size in (45, 47))
    assert short_fetchers(told(one, one), run.scenarios) == {}
    assert short_fetchers(told(one, more), run.scenarios) == {0: 1}
    others = [(0, 2, 1, 0, 1, 47 * MB, *one_fetch), (0, 1, 2, 1, 1, 47 * MB, *one_fetch), (1, 1, 2, 0, 1, 47 * MB, *one_fetch)]
    assert short_fetchers(told(one, *others), run.scenarios) == {}


def test_what_a_block_tells(run: Run) -> None:
    """Of each fetcher: 10 MB a round before the outage, 80 after it; little's 10 kB are not told. Nobody else led. Of batches of
    1 MB a fetch brings one, of those of 5 kB 209.
    """
    whole = int((1 << 20) * (1_000_000 / (1 << 20)))
    prepared = prepare(run.scenarios[:1], {}, True, 25)
    stretches = Stretches(read_block(prepared.block(np.arange(7))))
    stretches.play_to(END)
    found = fetch_use(stretches.block, stretches.state).to_pylist()
    four, alone = (0, 1, 2, 0, 4, 320 * MB, 4 << 20, 4 * whole), (0, 3, 4, 0, 1, 80 * MB, 1 << 20, whole)
    assert [tuple(row.values()) for row in found] == [four, alone]
    assert LEAST_BYTES > 10_000
