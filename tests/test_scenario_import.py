"""Scenarios that start from an imported cluster, and its copies on more brokers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from emulator.errors import InputError
from emulator.scenario import Broker, Scenario, load_run

INTS = pa.list_(pa.int32())
EPOCHS = pa.list_(pa.struct([("epoch", pa.int32()), ("start_offset", pa.int64())]))
BROKERS = pa.schema([("broker", pa.int32()), ("rack", pa.string())])
PARTITIONS = pa.schema(
    [("topic", pa.string()), ("partition", pa.int32()), ("replicas", INTS), ("leader", pa.int32()),
     ("leader_epoch", pa.int32()), ("isr", INTS), ("elr", INTS)]
)  # fmt: skip
REPLICAS = pa.schema(
    [("topic", pa.string()), ("partition", pa.int32()), ("broker", pa.int32()), ("log_start_offset", pa.int64()),
     ("leo", pa.int64()), ("hw", pa.int64()), ("flushed_offset", pa.int64()), ("epochs", EPOCHS),
     ("log_bytes", pa.int64()), ("local_log_start_offset", pa.int64()), ("segments", pa.list_(pa.int64()))]
)  # fmt: skip
REMOTE = pa.schema(
    [("topic", pa.string()), ("partition", pa.int32()), ("base_offset", pa.int64()), ("end_offset", pa.int64()),
     ("epochs", EPOCHS), ("bytes", pa.int64()), ("state", pa.string())]
)  # fmt: skip
CONFIGS = pa.schema([("topic", pa.string()), ("key", pa.string()), ("value", pa.string())])
SCENARIO = 'rounds = 100\n{}\n[cluster]\nimport = "real"\n{}\n'


def partition(topic: str, number: int, replicas: list[int] | None, leader: int, isr: list[int] | None) -> dict[str, Any]:
    return {"topic": topic, "partition": number, "replicas": replicas, "leader": leader, "leader_epoch": 4, "isr": isr,
            "elr": []}  # fmt: skip


def replica(topic: str, number: int, broker: int, leo: int | None, **more: Any) -> dict[str, Any]:
    row = {"topic": topic, "partition": number, "broker": broker, "log_start_offset": 2, "leo": leo, "hw": leo,
           "epochs": [{"epoch": 3, "start_offset": 2}]}  # fmt: skip
    return row | more


def remote(topic: str, number: int, base: int, end: int, **more: Any) -> dict[str, Any]:
    row = {"topic": topic, "partition": number, "base_offset": base, "end_offset": end, "bytes": 500, "state": "COPY_FINISHED",
           "epochs": [{"epoch": 3, "start_offset": base}]}  # fmt: skip
    return row | more


def write_real(folder: Path, **changes: list[dict[str, Any]]) -> None:
    """A cluster of brokers 5, 7 and 9; rows out of order, a HW above its LEO, a stray replica, a foreign config key."""
    tables = {
        "brokers": [{"broker": 9, "rack": "c"}, {"broker": 5, "rack": "a"}, {"broker": 7, "rack": "b"}],
        "partitions": [
            partition("b", 0, [9, 5, 7], 9, [5, 9]),
            partition("a", 1, [7, 9], -1, [7]),
            partition("a", 0, [5, 7], 5, [5, 7]),
        ],
        "replicas": [
            replica("a", 0, 5, 10, log_bytes=800, flushed_offset=12),
            replica("a", 0, 7, 10, hw=11, log_bytes=3),
            replica("a", 1, 7, 2, epochs=None),
            replica("b", 0, 9, 6, epochs=None, hw=None),
            replica("b", 0, 7, None),
            replica("gone", 0, 7, 3),
            replica("a", 0, 9, 3),
        ],
        "topic_configs": [
            {"topic": "a", "key": "min.insync.replicas", "value": "2"},
            {"topic": "a", "key": "vendor.key", "value": "2"},
            {"topic": "b", "key": "unclean.leader.election.enable", "value": "true"},
        ],
    } | changes
    schemas = {"brokers": BROKERS, "partitions": PARTITIONS, "replicas": REPLICAS, "topic_configs": CONFIGS,
               "remote_segments": REMOTE}  # fmt: skip
    (folder / "real").mkdir()
    for name, rows in tables.items():
        pq.write_table(pa.Table.from_pylist(rows, schema=schemas[name]), folder / "real" / f"{name}.parquet")


def base_of(folder: Path, top: str = "", cluster: str = "") -> Scenario:
    (folder / "scenario.toml").write_text(SCENARIO.format(top, cluster))
    return load_run(str(folder / "scenario.toml")).scenarios[0]


def message_of(folder: Path, cluster: str = "") -> str:
    with pytest.raises(InputError) as caught:
        base_of(folder, cluster=cluster)
    return str(caught.value)


def test_import(tmp_path: Path) -> None:
    write_real(tmp_path)
    base = base_of(tmp_path)
    assert base.brokers == (Broker(5, "a"), Broker(7, "b"), Broker(9, "c"))
    assert [(t.name, t.assignment.tolist()) for t in base.topics] == [("a", [[5, 7], [7, 9]]), ("b", [[9, 5, 7]])]
    assert base.topics[0].config == {"min.insync.replicas": 2, "vendor.key": "2"}
    assert base.topics[1].config == {"unclean.leader.election.enable": True}
    assert [tuple(row.values()) for row in base.initial_partitions.to_pylist()] == [
        ("a", 0, 5, 4, [5, 7], []),
        ("a", 1, -1, 4, [7], []),
        ("b", 0, 9, 4, [5, 9], []),
    ]
    kept = ("topic", "partition", "broker", "local_log_start_offset", "leo", "hw", "flushed_offset", "record_bytes")
    assert [tuple(row[key] for key in kept) for row in base.initial_replicas.to_pylist()] == [
        ("a", 0, 5, 2, 10, 10, 10, 100),
        ("a", 0, 7, 2, 10, 10, None, 1),
        ("a", 1, 7, 2, 2, 2, None, None),
        ("b", 0, 9, 2, 6, 2, None, None),
    ]
    caches = [[(e["epoch"], e["start_offset"]) for e in cache] for cache in base.initial_replicas["epochs"].to_pylist()]
    assert caches == [[(3, 2)], [(3, 2)], [], [(0, 2)]]


TIERED = {
    "replicas": [
        replica("a", 0, 5, 30, local_log_start_offset=20, hw=18, segments=[20, 25], log_bytes=800),
        replica("a", 0, 7, 30, local_log_start_offset=25),
    ],
    "remote_segments": [remote("a", 0, 2, 11), remote("a", 0, 12, 24), remote("a", 0, 25, 29, state="COPY_STARTED")],
}


A_IS_TIERED = [{"topic": "a", "key": "remote.storage.enable", "value": "true"}]
SYSTEM_ON = 'config = { "remote.log.storage.system.enable" = true }\n'


def test_an_import_with_remote_storage(tmp_path: Path) -> None:
    write_real(tmp_path, **TIERED, topic_configs=A_IS_TIERED)
    base = base_of(tmp_path, cluster=SYSTEM_ON)
    kept = ("log_start_offset", "local_log_start_offset", "leo", "hw", "record_bytes")
    # a HW is not below the local log start; bytes are those of the records on the disk
    assert [tuple(row[key] for key in kept) for row in base.initial_replicas.to_pylist()] == [
        (2, 20, 30, 20, 80),
        (2, 25, 30, 30, None),
    ]
    none_given = {"copier": None, "unread": None, "moved_bytes": None}  # columns of the file's own segments
    assert base.initial_remote_segments.to_pylist() == [row | none_given for row in TIERED["remote_segments"]]


def test_a_segment_that_the_log_start_cuts_begins_with_the_local_log(tmp_path: Path) -> None:
    """As after DeleteRecords: the segment stays whole on the disk, and one before it until the next check."""
    rows = [
        replica("a", 0, 5, 30, log_start_offset=12, local_log_start_offset=12, epochs=None, segments=[0, 10, 20]),
        replica("a", 0, 7, 30, log_start_offset=12, local_log_start_offset=12, epochs=None, segments=[12, 20]),
    ]
    write_real(tmp_path, replicas=rows)
    assert base_of(tmp_path).initial_replicas["segments"].to_pylist() == [[12, 20], [12, 20]]


def test_remote_segments_of_the_import_and_of_the_file(tmp_path: Path) -> None:
    write_real(tmp_path, **TIERED, topic_configs=[*A_IS_TIERED, {**A_IS_TIERED[0], "topic": "b"}])
    more = SYSTEM_ON + '[[initial.remote_segments]]\ntopic = "b"\npartition = 0\nbase_offset = 0\nend_offset = 9\nbytes = 7\n'
    segments = base_of(tmp_path, cluster=more).initial_remote_segments.to_pylist()
    assert [(row["topic"], row["base_offset"]) for row in segments] == [("a", 2), ("a", 12), ("a", 25), ("b", 0)]


def test_remote_segments_of_a_topic_without_remote_storage(tmp_path: Path) -> None:
    write_real(tmp_path, **TIERED)
    assert 'cluster.import: has remote segments of topic "a", which has no remote storage; allowed: ' in message_of(tmp_path)


def test_scaled_remote_segments(tmp_path: Path) -> None:
    write_real(tmp_path, **TIERED, topic_configs=A_IS_TIERED)
    base = base_of(tmp_path, cluster=SYSTEM_ON + "scale = { partitions = 7, brokers = 6 }")
    found = [(row["partition"], row["base_offset"]) for row in base.initial_remote_segments.to_pylist()]
    # partition 0 is copied as 2 and 4, each with all of its segments
    assert sorted(found) == [(partition, base) for partition in (0, 2, 4) for base in (2, 12, 25)]
    assert base.initial_remote_segments.schema.names[: len(REMOTE.names)] == REMOTE.names


def test_topics_beside_and_over_the_imported(tmp_path: Path) -> None:
    write_real(tmp_path)
    base = base_of(tmp_path, cluster="""
