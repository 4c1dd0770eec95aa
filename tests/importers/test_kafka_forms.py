"""The forms Kafka's tools print their answers in, over versions and ways to save them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kafka_files import CAPTURES, DESCRIBE_HEALTHY, EXAMPLE, FIXTURES, LOG_DIRS_HEALTHY

from emulator.importers.kafka.checkpoints import read_leader_epoch_checkpoint, read_offset_checkpoint
from emulator.importers.kafka.data_dir import read_data_dirs
from emulator.importers.kafka.describe import read_describe
from emulator.importers.kafka.log_dirs import read_log_dirs
from emulator.importers.text_input import split_topic_partition


def rewritten(source: Path, folder: Path, *replacements: tuple[bytes, bytes]) -> str:
    data = source.read_bytes()
    for old, new in replacements:
        data = data.replace(old, new)
    (folder / "file.txt").write_bytes(data)
    return str(folder / "file.txt")


def test_3_6_form() -> None:
    description = read_describe(str(FIXTURES / "describe_3.6.txt"))
    topic = "click.stream_v-2"
    assert description.partition_counts == {topic: 3, "plain": 1}
    assert description.configs["plain"] == {}
    assert description.configs[topic] == {
        "cleanup.policy": "compact,delete",
        "segment.bytes": "1073741824",
        "follower.replication.throttled.replicas": "0:4,1:4",
        "min.insync.replicas": "2",
    }
    leaderless, moving = description.partitions[topic, 1], description.partitions[topic, 2]
    assert (leaderless.leader, leaderless.isr, leaderless.elr) == (-1, (2,), ())
    assert (moving.replicas, moving.adding, moving.removing) == ((4, 3, 1, 2), (4,), (2,))


def test_form_without_topic_id_and_with_offline_column() -> None:
    description = read_describe(str(FIXTURES / "describe_no_topic_id.txt"))
    assert description.topic_ids == {"orders": ""}
    first = description.partitions["orders", 0]
    assert (first.leader, first.replicas, first.isr) == (-1, (0, 1), ())


def test_not_available_elr_observers_and_columns_of_later_versions() -> None:
    description = read_describe(str(FIXTURES / "describe_not_available.txt"))
    assert all(state.elr == state.last_known_elr == () for state in description.partitions.values())
    assert description.observers == 2
    assert description.unknown_columns == {"Column Of Later"}
    # broker 4 is no replica: the reassignment had ended when the partition was described
    assert description.partitions["orders", 1].adding == ()
    assert description.ended_reassignments == 1
    placement = description.configs["orders"]["confluent.placement.constraints"]
    assert json.loads(placement)["observers"] == [{"count": 1}]


@pytest.mark.parametrize(
    "replacements",
    [
        [(b"\n", b"\r\n")],
        [(b"\n\t", b"\n        "), (b"\t", b"    ")],
        [(b": ", b":")],
        [(b"# org", b"\xef\xbb\xbf# org")],
        [(b"\n", b"\n\n")],
    ],
    ids=["CRLF", "tabs as spaces", "no space after colon", "byte order mark", "empty lines"],
)
def test_same_description_saved_otherwise(replacements: list[tuple[bytes, bytes]], tmp_path: Path) -> None:
    saved = read_describe(rewritten(DESCRIBE_HEALTHY, tmp_path, *replacements))
    original = read_describe(str(DESCRIBE_HEALTHY))
    assert (saved.partitions, saved.configs) == (original.partitions, original.configs)


def test_outputs_one_after_another(tmp_path: Path) -> None:
    parts = [CAPTURES / "topics_describe_b3_killed.txt", CAPTURES / "topics_describe_b3_killed_urp.txt"]
    parts.append(CAPTURES / "describe_elr0_kill_2back.txt")
    (tmp_path / "all.txt").write_bytes(b"\n".join(part.read_bytes() for part in parts))
    description = read_describe(str(tmp_path / "all.txt"))
    assert len(description.partitions) == 13 + 1
    assert set(description.configs) == {"pay", "orders", "solo", "seg", "d_elr0_kill"}


def test_log_dirs_with_and_without_text_lines() -> None:
    assert read_log_dirs(str(CAPTURES / "log_dirs_healthy.json")) == read_log_dirs(str(LOG_DIRS_HEALTHY))
    log_dirs = read_log_dirs(str(LOG_DIRS_HEALTHY))
    assert {broker: len(sizes) for broker, sizes in log_dirs.sizes_bytes.items()} == {1: 10, 2: 10, 3: 10}
    assert log_dirs.sizes_bytes[1]["seg", 0] == 2406132
    assert log_dirs.offset_lags == {1: {}, 2: {}, 3: {}}


def test_log_dirs_errors_lags_and_future_logs(tmp_path: Path) -> None:
    def replica(name: str, size: int, lag: int, is_future: bool) -> dict[str, Any]:
        return {"partition": name, "size": size, "offsetLag": lag, "isFuture": is_future}

    failed = {"logDir": "/d2", "error": "org.apache.kafka.common.errors.KafkaStorageException", "partitions": []}
    replicas = [replica("a-b-0", 7, 3, False), replica("a-b-0", 99, 9, True), replica("c.d-12", 8, -1, False)]
    brokers = [{"broker": 5, "logDirs": [{"logDir": "/d1", "error": None, "partitions": replicas}, failed]}]
    # two outputs, the first printed on many lines
    text = json.dumps({"version": 1, "brokers": brokers}, indent=2) + '\nQuerying brokers ...\n{"brokers":[]}\n'
    (tmp_path / "log_dirs.txt").write_text(text)
    log_dirs = read_log_dirs(str(tmp_path / "log_dirs.txt"))
    assert log_dirs.sizes_bytes == {5: {("a-b", 0): 7, ("c.d", 12): 8}}
    assert log_dirs.offset_lags == {5: {("a-b", 0): 3}}
    assert log_dirs.with_several == {5}
    assert log_dirs.failed == ["/d2 of broker 5 (org.apache.kafka.common.errors.KafkaStorageException)"]


def test_real_checkpoint_files() -> None:
    offsets = read_offset_checkpoint(str(EXAMPLE / "broker3" / "replication-offset-checkpoint"))
    assert len(offsets) == 10
    assert (offsets["orders", 0], offsets["solo", 2]) == (3, 7)
    assert read_offset_checkpoint(str(EXAMPLE / "broker1" / "log-start-offset-checkpoint")) == {}
    for broker in (1, 2, 3):
        path = CAPTURES / "tiered" / f"leader-epoch-checkpoint.b{broker}"
        assert read_leader_epoch_checkpoint(str(path)) == [(1, 95), (2, 120)]


def test_real_data_directory() -> None:
    topic_ids = dict.fromkeys([("orders", 0), ("orders", 1), ("pay", 0), ("pay", 1)], "")
    files = read_data_dirs(1, str(EXAMPLE / "broker1"), topic_ids)
    assert files.cluster_id == "MkU3OEVBNTcwNTJENDM2Qg"
    assert set(files.folders) == {("orders", 0), ("orders", 1), ("pay", 0)}
    assert ("seg", 0) in files.undescribed
    assert files.missing_files == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("orders-0", ("orders", 0)),
        ("a-b.c_d-12", ("a-b.c_d", 12)),
        ("orders-0.1f2e3d4c5b6a79880716253443526170-delete", None),
        ("orders-0.1f2e3d4c5b6a79880716253443526170-future", None),
        ("orders-0.1f2e3d4c5b6a79880716253443526170-stray", None),
        ("remote-log-index-cache", None),
        ("-1", None),
        ("orders", None),
    ],
)
def test_partition_folder_names(name: str, expected: tuple[str, int] | None) -> None:
    assert split_topic_partition(name) == expected
