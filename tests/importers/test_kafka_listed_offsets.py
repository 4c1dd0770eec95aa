"""Outputs of kafka-get-offsets: their forms, what they say of logs, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from kafka_files import (
    CAPTURES,
    DATA_DIRS,
    DESCRIBE_HEALTHY,
    batch,
    describe_lines,
    remote_rows,
    replica_rows,
    table_rows,
    write_checkpoint,
    write_data_dir,
    write_listed,
    write_segment,
)

from emulator.errors import InputError
from emulator.importers.kafka import ImportSummary, import_kafka
from emulator.importers.kafka.listed_offsets import ListedOffsets, PartitionOffsets, read_listed_offsets

TIERED = "Topic: t\tPartitionCount: {0}\tReplicationFactor: 2\tConfigs: remote.storage.enable=true,segment.bytes=20000"
PARTITION = "\tTopic: t\tPartition: {0}\tLeader: {1}\tReplicas: 1,2\tIsr: {2}"


def tiered_description(*partitions: str) -> str:
    """A description of tiered topic t; each partition as "LEADER|ISR" of replicas 1 and 2."""
    lines = [PARTITION.format(number, *state.split("|")) for number, state in enumerate(partitions)]
    return "\n".join([TIERED.format(len(partitions)), *lines]) + "\n"


def imported(
    folder: Path, describe: str, listed: dict[str, str], data_dirs: dict[int, str] | None = None
) -> tuple[dict[tuple[str, int, int], dict[str, Any]], ImportSummary]:
    (folder / "describe.txt").write_text(describe)
    offsets = write_listed(folder, **listed)
    summary = import_kafka(str(folder / "describe.txt"), None, data_dirs or {}, str(folder / "out"), offsets)
    return replica_rows(folder / "out"), summary


def starts_and_ends(row: dict[str, Any]) -> tuple[int, int, int, int]:
    return row["log_start_offset"], row["local_log_start_offset"], row["leo"], row["hw"]


def listed(folder: Path, **lines: str) -> ListedOffsets:
    return read_listed_offsets(write_listed(folder, **lines))


def test_captured_outputs(tmp_path: Path) -> None:
    times = ("earliest", "earliest-local", "latest-tiered", "latest")
    offsets = {time: [str(CAPTURES / f"get_offsets_{time}.txt")] for time in times}
    found = read_listed_offsets(offsets)
    # latest-tiered has a comment line only: the tool prints no line where there is no such offset
    assert [found.of(("orders", number)) for number in (0, 5)] == [PartitionOffsets(0, 0, -1, 5), PartitionOffsets(0, 0, -1, 15)]
    assert found.of(("pay", 0)) is None
    import_kafka(str(DESCRIBE_HEALTHY), None, DATA_DIRS, str(tmp_path / "out"), offsets)
    replicas = replica_rows(tmp_path / "out")
    # broker 3's checkpoints were two records behind; it is in the ISR, so it has what is below the HW
    assert [replicas["orders", number, 3]["leo"] for number in range(6)] == [5, 7, 9, 11, 13, 15]
    assert table_rows(tmp_path / "out", "remote_segments") == []


def test_forms(tmp_path: Path) -> None:
    found = listed(tmp_path, latest="a.b-c:3:7 a.b-c:10:9 d:0:0", latest_tiered="a.b-c:3: a.b-c:10:-1")
    assert found.of(("a.b-c", 3)) == PartitionOffsets(None, None, -1, 7)
    assert found.partitions() == {("a.b-c", 3), ("a.b-c", 10), ("d", 0)}


@pytest.mark.parametrize("text", [b"", b"\n", b"# only a comment\r\n"])
def test_nothing_tiered_at_all(text: bytes, tmp_path: Path) -> None:
    files = write_listed(tmp_path, earliest="t:0:3", latest_tiered="")
    (tmp_path / "latest_tiered.txt").write_bytes(text)
    assert read_listed_offsets(files).of(("t", 0)) == PartitionOffsets(3, None, -1, None)


def test_several_files_of_one_time_and_times_by_number(tmp_path: Path) -> None:
    first, second = write_listed(tmp_path, a="t:0:1", b="t:1:2"), write_listed(tmp_path, c="t:0:5 t:1:5")
    found = read_listed_offsets({"-2": [*first["a"], *first["b"]], "-1": second["c"]})
    assert [found.of(("t", number)) for number in (0, 1)] == [
        PartitionOffsets(1, None, None, 5),
        PartitionOffsets(2, None, None, 5),
    ]


OFFSETS = {"earliest": "t:0:40", "earliest_local": "t:0:100", "latest_tiered": "t:0:119", "latest": "t:0:130"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"earliest": "t:0:131"}, "earliest.txt: line 1: earliest of t:0 is 131, above earliest-local 100 ("),
        ({"earliest": "t:0:131", "earliest_local": None}, "earliest.txt: line 1: earliest of t:0 is 131, above latest 130 ("),
        ({"earliest_local": "t:0:131"}, "earliest_local.txt: line 1: earliest-local of t:0 is 131, above latest 130 ("),
        ({"latest_tiered": "t:0:130"}, "latest_tiered.txt: line 1: latest-tiered of t:0 is 130, not below latest 130 ("),
        (
            {"latest_tiered": "t:0:98"},
            "earliest_local.txt: line 1: earliest-local of t:0 is 100, so 99 to 99 are nowhere: latest",
        ),
        (
            {"latest_tiered": ""},
            "earliest_local.txt: line 1: earliest-local of t:0 is 100, so 40 to 99 are nowhere: nothing is tier",
        ),
        ({"latest": "t:1:130"}, "latest.txt: file: has no line of t:0, as "),
        ({"earliest": "t:0:40 t:1:0"}, "earliest_local.txt: file: has no line of t:1, as "),
        ({"latest_tiered": "t:0:119 t:1:7"}, "earliest.txt: file: has no line of t:1, as "),
        ({"earliest": "t:0:-1"}, 'earliest.txt: line 1: earliest of t:0 is "-1"'),
        ({"earliest": "t:0:"}, "earliest.txt: line 1: earliest of t:0 is missing"),
        ({"latest_tiered": "t:0:-2"}, 'latest_tiered.txt: line 1: latest-tiered of t:0 is "-2"'),
        ({"latest": "t:0:130,99"}, 'latest.txt: line 1: latest of t:0 is "130,99"'),
        ({"latest": "t:0:9223372036854775808"}, 'latest.txt: line 1: latest of t:0 is "9223372036854775808"'),
        ({"latest": "t:0:130 t:0:130"}, 'latest.txt: line 2: "t:0" is given twice ('),
        ({"latest": "t:0:130 t:-1:5"}, 'latest.txt: line 2: "t:-1:5" is no line of kafka-get-offsets'),
        ({"latest": "t:0:130 Skip"}, 'latest.txt: line 2: "Skip" is no line of kafka-get-offsets'),
        ({"latest": "t/u:0:130"}, 'latest.txt: line 1: "t/u:0:130" is no line of kafka-get-offsets'),
        ({"latest": ""}, "latest.txt: file: is empty"),
        ({"latest": "#"}, "latest.txt: file: has no offsets"),
    ],
)
def test_contradictions(changes: dict[str, str | None], expected: str, tmp_path: Path) -> None:
    (tmp_path / "describe.txt").write_text(tiered_description("1|1,2"))
    lines = {time: text for time, text in {**OFFSETS, **changes}.items() if text is not None}
    files = write_listed(tmp_path, **lines)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(InputError) as error:
        import_kafka(str(tmp_path / "describe.txt"), None, {}, str(tmp_path / "out"), files)
    assert str(error.value).startswith(f"{tmp_path}/{expected}")
    assert "\n" not in str(error.value) and "; allowed: " in str(error.value)
    assert sorted(os.listdir(tmp_path)) == before


def test_other_times_missing_and_binary_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='--offsets: "max-timestamp" is no time; allowed: earliest, earliest-local'):
        read_listed_offsets({"max-timestamp": ["x"]})
    with pytest.raises(InputError, match="file: cannot be read"):
        read_listed_offsets({"latest-tiered": [str(tmp_path / "none")]})
    (tmp_path / "binary").write_bytes(b"t:0:1\n\0")
    with pytest.raises(InputError, match="byte 6: is a zero byte"):
        read_listed_offsets({"latest-tiered": [str(tmp_path / "binary")]})


def test_topics_without_remote_storage(tmp_path: Path) -> None:
    describe = describe_lines("1|1,2|1,2")
    for lines, wrong in ((OFFSETS, "latest_tiered.txt: line 1: latest-tiered of t:0 is 119"), ({}, "earliest_local.txt: line 1")):
        listed = lines or {"earliest": "t:0:40", "earliest_local": "t:0:100", "latest": "t:0:130"}
        with pytest.raises(InputError, match=f"{wrong}.* its topic has not remote.storage.enable=true"):
            imported(tmp_path, describe, listed)
    rows, _ = imported(
        tmp_path, describe, {"earliest": "t:0:40", "earliest_local": "t:0:40", "latest_tiered": "", "latest": "t:0:130"}
    )
    assert starts_and_ends(rows["t", 0, 1]) == starts_and_ends(rows["t", 0, 2]) == (40, 40, 130, 130)
    assert remote_rows(tmp_path / "out") == []


def test_topics_described_without_their_header(tmp_path: Path) -> None:
    _, summary = imported(tmp_path, PARTITION.format(0, 1, "1,2"), OFFSETS)
    assert [segment[:2] for segment in remote_rows(tmp_path / "out")] == [(40, 99), (100, 119)]
    assert table_rows(tmp_path / "out", "topic_configs") == [{"topic": "t", "key": "remote.storage.enable", "value": "true"}]
    assert any("1 topics without their header have remote data" in note for note in summary.notes)


def test_offsets_alone(tmp_path: Path) -> None:
    """No data directory: all in the ISR are as the leader, and what is before the disk is cut by segment.bytes."""
    rows, summary = imported(tmp_path, tiered_description("1|1,2"), OFFSETS)
    assert starts_and_ends(rows["t", 0, 1]) == starts_and_ends(rows["t", 0, 2]) == (40, 100, 130, 130)
    # 20,000 bytes are 20 records of 1,000
    bases = [(40, 59), (60, 79), (80, 99), (100, 119)]
    assert remote_rows(tmp_path / "out") == [(base, end, [(0, 40)], "COPY_FINISHED") for base, end in bases]
    assert {row["bytes"] for row in table_rows(tmp_path / "out", "remote_segments")} == {20_000}
    assert any("4 remote segments assumed" in note for note in summary.notes)
    assert "4 remote segments" in str(summary)


def test_a_leaderless_partition_has_no_lines(tmp_path: Path) -> None:
    rows, _ = imported(tmp_path, tiered_description("1|1,2", "none|"), OFFSETS)
    assert starts_and_ends(rows["t", 1, 1]) == (0, 0, 0, 0)


def test_remote_segments_as_on_the_leaders_disk(tmp_path: Path) -> None:
    data_dirs = {broker: write_data_dir(tmp_path / f"d{broker}", broker, "t 0 125") for broker in (1, 2)}
    for broker in (1, 2):
        write_checkpoint(tmp_path / f"d{broker}" / "t-0" / "leader-epoch-checkpoint", "0 0", "3 58", "5 104")
    sizes = [write_segment(tmp_path / "d1" / "t-0", base, batch(base, 15, base)).stat().st_size for base in (85, 100, 115)]
    write_segment(tmp_path / "d2" / "t-0", 112, batch(112, 13))
    rows, summary = imported(tmp_path, tiered_description("1|1,2"), {**OFFSETS, "latest_tiered": "t:0:114"}, data_dirs)
    leader, follower = rows["t", 0, 1], rows["t", 0, 2]
    # the copy of the disk was made before its segment 85 went
    assert (leader["segments"], leader["segment_bytes"]) == ([100, 115], sizes[1:])
    assert leader["log_bytes"] == sum(sizes[1:])
    assert starts_and_ends(leader) == (40, 100, 130, 130)
    # what the leader says is not yet on a follower's disk
    assert (follower["segments"], starts_and_ends(follower)) == ([112], (0, 112, 125, 125))
    assert leader["epochs"] == [(0, 40), (3, 58), (5, 104)]
    # 40 to 99 in pieces of 15 that end where the disk begins
    expected = [(40, 54), (55, 69), (70, 84), (85, 99), (100, 114)]
    segments = remote_rows(tmp_path / "out")
    assert [segment[:2] for segment in segments] == expected
    assert [segment[2] for segment in segments] == [
        *([(0, 40)], [(0, 40), (3, 58)], [(0, 40), (3, 58)], [(0, 40), (3, 58)]),
        [(0, 40), (3, 58), (5, 104)],
    ]
    assert table_rows(tmp_path / "out", "remote_segments")[-1]["bytes"] == sizes[1]
    assert not any("given up more" in note for note in summary.notes)


def test_what_a_disk_has_given_up_is_tiered(tmp_path: Path) -> None:
    data_dir = write_data_dir(tmp_path / "d2", 2, "t 0 130")
    write_segment(tmp_path / "d2" / "t-0", 125, batch(125, 5))
    write_checkpoint(tmp_path / "d2" / "log-start-offset-checkpoint", "t 0 40")
    _, summary = imported(tmp_path, tiered_description("1|1,2"), OFFSETS, {2: data_dir})
    assert remote_rows(tmp_path / "out")[-1][1] == 124
    assert any("1 partitions have given up more on a disk than latest-tiered says" in note for note in summary.notes)


def test_log_start_above_what_is_tiered(tmp_path: Path) -> None:
    """DeleteRecords may go beyond what is copied; nothing is left in remote storage then."""
    rows, _ = imported(tmp_path, tiered_description("1|1,2"), {**OFFSETS, "earliest": "t:0:125", "earliest_local": "t:0:125"})
    assert starts_and_ends(rows["t", 0, 1]) == (125, 125, 130, 130)
    assert remote_rows(tmp_path / "out") == []


def test_a_stale_log_start_checkpoint_without_remote_storage(tmp_path: Path) -> None:
    """It is written once a minute, so segments may be gone beyond it; with remote storage they lie there."""
    data_dir = write_data_dir(tmp_path / "d1", 1, "t 0 20")
    write_segment(tmp_path / "d1" / "t-0", 10, batch(10, 10))
    write_checkpoint(tmp_path / "d1" / "log-start-offset-checkpoint", "t 0 4")
    rows, _ = imported(tmp_path, describe_lines("1|1|1"), {}, {1: data_dir})
    assert starts_and_ends(rows["t", 0, 1]) == (10, 10, 20, 20)
    rows, _ = imported(tmp_path, tiered_description("1|1"), {}, {1: data_dir})
    assert starts_and_ends(rows["t", 0, 1]) == (4, 10, 20, 20)
    assert remote_rows(tmp_path / "out") == [(4, 9, [(0, 4)], "COPY_FINISHED")]
