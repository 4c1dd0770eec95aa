"""Groups that commit by quorums, from the scenario file to the tables: in jobs, what is chosen, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emulator.engine import blocks, group_engine, weighed_engine
from emulator.errors import InputError
from emulator.rounds.compiled import is_compiling
from emulator.rounds.quorums.play_groups import ENTRY_POINTS
from emulator.rounds.quorums.protocols import QUORUM, RAFT
from emulator.scenario.notes import notes_of
from emulator.scenario.protocols import GROUP_PROTOCOLS
from tests.engine_helpers import emulate
from tests.group_scenarios import example, load, tables_of
from tests.reference.quorums.schedules import random_case
from tests.rounds.quorums.compared import play_block

SEVERAL = """
protocol = "raft"
rounds = 60
seed = 3
events = ["election", "campaign", "step_down", "leader_lost"]
[cluster]
brokers = 5
[[topics]]
name = "t"
partitions = 12
replication_factor = 3
[[workload]]
topic = "t"
records_per_round = 2
[[fault_generators]]
kind = "independent_crashes"
fault = "isolation"
mtbf_rounds = 20
mean_duration_rounds = 8
[[variants]]
name = "not safe"
protocol = "quorum"
events = ["acked_lost"]
topics = [{ name = "t", config = { "acks.to.commit" = 1 } }]
[[variants]]
name = "kafka"
protocol = "kafka"
rounds = 30
topics = [{ name = "t", config = { "min.insync.replicas" = 2 } }]
"""


def test_a_run(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Partitions and groups in one file, in the driver, by its threads, and as Spark jobs: the same tables."""
    tables = emulate(spark, SEVERAL, tmp_path / "driver", trace="none")
    assert [(row["protocol"], row["rounds"]) for row in tables["scenarios"]] == [("raft", 60), ("quorum", 60), ("kafka", 30)]
    assert {row["kind"] for row in tables["events"] if row["scenario_id"] == 0} == {
        "election", "campaign", "step_down", "leader_lost",
    }  # fmt: skip
    lost = {n: sum(row["acked_lost"] for row in tables["outcomes"] if row["scenario_id"] == n) for n in (0, 1)}
    assert lost[0] == 0
    assert lost[1] > 0
    broken = {(row["scenario_id"], row["invariant"]) for row in tables["violations"]}
    assert (1, "LeaderCompleteness") in broken
    assert not [row for row in broken if row[0] == 0]
    listed = {row["invariant"] for row in tables["invariants"]}
    assert {"ElectionSafety", "LeaderAppendOnly", "LogMatching", "LeaderCompleteness", "StateMachineSafety"} <= listed
    monkeypatch.setattr(blocks, "LEAST_WEIGHT", 1.0)
    by_threads = emulate(spark, SEVERAL, tmp_path / "threads", trace="none")
    monkeypatch.setattr(weighed_engine, "is_for_driver", lambda *_: False)
    monkeypatch.setattr(group_engine, "JOB_WEIGHT", 2000.0)
    by_jobs = emulate(spark, SEVERAL, tmp_path / "jobs", trace="none")
    for name in ("partitions", "outcomes", "events", "violations", "event_counts", "brokers", "faults"):
        one, *others = (sorted(map(repr, of[name])) for of in (tables, by_threads, by_jobs))
        assert others == [one, one], name


