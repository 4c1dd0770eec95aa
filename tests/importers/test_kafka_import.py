"""The import as a whole: real captures in, the four tables out, the folder complete or absent."""

from __future__ import annotations

import importlib.util
import json
import os
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from kafka_files import CAPTURES, DATA_DIRS, DESCRIBE_HEALTHY, FIXTURES, LOG_DIRS_HEALTHY, replica_rows, table_rows

from emulator.errors import InputError
from emulator.importers.kafka import import_kafka
from emulator.importers.kafka.tables import BROKERS, PARTITIONS, REMOTE_SEGMENTS, REPLICAS, TOPIC_CONFIGS

TABLES = {
    **{"brokers": BROKERS, "partitions": PARTITIONS, "replicas": REPLICAS, "remote_segments": REMOTE_SEGMENTS},
    "topic_configs": TOPIC_CONFIGS,
}
DESCRIPTIONS = [DESCRIBE_HEALTHY, *sorted(CAPTURES.glob("*describe*")), *sorted(FIXTURES.glob("describe_*.txt"))]


@pytest.fixture
def healthy(tmp_path: Path) -> Path:
    """The import of the bundled cluster, with everything there is of it."""
    import_kafka(str(DESCRIBE_HEALTHY), str(LOG_DIRS_HEALTHY), DATA_DIRS, str(tmp_path / "out"))
    return tmp_path / "out"


@pytest.mark.parametrize("describe", DESCRIPTIONS, ids=lambda path: path.name)
def test_every_description_imports_alone(describe: Path, tmp_path: Path) -> None:
    summary = import_kafka(str(describe), None, {}, str(tmp_path / "out"))
    assert summary.partitions == len(table_rows(tmp_path / "out", "partitions")) > 0
    for name, schema in TABLES.items():
        assert pq.read_schema(tmp_path / "out" / f"{name}.parquet").equals(schema)


@pytest.mark.parametrize("form", ["txt", "json"])
@pytest.mark.parametrize(("name", "largest_bytes"), [("b3_killed", 2406132), ("during_reassign", 24003150), ("healthy", 2406132)])
def test_every_log_dirs_output_imports(name: str, form: str, largest_bytes: int, tmp_path: Path) -> None:
    describe = DESCRIBE_HEALTHY if name == "healthy" else CAPTURES / f"topics_describe_{name}.txt"
    log_dirs = LOG_DIRS_HEALTHY if (name, form) == ("healthy", "txt") else CAPTURES / f"log_dirs_{name}.{form}"
    import_kafka(str(describe), str(log_dirs), {}, str(tmp_path / "out"))
    assert max(row["log_bytes"] for row in table_rows(tmp_path / "out", "replicas")) == largest_bytes


def test_healthy_cluster_values(healthy: Path) -> None:
    assert table_rows(healthy, "brokers") == [{"broker": broker, "rack": None} for broker in (1, 2, 3)]
    partitions = table_rows(healthy, "partitions")
    assert [(row["topic"], row["partition"]) for row in partitions] == sorted(
        [("pay", n) for n in range(3)] + [("orders", n) for n in range(6)] + [("solo", n) for n in range(3)] + [("seg", 0)]
    )
    assert partitions[4] == {
        **{"topic": "orders", "partition": 4, "replicas": [3, 2, 1], "leader": 3, "leader_epoch": 0},
        **{"isr": [1, 2, 3], "elr": [], "last_known_elr": [], "adding": [], "removing": []},
    }
    configs = {(row["topic"], row["key"]): row["value"] for row in table_rows(healthy, "topic_configs")}
    assert len(configs) == 3 + 3 + 3 + 5
    assert configs["seg", "segment.bytes"] == "1048576"
    assert configs["solo", "min.insync.replicas"] == "1"


