"""Remote log metadata as Kafka's tools print it: exact remote segments, their states and epochs."""

from __future__ import annotations

from pathlib import Path

import pytest
from kafka_files import remote_rows, table_rows, write_listed

from emulator.cli import main
from emulator.errors import InputError
from emulator.importers.kafka import ImportSummary, import_kafka
from emulator.importers.kafka.remote_metadata import RemoteSegment, read_remote_metadata

TOPIC_ID = "mN0rzl1bRYO8HEsOnBBkKw"
DESCRIBE = (
    f"Topic: t\tTopicId: {TOPIC_ID}\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: remote.storage.enable=true\n"
    "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"
)
OFFSETS = {"earliest": "t:0:0", "earliest_local": "t:0:100", "latest_tiered": "t:0:149", "latest": "t:0:200"}


def segment_id(number: int, topic_id: str = TOPIC_ID) -> str:
    return f"remoteLogSegmentId=RemoteLogSegmentId{{topicIdPartition={topic_id}:t-0, id=segment-{number}}}"


def begun(number: int, base: int, end: int, epochs: str, state: str = "COPY_SEGMENT_STARTED", topic_id: str = TOPIC_ID) -> str:
    """What 4.x prints; 3.9 has no txnIdxEmpty."""
    return (
        f"RemoteLogSegmentMetadata{{{segment_id(number, topic_id)}, startOffset={base}, endOffset={end}, brokerId=1, "
        f"maxTimestampMs=-1, eventTimestampMs=123, segmentLeaderEpochs={{{epochs}}}, segmentSizeInBytes={end - base + 1}00, "
        f"customMetadata=Optional[CustomMetadata{{10 bytes}}], state={state}, txnIdxEmpty=true}}"
    )


def changed(number: int, state: str, topic_id: str = TOPIC_ID) -> str:
    return (
        f"RemoteLogSegmentMetadataUpdate{{{segment_id(number, topic_id)}, customMetadata=Optional.empty, state={state}, "
        "eventTimestampMs=124, brokerId=1}"
    )


def partition_deleted(state: str, topic_id: str = TOPIC_ID) -> str:
    return f"RemotePartitionDeleteMetadata{{topicPartition={topic_id}:t-0, state={state}, eventTimestampMs=9, brokerId=1}}"


def dumped(*events: str) -> str:
    """As kafka-dump-log prints them."""
    lines = ["Dumping /d/__remote_log_metadata-7/00000000000000000000.log", "Log starting offset: 0"]
    for offset, event in enumerate(events):
        lines.append(f"baseOffset: {offset} lastOffset: {offset} count: 1 magic: 2 crc: 5 isvalid: true")
        lines.append(f"| offset: {offset} CreateTime: 1 keySize: -1 valueSize: 7 sequence: -1 headerKeys: [] payload: {event}")
    return "\n".join(lines) + "\n"


def consumed(*events: str) -> str:
    """As a console consumer with Kafka's formatter prints them."""
    lines = [f"partition: 7, offset: {offset}, value: {event}" for offset, event in enumerate(events)]
    return "\n".join([*lines, f"Processed a total of {len(events)} messages"]) + "\n"


HISTORY = (
    begun(0, 0, 49, "0=0"),
    changed(0, "COPY_SEGMENT_FINISHED"),
    begun(1, 50, 99, "0=50, 2=80"),
    changed(1, "COPY_SEGMENT_FINISHED"),
    begun(2, 100, 149, "2=100"),
    changed(2, "COPY_SEGMENT_FINISHED"),
    begun(3, 150, 180, "2=150"),
    begun(4, 50, 70, "0=50"),
    changed(4, "DELETE_SEGMENT_STARTED"),
    begun(5, 0, 20, "0=0"),
    changed(5, "DELETE_SEGMENT_STARTED"),
    changed(5, "COPY_SEGMENT_FINISHED"),  # not allowed: changes nothing
    changed(5, "DELETE_SEGMENT_FINISHED"),
)
STATES = [
    (0, 49, "COPY_FINISHED"),
    (50, 99, "COPY_FINISHED"),
    (50, 70, "DELETE_STARTED"),
    (100, 149, "COPY_FINISHED"),
    (150, 180, "COPY_STARTED"),
]


def imported(folder: Path, *texts: str, offsets: dict[str, str] | None = None) -> ImportSummary:
    (folder / "describe.txt").write_text(DESCRIBE)
    paths = []
    for number, text in enumerate(texts):
        (folder / f"metadata{number}.txt").write_text(text)
        paths.append(str(folder / f"metadata{number}.txt"))
    listed = write_listed(folder, **(offsets or OFFSETS))
    return import_kafka(str(folder / "describe.txt"), None, {}, str(folder / "out"), listed, paths)