def test_protocols(tmp_path: Path) -> None:
    """Every protocol that a file may name runs; a mutant lacks what its name says."""
    text = 'rounds = 20\n[cluster]\nbrokers = 3\n[[topics]]\nname = "t"\npartitions = 2\nreplication_factor = 3\n'
    work = '[[workload]]\ntopic = "t"\nrecords_per_round = 1\n'
    for protocol in GROUP_PROTOCOLS:
        rows = tables_of(load(tmp_path, f'protocol = "{protocol}"\n{text}{work}'))["outcomes"]
        known = 19 if protocol.startswith("kraft") else 20  # what is fetched in a round the leader learns in the next one
        assert [(row["appended"], row["acked"], row["elections"], row["hw"]) for row in rows] == [(20, known, 0, known)] * 2
    assert set(GROUP_PROTOCOLS) == {
        "quorum", "raft", "raft-mutant-commit-of-older-term", "raft-mutant-vote-without-comparing-logs",
        "raft-mutant-votes-twice", "raft-mutant-vote-forgotten", "raft-mutant-append-without-previous",
        "raft-mutant-older-leader-followed", "raft-mutant-joint-by-new-majority-alone",
        "raft-mutant-changes-before-the-last-is-committed", "raft-mutant-changes-before-a-commit-of-its-term",
        "quorum-mutant-elected-without-comparing-logs",
        "quorum-mutant-append-without-previous", "quorum-mutant-older-leader-followed",
        "primary-backup-sync", "primary-backup-async", "pacifica", "pacifica-mutant-lease-without-clock-bound",
        "pacifica-mutant-any-version", "pacifica-mutant-commit-before-all-prepared", "pacifica-mutant-added-before-caught-up",
        "pacifica-mutant-prepare-without-previous", "zab", "zab-mutant-own-history", "zab-mutant-history-by-zxid-alone",
        "zab-mutant-established-without-acks", "zab-mutant-history-not-cut", "zab-mutant-promise-forgotten",
        "zab-mutant-older-leader-followed", "kraft", "kraft-mutant-high-watermark-at-epoch-start",
        "kraft-mutant-vote-without-comparing-logs", "kraft-mutant-votes-twice", "kraft-mutant-vote-forgotten",
        "kraft-mutant-fetch-without-epoch", "kraft-mutant-older-leader-followed",
        "kraft-mutant-voters-change-before-the-last-is-committed", "kraft-mutant-voters-change-before-a-commit-of-its-epoch",
        "viewstamped", "viewstamped-mutant-own-log", "viewstamped-mutant-longest-log", "viewstamped-mutant-view-without-quorum",
        "viewstamped-mutant-older-primary-followed", "viewstamped-mutant-returns-with-nothing",
        "viewstamped-mutant-recovers-from-any-primary",
        "hdfs-journal", "hdfs-journal-mutant-older-writer-served", "hdfs-journal-mutant-promise-forgotten",
        "hdfs-journal-mutant-own-segment", "hdfs-journal-mutant-longest-segment",
        "hdfs-journal-mutant-accepted-recovery-forgotten", "hdfs-journal-mutant-recovered-without-acks",
        "hdfs-journal-mutant-accepted-by-length", "hdfs-journal-mutant-started-before-finalized",
    }  # fmt: skip


@pytest.mark.skipif(not is_compiling(), reason="half an hour as ordinary Python")
def test_every_choice_of_five() -> None:
    """Of one run over the same faults those choices lose committed records whose sum is not above five, and no other."""
    run = example("quorum_choices")
    lost = {scenario.name: 0 for scenario in run.scenarios}
    for row in tables_of(run)["outcomes"]:
        lost[run.scenarios[row["scenario_id"]].name] += row["committed_lost"]
    choices = {f"acks.to.commit = {a}, logs.compared = {v}": a + v > 5 for a in range(1, 6) for v in range(1, 6)}
    assert {name: count == 0 for name, count in lost.items() if name != "base"} == choices
    assert lost["acks.to.commit = 2, logs.compared = 3"] == 366


@pytest.mark.skipif(not is_compiling(), reason="thousands of schedules as ordinary Python")
def test_every_choice_up_to_five() -> None:
    """The example with all N, A and V, a fifth of it: those with A + V <= N lose what is committed, and no other."""
    run = example("all_quorum_choices")
    (whole,) = run.scenarios
    topics = tuple(replace(topic, assignment=topic.assignment[::5]) for topic in whole.topics)
    lost = {topic.name: 0 for topic in topics}
    for row in tables_of(replace(run, scenarios=(replace(whole, topics=topics),)))["outcomes"]:
        lost[row["topic"]] += row["committed_lost"]
    choices = [(n, a, v) for n in range(1, 6) for a in range(1, n + 1) for v in range(1, n + 1)]
    assert {name: count == 0 for name, count in lost.items()} == {f"n{n}a{a}v{v}": a + v > n for n, a, v in choices}


@pytest.mark.skipif(not is_compiling(), reason="80,000 rounds as ordinary Python")
def test_the_disruptive_server() -> None:
    """The example: whoever leads steps down again and again, but with pre-vote or a check of the quorum never."""
    run = example("disruptive_server")
    elections = {scenario.name: 0 for scenario in run.scenarios}
    for row in tables_of(run)["outcomes"]:
        elections[run.scenarios[row["scenario_id"]].name] += row["elections"]
    assert elections.pop("base") == 1140
    assert set(elections.values()) == {0}