def test_healthy_cluster_logs_are_each_brokers_own(healthy: Path) -> None:
    replicas = replica_rows(healthy)
    assert len(replicas) == 3 * 2 + 6 * 3 + 3 + 3
    ends = {broker: [replicas["orders", n, broker]["leo"] for n in range(6)] for broker in (1, 2, 3)}
    assert ends == {1: [5, 7, 9, 11, 13, 15], 2: [5, 7, 9, 11, 13, 15], 3: [3, 5, 7, 9, 11, 13]}
    assert replicas["seg", 0, 2] == {
        **{"topic": "seg", "partition": 0, "broker": 2, "log_start_offset": 0, "leo": 600, "hw": 600},
        **{"flushed_offset": 500, "epochs": [(0, 0)], "log_bytes": 2406132, "local_log_start_offset": 0},
        **{"segments": None, "segment_bytes": None},
    }
    assert replicas["solo", 2, 3]["hw"] == 7
    assert replicas["pay", 1, 2]["epochs"] == [(0, 0)]
    assert replicas["orders", 5, 1]["log_bytes"] == 272
    assert all(row["hw"] == row["leo"] for row in replicas.values())


def test_summary_counts_and_notes(tmp_path: Path) -> None:
    describe = CAPTURES / "topics_describe_b3_killed.txt"
    summary = import_kafka(str(describe), None, DATA_DIRS, str(tmp_path / "out"))
    assert (summary.brokers, summary.topics, summary.partitions, summary.replicas) == (3, 4, 13, 30)
    assert (summary.leaderless_partitions, summary.under_replicated_partitions, summary.topic_configs) == (1, 10, 14)
    text = str(summary)
    assert text.startswith("3 brokers, 4 topics, 13 partitions, 30 replicas, 1 partitions without leader, 10 under-rep")
    assert "30 logs have no .log segments" in text
    stored = json.loads((tmp_path / "out" / "import_summary.json").read_text())
    assert stored["notes"] == summary.notes


def test_broker_three_lags_is_noted(tmp_path: Path) -> None:
    summary = import_kafka(str(DESCRIBE_HEALTHY), str(LOG_DIRS_HEALTHY), DATA_DIRS, str(tmp_path / "out"))
    # orders-0, 1, 3 and 5; the files make broker 3 the one that ends lower also where it leads (2 and 4)
    assert any(note.startswith("4 ISR members end below their leader's HW") for note in summary.notes)


def test_brokers_with_several_log_directories_are_noted(tmp_path: Path) -> None:
    text = LOG_DIRS_HEALTHY.read_text()
    lines = [line for line in text.splitlines() if line.startswith("{")]
    report = json.loads(lines[0])
    report["brokers"][0]["logDirs"].append({"logDir": "/second", "error": None, "partitions": []})
    (tmp_path / "log_dirs.txt").write_text(json.dumps(report))
    noted = {}
    for name, path in (("one each", LOG_DIRS_HEALTHY), ("two of one", tmp_path / "log_dirs.txt")):
        notes = import_kafka(str(DESCRIBE_HEALTHY), str(path), DATA_DIRS, str(tmp_path / "out")).notes
        noted[name] = [note for note in notes if "log directories" in note]
    assert noted == {
        "one each": [],
        "two of one": ["1 broker has several log directories: a broker has one disk here, which fails and is slow as a whole"],
    }


def test_leaderless_partition_with_elr(tmp_path: Path) -> None:
    import_kafka(str(CAPTURES / "topics_describe_b3_killed.txt"), None, {}, str(tmp_path / "out"))
    solo = next(row for row in table_rows(tmp_path / "out", "partitions") if row["topic"] == "solo" and row["partition"] == 2)
    assert (solo["leader"], solo["isr"], solo["elr"], solo["last_known_elr"]) == (-1, [], [3], [3])


def test_partition_under_reassignment(tmp_path: Path) -> None:
    import_kafka(str(CAPTURES / "topics_describe_during_reassign.txt"), None, {}, str(tmp_path / "out"))
    first = table_rows(tmp_path / "out", "partitions")[0]
    assert (first["replicas"], first["isr"], first["adding"], first["removing"]) == ([3, 2, 1], [1, 2], [3], [1])
    configs = {row["key"]: row["value"] for row in table_rows(tmp_path / "out", "topic_configs")}
    assert configs["leader.replication.throttled.replicas"] == "0:1,0:2"
    assert configs["follower.replication.throttled.replicas"] == "0:3"


def test_filtered_listing_has_no_configs(tmp_path: Path) -> None:
    describe = CAPTURES / "topics_describe_b3_killed_under_min_isr.txt"
    summary = import_kafka(str(describe), None, {}, str(tmp_path / "out"))
    assert (summary.partitions, summary.topic_configs) == (3, 0)
    assert any(note.startswith("2 topics are listed without their header") for note in summary.notes)