@pytest.mark.parametrize("form", [dumped, consumed, lambda *events: "\n".join(events)], ids=["dump", "consumer", "3.0 formatter"])
def test_segments_and_their_states(form: object, tmp_path: Path) -> None:
    assert callable(form)
    summary = imported(tmp_path, form(*HISTORY))
    assert [(base, end, state) for base, end, _, state in remote_rows(tmp_path / "out")] == STATES
    assert [row["bytes"] for row in table_rows(tmp_path / "out", "remote_segments")] == [5000, 5000, 2100, 5000, 3100]
    assert summary.remote_segments == 5
    assert not any("assumed" in note and "remote segments" in note for note in summary.notes)


def test_epochs_are_those_of_the_log_up_to_the_end_of_the_segment(tmp_path: Path) -> None:
    """Metadata has the epochs inside; what was before is the leader's, here only that all records are of epoch 0."""
    imported(tmp_path, consumed(*HISTORY[:6]))
    assert [epochs for _, _, epochs, _ in remote_rows(tmp_path / "out")] == [[(0, 0)], [(0, 0), (2, 80)], [(0, 0), (2, 100)]]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """emulator import kafka, with every kind of file that tiers need."""
    imported(tmp_path, consumed(*HISTORY[:6]))
    kept = table_rows(tmp_path / "out", "remote_segments")
    offsets = [f"--offsets={time}={files[0]}" for time, files in write_listed(tmp_path, **OFFSETS).items()]
    given = [f"--describe={tmp_path / 'describe.txt'}", *offsets, "--remote-metadata", str(tmp_path / "metadata0.txt")]
    assert main(["import", "kafka", *given, "--out", str(tmp_path / "again"), "--verbose"]) == 0
    assert "remote segments" in capsys.readouterr().out
    assert table_rows(tmp_path / "again", "remote_segments") == kept


def test_a_log_start_inside_a_segment(tmp_path: Path) -> None:
    imported(tmp_path, consumed(*HISTORY[:6]), offsets={**OFFSETS, "earliest": "t:0:60"})
    # the leader's cache begins at 60; the segment's own epochs begin before
    assert remote_rows(tmp_path / "out")[1] == (50, 99, [(0, 50), (2, 80)], "COPY_FINISHED")


def test_other_topics_of_the_name_and_deleted_partitions(tmp_path: Path) -> None:
    old = [begun(8, 0, 500, "0=0", topic_id="OLD"), changed(8, "COPY_SEGMENT_FINISHED", topic_id="OLD")]
    gone = [begun(9, 0, 9, "0=0"), partition_deleted("DELETE_PARTITION_MARKED"), partition_deleted("DELETE_PARTITION_FINISHED")]
    imported(tmp_path, dumped(*old), dumped(*gone, *HISTORY))
    assert [(base, end, state) for base, end, _, state in remote_rows(tmp_path / "out")] == STATES
    metadata = read_remote_metadata([str(tmp_path / "metadata0.txt")])
    assert metadata.of(("t", 0), "") == [RemoteSegment(0, 500, ((0, 0),), 50100, "COPY_FINISHED")]
    assert metadata.of(("t", 0), TOPIC_ID) == []


def test_changes_of_segments_that_nobody_began_are_noted(tmp_path: Path) -> None:
    summary = imported(tmp_path, consumed(changed(77, "COPY_SEGMENT_FINISHED"), *HISTORY))
    assert any(note.startswith("1 changes of remote segments") for note in summary.notes)


def test_a_gap_between_the_tiers(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        imported(tmp_path, consumed(*HISTORY[:3]))
    problem = "t-0 has no copied segment with offset 50, and its leader's disk begins at 100; allowed: "
    assert str(error.value).startswith(f"{tmp_path}/metadata0.txt: file: {problem}")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ("ERROR no such file", 'line 1: "ERROR no such file" is no remote log metadata'),
        (begun(0, 9, 5, "0=0"), "line 1: endOffset 5 is below startOffset 9"),
        (begun(0, 0, 5, ""), 'line 1: segmentLeaderEpochs is ""'),
        (begun(0, 0, 5, "0=0, 1=9"), 'line 1: segmentLeaderEpochs is "0=0, 1=9"'),
        (begun(0, 0, 5, "0=3, 1=1"), 'line 1: segmentLeaderEpochs is "0=3, 1=1"'),
        (begun(0, -1, 5, "0=0"), 'line 1: startOffset is "-1"'),
        (begun(0, 0, 5, "0=0", state="COPIED"), 'line 1: state is "COPIED"; allowed: COPY_SEGMENT_STARTED, '),
        (f"{begun(0, 0, 5, '0=0')}\n{begun(0, 0, 6, '0=0')}", "line 2: segment segment-0 is given twice"),
        ("RemoteLogSegmentMetadata{}", "line 1: names no segment"),
        ("RemotePartitionDeleteMetadata{state=x}", "line 1: names no partition"),
        ("", "file: is empty"),
    ],
)
def test_wrong_metadata(event: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        imported(tmp_path, event)
    assert str(error.value).startswith(f"{tmp_path}/metadata0.txt: {expected}")
    assert not (tmp_path / "out").exists()