def test_rounds_are_compiled_once(tmp_path: Path) -> None:
    """A payload's arrays and a test's are of the same types: another signature would be compiled again, in every task."""
    play_block([random_case("raft", 1, rounds=5), random_case("quorum", 1, rounds=5)])
    tables_of(load(tmp_path, SEVERAL.partition("[[variants]]")[0]))
    assert not is_compiling() or [len(getattr(ENTRY_POINTS[one], "signatures", ())) for one in (QUORUM, RAFT)] == [1, 1]


FILE = """
protocol = "raft"
rounds = 20
[cluster]
brokers = 3
[[topics]]
name = "t"
partitions = 1
replication_factor = 3
"""

WRONG = {
    'protocol = "raf"': "protocol",
    "cluster.features = {}": "cluster.features",
    "cluster.network_bytes_per_second = 5": "cluster.network_bytes_per_second",
    'consumers = [{ group = "g", topic = "t" }]': "consumers",
    'commands = [{ kind = "delete_topic", topic = "t", round = 3 }]': "commands",
    'commands = [{ kind = "reassign", topic = "t", partition = 0, replicas = [], round = 3 }]': "commands[0].replicas",
    'commands = [{ kind = "reassign", topic = "t", partition = 0, replicas = [9], round = 3 }]': "commands[0].replicas",
    'protocol = "zab"\ncommands = [{ kind = "reassign", topic = "t", partition = 0, replicas = [1], round = 3 }]': "commands",
    'initial.replicas = [{ topic = "t", partition = 0, broker = 1, leo = 5 }]': "initial",
    'cluster.config = { "acks.to.commit" = 4 }': "cluster.config.'acks.to.commit'",
    'cluster.config = { "logs.compared" = 0 }': "cluster.config.'logs.compared'",
    'cluster.config = { flush = "always" }': "cluster.config.flush",
    'cluster.config = { "min.insync.replicas" = 2 }': "cluster.config.'min.insync.replicas'",
    'workload = [{ topic = "t", records_per_round = 1, acks = "1" }]': "workload",
    'workload = [{ topic = "t", records_per_second = 0.3 }]': "workload",
    'faults = [{ kind = "client_crash", topic = "t", from_round = 3 }]': "faults",
    'events = ["copy_started"]': "events",
}
"""A line at the top of a variant -> where it is wrong."""


@pytest.mark.parametrize("line", WRONG)
def test_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(InputError, match=r"; allowed: ") as told:
        load(tmp_path, f'{FILE}[[variants]]\nname = "v"\n{line}\n')
    assert WRONG[line].partition(".'")[0] in str(told.value)


REASSIGN = """
[[workload]]
topic = "t"
records_per_round = 1
[[commands]]
kind = "reassign"
topic = "*"
partition = 0
round = 5
replicas = [{first}]
[[commands]]
kind = "reassign"
topic = "t"
partition = 0
round = 9
replicas = [{then}]
"""


def test_members_are_changed_by_command(tmp_path: Path) -> None:
    """One of three is replaced by a joint configuration, then another one; by two of one server each in the other scenario."""
    text = FILE.replace("brokers = 3", 'brokers = 5\nconfig = { "check.quorum" = true }')
    text = text.replace("partitions = 1\nreplication_factor = 3", "assignment = [[1, 2, 3]]")
    commands = REASSIGN.format(first="1, 2, 4", then="1, 5, 4")
    one_by_one = '[[variants]]\nname = "v"\ntopics = [{ name = "t", config = { "members.change" = "one-at-a-time" } }]\n'
    tables = tables_of(load(tmp_path, text + commands + one_by_one))
    changed = [(row["scenario_id"], row["round"], row["broker"]) for row in tables["events"] if row["kind"] == "configuration"]
    assert changed == [(number, round_, 1) for number in (0, 1) for round_ in (6, 7, 10, 11)]
    assert [row["isr"] for row in tables["outcomes"]] == [[1, 4, 5]] * 2
    assert [row["replicas"] for row in tables["partitions"]] == [[1, 2, 3]] * 2
    assert [row["acked"] for row in tables["outcomes"]] == [20] * 2


def test_the_bug_of_one_at_a_time() -> None:
    """The example: what is committed is lost where a change does not wait for a commit, and the change is of one server."""
    tables = tables_of(example("one_at_a_time"))
    assert {row["scenario_id"] for row in tables["violations"]} == {1}
    assert "LeaderCompleteness" in {row["invariant"] for row in tables["violations"]}


