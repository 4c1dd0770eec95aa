"""`events = [kinds]`: every engine writes these events only, counts all of them, and who asks for the others is told.

Steps of shared budgets do so in budgets/test_steps.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from emulator.cli import main
from emulator.engine import compiled_engine
from emulator.errors import InputError
from emulator.outcomes.unwritten import kinds_asked_for
from emulator.rounds.kafka.event_kinds import EVENT_KINDS
from emulator.run import run_emulation
from emulator.scenario import load_run
from emulator.scenario.event_kinds import LEDGER_EVENTS, PARTITION_EVENTS
from tests.engine_helpers import Row, emulate

FEW = ["election", "leader_lost", "unfenced"]

CORE = """
rounds = 60
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
[[workload]]
topic = "*"
records_per_round = 3
record_bytes = 100
[[faults]]
kind = "broker_crash"
broker = 1
from_round = 5
to_round = 20
[[faults]]
kind = "power_loss"
broker = 2
from_round = 18
to_round = 35
[[faults]]
kind = "power_loss"
broker = 3
from_round = 17
to_round = 22
"""
VARIANTS = """
[[variants]]
name = "few"
events = ["unfenced", "election", "leader_lost", "election"]
[[variants]]
name = "none"
events = []
"""
NARROW = """
[[variants]]
name = "narrow"
cluster = { network_bytes_per_second = 8000, quota_window_rounds = 5 }
[[variants]]
name = "narrow few"
events = ["unfenced", "election", "leader_lost"]
cluster = { network_bytes_per_second = 8000, quota_window_rounds = 5 }
"""
TIERED = """
rounds = 400
[cluster]
brokers = 3
session_timeout_rounds = 3
config = { "remote.log.storage.system.enable" = true, "remote.log.manager.task.interval.ms" = 5000 }
[remote_storage]
copy_bytes_per_second = 20000
[[topics]]
name = "orders"
partitions = 6
replication_factor = 3
[topics.config]
"remote.storage.enable" = true
"segment.bytes" = 10000
"retention.ms" = 100000
"local.retention.ms" = 30000
[[workload]]
topic = "*"
records_per_round = 5
record_bytes = 100
[[faults]]
kind = "remote_storage_outage"
from_round = 100
to_round = 130
"""
LEDGERS = """
protocol = "bookkeeper"
rounds = 60
[cluster]
brokers = 5
session_timeout_rounds = 3
[[topics]]
name = "orders"
partitions = 6
[[workload]]
topic = "*"
records_per_round = 3
record_bytes = 100
max_in_flight = 10
[[faults]]
kind = "broker_crash"
broker = 1
from_round = 5
to_round = 20
[[commands]]
kind = "recover_ledger"
topic = "orders"
round = 40
"""

Tables = dict[str, list[Row]]


def named(tables: Tables, name: str, table: str) -> Counter[str]:
    """The rows of a scenario in a table, without its id."""
    (number,) = (row["scenario_id"] for row in tables["scenarios"] if row["name"] == name)
    return Counter(str({**row, "scenario_id": 0}) for row in tables[table] if row["scenario_id"] == number)


def check(tables: Tables, whole: str = "base", **few: list[str]) -> None:
    """`few`: scenarios that are as `whole` but for the kinds of events that they have."""
    (number,) = (row["scenario_id"] for row in tables["scenarios"] if row["name"] == whole)
    events = [row for row in tables["events"] if row["scenario_id"] == number]
    counts = Counter((row["topic"], row["kind"]) for row in events)
    assert {(row["topic"], row["kind"]): row["events"] for row in of(tables["event_counts"], number)} == counts
    for name, kinds in few.items():
        name = name.replace("_", " ")
        written = Counter(str({**row, "scenario_id": 0}) for row in events if row["kind"] in kinds)
        assert named(tables, name, "events") == written
        assert len(written) > 0 or not kinds
        for table in ("event_counts", "outcomes", "replicas", "leader_epochs", "violations", "remote_segments"):
            assert named(tables, name, table) == named(tables, whole, table), table
    assert len({row["kind"] for row in events}) > max(map(len, few.values()))


def of(rows: list[Row], scenario_id: int) -> list[Row]:
    return [row for row in rows if row["scenario_id"] == scenario_id]


def test_kinds_are_those_of_the_rounds() -> None:
    assert set(EVENT_KINDS) <= set(PARTITION_EVENTS)
    assert set(PARTITION_EVENTS) & set(LEDGER_EVENTS) == {"acked_lost"}


@pytest.mark.parametrize("in_jobs", [False, True])
def test_compiled(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_jobs: bool) -> None:
    if in_jobs:
        monkeypatch.setattr(compiled_engine, "is_for_driver", lambda *_: False)
    tables = emulate(spark, CORE + VARIANTS + NARROW, tmp_path / "out", trace="none")
    check(tables, few=FEW, none=[])
    check(tables, "narrow", narrow_few=FEW)
    assert [row["event_kinds"] for row in tables["scenarios"]] == [None, FEW, [], None, FEW]


def test_tiers(spark: SparkSession, tmp_path: Path) -> None:
    variant = '[[variants]]\nname = "few"\nevents = ["copy_failed", "remote_delete"]\n'
    tables = emulate(spark, TIERED + variant, tmp_path / "out", trace="none")
    check(tables, few=["copy_failed", "remote_delete"])
    copies = sum(row["remote_copy_requests"] for row in of(tables["outcomes"], 1))
    (started,) = (row["events"] for row in of(tables["event_counts"], 1) if row["kind"] == "copy_started")
    assert started == copies > 50


def test_ledgers(spark: SparkSession, tmp_path: Path) -> None:
    variants = '[[variants]]\nname = "few"\nevents = ["ensemble_change"]\n[[variants]]\nname = "none"\nevents = []\n'
    check(emulate(spark, LEDGERS + variants, tmp_path / "out", trace="none"), few=["ensemble_change"], none=[])


def test_both_systems_take_their_own_kinds(tmp_path: Path) -> None:
    text = CORE.replace('topic = "*"', 'topic = "*"\nmax_in_flight = 10').replace(
        "rounds = 60", 'rounds = 60\nevents = ["fence", "election"]'
    )
    (tmp_path / "s.toml").write_text(text + '[[variants]]\nname = "ledgers"\nprotocol = "bookkeeper"\n')
    assert [scenario.events for scenario in load_run(str(tmp_path / "s.toml")).scenarios] == [("election",), ("fence",)]


@pytest.fixture(scope="module")
def out(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with few events; orders:1 is traced."""
    folder = tmp_path_factory.mktemp("few")
    (folder / "s.toml").write_text(CORE + VARIANTS)
    run_emulation(load_run(str(folder / "s.toml")), str(folder / "out"), spark, trace="orders:1")
    return folder / "out"