[[topics]]
name = "a"
config = { "min.insync.replicas" = 1 }
[[topics]]
name = "new"
partitions = 3
replication_factor = 3
[[workload]]
topic = "a"
partitions = "1"
records_per_round = 1
""")  # fmt: skip
    assert [topic.name for topic in base.topics] == ["a", "b", "new"]
    assert base.topics[0].config == {"min.insync.replicas": 1, "vendor.key": "2"}
    assert base.topics[2].assignment[0].tolist() == [5, 7, 9]
    assert base_of(tmp_path, cluster="racks = 2").brokers == (Broker(5, "0"), Broker(7, "0"), Broker(9, "0"))


def test_scale(tmp_path: Path) -> None:
    write_real(tmp_path)
    base = base_of(tmp_path, cluster="scale = { partitions = 8, brokers = 6, racks = 3 }")
    assert base.brokers == tuple(Broker(b, str((b - 1) % 3)) for b in range(1, 7))
    # copy 0 on brokers 1 to 3, copy 1 on 4 to 6, copy 2 (of topic a only, cut short) on 1 to 3 again
    assert {t.name: t.assignment.tolist() for t in base.topics} == {
        "a": [[1, 2], [2, 3], [4, 5], [5, 6], [1, 2], [2, 3]],
        "b": [[3, 1, 2], [6, 4, 5]],
    }
    assert [tuple(row.values())[:5] for row in base.initial_partitions.to_pylist()] == [
        ("a", 0, 1, 4, [1, 2]), ("a", 1, -1, 4, [2]), ("a", 2, 4, 4, [4, 5]), ("a", 3, -1, 4, [5]),
        ("a", 4, 1, 4, [1, 2]), ("a", 5, -1, 4, [2]), ("b", 0, 3, 4, [1, 3]), ("b", 1, 6, 4, [4, 6]),
    ]  # fmt: skip
    found = [(row["topic"], row["partition"], row["broker"], row["leo"]) for row in base.initial_replicas.to_pylist()]
    assert sorted(found) == [
        ("a", 0, 1, 10), ("a", 0, 2, 10), ("a", 1, 2, 2), ("a", 2, 4, 10), ("a", 2, 5, 10), ("a", 3, 5, 2),
        ("a", 4, 1, 10), ("a", 4, 2, 10), ("a", 5, 2, 2), ("b", 0, 3, 6), ("b", 1, 6, 6),
    ]  # fmt: skip


def test_scale_defaults(tmp_path: Path) -> None:
    write_real(tmp_path)
    base = base_of(tmp_path, cluster="scale = { brokers = 6 }")
    assert [topic.partitions for topic in base.topics] == [4, 2]
    assert [broker.rack for broker in base.brokers] == ["a", "b", "c"] * 2  # a copy stands in the rack of the original
    assert [broker.id for broker in base_of(tmp_path, cluster="scale = {}").brokers] == [1, 2, 3]


def test_scale_refusals(tmp_path: Path) -> None:
    write_real(tmp_path)
    few = message_of(tmp_path, "scale = { partitions = 2 }")
    assert "cluster.scale.partitions: 2 is less than the imported 3; allowed: 3 or more" in few
    odd = message_of(tmp_path, "scale = { brokers = 7 }")
    assert "cluster.scale.brokers: 7 is no multiple of the imported 3; allowed: a multiple of 3" in odd
    moved = message_of(tmp_path, '[[topics]]\nname = "a"\npartitions = 4\nreplication_factor = 1')
    assert "topics[0] (a).partitions: the topic is imported, with its partitions; allowed: name, config" in moved


BAD_TABLES: dict[str, tuple[dict[str, list[dict[str, Any]]], str]] = {
    "gap": ({"partitions": [partition("a", 1, [5], 5, [5])]}, "row 1, column partition: partition 1 stands where 0"),
    "twice": (
        {"partitions": [partition("a", 0, [5], 5, [5]), partition("a", 0, [5], 5, [5])]},
        "row 2, column partition: partition 0 stands where 1",
    ),
    "broker": (
        {"partitions": [partition("a", 0, [6], 6, [6])]},
        "row 1, column replicas: [6] has a broker that does not",
    ),
    "overlap": ({"partitions": [partition("a", 0, [5, 5], 5, [5])]}, "row 1, column replicas: overlapping assignment"),
    "none": ({"partitions": [partition("a", 0, [], -1, [])]}, "row 1, column replicas: [] is no replica list"),
    "null": ({"partitions": [partition("a", 0, None, -1, [])]}, "row 1, column replicas: no value"),
    "no_rows": ({"partitions": []}, "partitions.parquet: file: has no partitions"),
    "leader": ({"partitions": [partition("a", 0, [5], 7, None)]}, "row 1, column leader: broker 7 holds no replica"),
    "isr": ({"partitions": [partition("a", 0, [5], 5, [5, 7])]}, "row 1, column isr: broker 7 holds no replica"),
    "broker_twice": ({"brokers": [{"broker": 5}, {"broker": 5}]}, "column broker: has 2 rows of 1 brokers"),
    "log": (
        {"replicas": [replica("gone", 0, 5, 1), replica("a", 0, 5, 1)]},
        "replicas.parquet: row 2, column leo: 1: local_log_start_offset is above leo",
    ),
    "remote_partition": (
        {"remote_segments": [remote("a", 0, 0, 5), remote("a", 2, 0, 5)]},
        "remote_segments.parquet: row 2, column partition: 2 is not a partition of the topic; allowed: 0 to 1",
    ),
    "remote_topic": ({"remote_segments": [remote("x", 0, 0, 5)]}, "row 1, column topic: topic"),
    "remote_end": ({"remote_segments": [remote("a", 0, 6, 5)]}, "row 1, column end_offset: 5 is below base_offset"),
    "remote_base": ({"remote_segments": [remote("a", 0, -1, 5)]}, "row 1, column base_offset: -1 is out of range; allowed: 0 or"),
    "remote_state": (
        {"remote_segments": [remote("a", 0, 0, 5, state="COPIED")]},
        'row 1, column state: state "COPIED" does not exist; allowed: COPY_STARTED, COPY_FINISHED',
    ),
    "remote_epochs": (
        {"remote_segments": [remote("a", 0, 0, 5, epochs=[{"epoch": 2, "start_offset": 3}, {"epoch": 1, "start_offset": 4}])]},
        "row 1, column epochs: ",
    ),
    "config": (
        {"topic_configs": [{"topic": "a", "key": "segment.bytes", "value": "big"}]},
        'topic_configs.parquet: row 1, column value: "big" is not a value of "segment.bytes"; allowed: an integer',
    ),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_import_tables(tmp_path: Path, name: str) -> None:
    changes, expected = BAD_TABLES[name]
    write_real(tmp_path, **changes)
    assert expected in message_of(tmp_path)


def test_missing_import_tables(tmp_path: Path) -> None:
    write_real(tmp_path)
    (tmp_path / "real" / "replicas.parquet").unlink()
    (tmp_path / "real" / "topic_configs.parquet").unlink()
    assert base_of(tmp_path).initial_replicas.num_rows == 0
    (tmp_path / "real" / "partitions.parquet").unlink()
    assert "partitions.parquet: file: does not exist" in message_of(tmp_path)


def test_a_hundred_thousand_partitions_in_seconds(tmp_path: Path) -> None:
    write_real(tmp_path)
    started = time.monotonic()
    base = base_of(tmp_path, cluster="scale = { partitions = 100000, brokers = 30, racks = 3 }")
    assert sum(topic.partitions for topic in base.topics) == 100_000
    assert time.monotonic() - started < 5