def test_no_more_than_twelve_servers(tmp_path: Path) -> None:
    text = FILE.replace("brokers = 3", "brokers = 13").replace("replication_factor = 3", "replication_factor = 12")
    asked = '[[commands]]\nkind = "reassign"\ntopic = "t"\npartition = 0\nround = 3\nreplicas = [1, 13, 5]\n'
    with pytest.raises(InputError, match="13 servers"):
        load(tmp_path, text + asked)


def test_notes(tmp_path: Path) -> None:
    """What has no effect is told."""
    config = '"acks.to.commit" = 2, "pre.vote" = true'
    text = FILE.replace("brokers = 3", f"brokers = 3\nconfig = {{ {config} }}")
    slow = '{ kind = "slow_disk", broker = 1, bytes_per_second = 5, from_round = 1 }'
    faults = f'faults = [{slow}, {{ kind = "controller_loss", from_round = 2 }}]'
    notes = "\n".join(notes_of(load(tmp_path, f'{text}[[variants]]\nname = "q"\nprotocol = "quorum"\n{faults}\n')))
    assert "acks.to.commit (of raft)" in notes
    assert "pre.vote (of quorum)" in notes
    assert "no effect on quorum: slow_disk" in notes


POWER = """
protocol = "raft"
rounds = 60
[cluster]
brokers = 3
racks = 1
[[topics]]
name = "t"
partitions = 3
replication_factor = 3
[[workload]]
topic = "t"
records_per_round = 2
[[faults]]
kind = "rack_loss"
rack = "0"
power = true
from_round = 25
to_round = 30
"""


@pytest.mark.parametrize("protocol", ["raft", "quorum", "pacifica", "primary-backup-sync", "primary-backup-async"])
@pytest.mark.parametrize(
    ("flush", "lost", "damaged"),
    [("every-write", 0, 0), ("interval", 8, 9), ("never", 50, 9)],
)
def test_what_a_power_loss_of_all_takes(tmp_path: Path, protocol: str, flush: str, lost: int, damaged: int) -> None:
    """All lose their power after round 24; with an interval of 10 rounds what was flushed last is of round 20."""
    config = f'config = {{ flush = "{flush}", "flush.interval.ms" = 5000 }}'
    text = POWER.replace("racks = 1", f"racks = 1\n{config}").replace('"raft"', f'"{protocol}"')
    tables = tables_of(load(tmp_path, text))
    assert [row["acked_lost"] for row in tables["outcomes"]] == [lost] * 3
    damages = [event for event in tables["events"] if event["kind"] == "log_damaged"]
    assert len(damages) == damaged
    assert all(event["cause"] == 0 for event in damages)
    assert tables["violations"] == []


@pytest.mark.parametrize("protocol", ["raft", "pacifica", "primary-backup-async"])
def test_acknowledged_is_on_disk(tmp_path: Path, protocol: str) -> None:
    """With an fsync of two rounds records wait for it; what the power takes of the last two was acknowledged to nobody."""
    config = 'config = { "fsync.ms" = 1000 }'
    text = POWER.replace("racks = 1", f"racks = 1\n{config}").replace('"raft"', f'"{protocol}"')
    tables = tables_of(load(tmp_path, text))
    assert [row["acked_lost"] for row in tables["outcomes"]] == [0] * 3
    assert {event["from_offset"] for event in tables["events"] if event["kind"] == "log_damaged"} == {46}
    assert {one["rounds"] for row in tables["groups"] for one in row["latencies"]} == {2}


@pytest.mark.parametrize(("fsync_ms", "factor"), [(1, 100), (10, 1000)])
def test_what_an_fsync_of_each_write_costs(tmp_path: Path, fsync_ms: int, factor: int) -> None:
    """Of 100,000 records a second one a fsync: two to three orders of magnitude, as the document says (docs/quorum_rounds.md)."""
    text = FILE.replace("brokers = 3", f'brokers = 3\nconfig = {{ "fsync.ms" = {fsync_ms}, "records.per.fsync" = 1 }}')
    rows = tables_of(load(tmp_path, f'{text}[[workload]]\ntopic = "t"\nrecords_per_round = 50000\n'))["outcomes"]
    assert [(row["acked"], row["refused"]) for row in rows] == [(20 * 50_000 // factor, 20 * (50_000 - 50_000 // factor))]