def test_import_is_deterministic(healthy: Path, tmp_path: Path) -> None:
    import_kafka(str(DESCRIBE_HEALTHY), str(LOG_DIRS_HEALTHY), DATA_DIRS, str(tmp_path / "again"))
    for name in os.listdir(healthy):
        assert (healthy / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_earlier_import_is_replaced(healthy: Path) -> None:
    import_kafka(str(CAPTURES / "describe_elr0_kill_2back.txt"), None, {}, str(healthy))
    assert [row["topic"] for row in table_rows(healthy, "partitions")] == ["d_elr0_kill"]
    assert sorted(os.listdir(healthy.parent)) == ["out"]


def test_earlier_import_survives_a_wrong_one(healthy: Path, tmp_path: Path) -> None:
    before = {name: (healthy / name).read_bytes() for name in os.listdir(healthy)}
    with pytest.raises(InputError):
        import_kafka(str(LOG_DIRS_HEALTHY), None, {}, str(healthy))
    assert {name: (healthy / name).read_bytes() for name in os.listdir(healthy)} == before


def test_failed_write_leaves_the_earlier_import(healthy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = sorted(os.listdir(healthy))
    monkeypatch.setattr(pq, "write_table", full_disk)
    with pytest.raises(InputError, match="No space left"):
        import_kafka(str(DESCRIBE_HEALTHY), None, {}, str(healthy))
    assert sorted(os.listdir(healthy)) == before
    assert os.listdir(healthy.parent) == ["out"]


def test_file_uri_and_missing_parents(tmp_path: Path) -> None:
    import_kafka(str(DESCRIBE_HEALTHY), None, {}, f"file://{tmp_path}/a/b")
    assert len(table_rows(tmp_path / "a" / "b", "partitions")) == 13


def test_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    import_kafka(str(DESCRIBE_HEALTHY), None, {}, str(tmp_path / "out"))
    assert (tmp_path / "out" / "replicas.parquet").is_file()


@pytest.mark.parametrize("foreign", ["notes.txt", "brokers.parquet"])
def test_foreign_folder_is_left_alone(foreign: str, tmp_path: Path) -> None:
    (tmp_path / foreign).write_text("mine")
    with pytest.raises(InputError, match=f"--out: holds other files \\({foreign}\\); allowed"):
        import_kafka(str(DESCRIBE_HEALTHY), None, {}, str(tmp_path))
    assert os.listdir(tmp_path) == [foreign]


def test_out_that_is_a_file_or_remote(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="--out: is a file"):
        import_kafka(str(DESCRIBE_HEALTHY), None, {}, str(tmp_path / "file"))
    with pytest.raises(InputError, match="--out: is not on this machine"):
        import_kafka(str(DESCRIBE_HEALTHY), None, {}, "hdfs://namenode/out")


def test_five_thousand_partitions_in_seconds(tmp_path: Path) -> None:
    path = Path(__file__).parents[2] / "benchmarks" / "import_kafka.py"
    spec = importlib.util.spec_from_file_location("import_kafka_benchmark", path)
    assert spec is not None and spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    cluster = benchmark.generate_cluster(str(tmp_path), 5_000)
    started = time.perf_counter()
    summary = import_kafka(cluster.describe, cluster.log_dirs, cluster.data_dirs, str(tmp_path / "out"))
    # 0.5 s on an idle core; 100,000 partitions have a minute
    assert time.perf_counter() - started < 10
    assert (summary.partitions, summary.replicas, summary.topic_configs) == (5_000, 15_000, 300)
    replicas = replica_rows(tmp_path / "out")
    for index in (0, 49, 50, 4_999):
        topic, partition = benchmark.topic_partition(index)
        for broker in (1, 2, 3):
            row, end = replicas[topic, partition, broker], benchmark.log_end(index) - benchmark.lag(broker)
            assert (row["log_start_offset"], row["leo"], row["hw"]) == (10, end, end)
            assert (row["flushed_offset"], row["epochs"]) == (900, [(0, 10), (2, 400), (5, 800)])