@pytest.fixture
def say(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[str, str]]:
    """What a command says on both streams, in the session of the tests."""
    monkeypatch.setattr("emulator.session.get_session", lambda *_: spark)

    def run(*arguments: Any) -> tuple[str, str]:
        assert main([str(argument) for argument in arguments]) == 0
        printed = capsys.readouterr()
        return printed.out, printed.err

    return run


def test_a_question_says_which_events_it_lacks(
    out: Path, say: Callable[..., tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, err = say("sql", out, "@which_partitions_regained_full_isr_slowest")
    notes = [line for line in err.splitlines() if line.startswith("note: ")]
    lacks, ending = "did not write events of these kinds, which the answer lacks:", "; event_counts has how many there were"
    few, none = "unclean_election, isr_shrink, isr_expand", "election, unclean_election, leader_lost, isr_shrink, isr_expand"
    assert notes == [f"note: scenario few {lacks} {few}{ending}", f"note: scenario none {lacks} {none}{ending}"]
    assert "note: " not in say("sql", out, "SELECT count(*) FROM outcomes")[1]
    assert say("sql", out, "SELECT count(*) FROM events WHERE kind = 'election'")[1].count("note: ") == 1
    both = say("sql", out, "SELECT count(*) FROM events WHERE kind = 'isr_shrink'")[1]
    assert both == f"note: scenarios few, none {lacks} isr_shrink{ending}\n"
    monkeypatch.setattr("emulator.outcomes.sql.run_sql", lambda *_: (["name"], iter([("base",)])))  # a report takes a minute
    assert "note: scenario few did" in say("compare", out, "--report", "tiering", "--format", "csv")[1]


def test_kinds_that_a_query_asks_for() -> None:
    assert kinds_asked_for("SELECT kind, count(*) FROM events GROUP BY kind") == {*PARTITION_EVENTS, *LEDGER_EVENTS}
    assert kinds_asked_for("SELECT * FROM event_causes WHERE kind IN ('truncate', \"refused\")") == {"truncate", "refused"}
    assert kinds_asked_for("SELECT sum(acked_lost) AS lost FROM outcomes -- events") == set()
    assert kinds_asked_for("SELECT * FROM leader_gaps") == {"election", "unclean_election", "leader_lost"}


@pytest.mark.parametrize("partition", [1, 2])
def test_a_story_has_all_events(partition: int, out: Path, say: Callable[..., tuple[str, str]]) -> None:
    told = [
        say("explain", out, "--topic", "orders", "--partition", partition, "--scenario", s)[0] for s in ("base", "few", "none")
    ]
    assert "truncate" in told[0] or "cut" in told[0]
    assert told[0] == told[1].replace("scenario few", "scenario base") == told[2].replace("scenario none", "scenario base")


def test_a_story_that_is_not_played_again_says_what_it_lacks(
    out: Path, say: Callable[..., tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise InputError("of a test")

    monkeypatch.setattr("emulator.explain.replay.stored_scenario", refuse)
    _, err = say("explain", out, "--topic", "orders", "--partition", 2, "--scenario", "few")
    assert "note: the run did not write events of these kinds, which the story lacks: unclean_election, isr_shrink" in err
