"""Wrong files of every kind: one line with file and place, nothing written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from kafka_files import batch, describe_lines, write_checkpoint, write_data_dir, write_segment

from emulator.errors import InputError
from emulator.importers.kafka import import_kafka

GOOD = "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2"
HEADER = "Topic: t\tTopicId: ID\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: "


def refused(folder: Path, describe: str | None, log_dirs: str | None, data_dirs: dict[int, str]) -> str:
    """Imports, expects one line of error and nothing written; gives the line."""
    path = folder / "describe.txt"
    path.write_text(describe_lines("1|1,2|1,2") if describe is None else describe)
    if log_dirs is not None:
        (folder / "log_dirs.txt").write_text(log_dirs)
        log_dirs = str(folder / "log_dirs.txt")
    before = sorted(os.listdir(folder))
    with pytest.raises(InputError) as error:
        import_kafka(str(path), log_dirs, data_dirs, str(folder / "out"))
    assert sorted(os.listdir(folder)) == before
    message = str(error.value)
    assert "\n" not in message and "; allowed: " in message
    return message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "file: is empty"),
        (" \n\n", "file: is empty"),
        ("# only a comment\n", "file: describes no partition"),
        ("junk " * 2_000_000, 'line 1: "junk junk'),
        ("Created topic orders.\n", 'line 1: "Created topic orders." is not a column'),
        ("Topic: t\tTopicId: x\n", "line 1: "),
        (GOOD.replace("Leader: 1\t", ""), 'line 1: column "Leader:" is missing'),
        (GOOD.replace("Leader: 1", "Leader: 1\tLeader: 1"), 'line 1: column "Leader" comes twice'),
        (GOOD.replace("Leader: 1", "Leader: one"), 'line 1, Leader: is "one"'),
        (GOOD.replace("Leader: 1", "Leader: 3"), "line 1, Leader: broker 3 is not in the ISR"),
        (GOOD.replace("Replicas: 1,2", "Replicas: 1,1"), 'line 1, Replicas: is "1,1"'),
        (GOOD.replace("Replicas: 1,2", "Replicas: 1,,2"), 'line 1, Replicas: is "1,,2"'),
        (GOOD.replace("Replicas: 1,2", "Replicas: "), "line 1, Replicas: is empty"),
        (GOOD.replace("Isr: 1,2", "Isr: 1,5"), "line 1, Isr: broker 5 is not a replica"),
        (GOOD.replace("Isr: 1,2", "Isr: -1"), 'line 1, Isr: is "-1"'),
        (GOOD + "\tElr: 2", "line 1, Elr: [2] overlaps the ISR"),
        (GOOD + "\tElr: 9", "line 1, Elr: broker 9 is not a replica"),
        (GOOD.replace("Partition: 0", "Partition: 99999999999"), 'line 1, Partition: is "99999999999"'),
        (GOOD.replace("Topic: t", "Topic: t/u"), 'line 1, Topic: "t/u" is not a topic name'),
        (GOOD.replace("Topic: t", "Topic: " + "t" * 250), "line 1, Topic: "),
        (f"{GOOD}\n{GOOD.replace('Isr: 1,2', 'Isr: 1')}", "line 2: partition t-0 is described otherwise"),
        (HEADER, "line 1, topic t: PartitionCount is 1, but 0 partitions are listed"),
        (
            f"{HEADER}\n{GOOD}\n{GOOD.replace('Partition: 0', 'Partition: 1')}",
            "line 1, topic t: PartitionCount is 1, but partition 1 is",
        ),
        (
            f"{HEADER.replace('Count: 1', 'Count: 3')}\n{GOOD}",
            "line 1, topic t: PartitionCount is 3, but 1 partitions are listed",
        ),
        (f"{HEADER}\n{GOOD}\n{HEADER}x=1", "line 3: topic t is described otherwise than on line 1"),
        (f"{HEADER}compact,delete\n{GOOD}", 'line 1, Configs: "compact" is not a setting'),
        (HEADER.replace("Count: 1", "Count: many"), 'line 1, PartitionCount: is "many"'),
    ],
)
def test_wrong_description(text: str, expected: str, tmp_path: Path) -> None:
    message = refused(tmp_path, text, None, {})
    assert message.startswith(f"{tmp_path}/describe.txt: {expected}")
    assert len(message) < 1_000


@pytest.mark.parametrize(("data", "expected"), [(b"\x00\x01PAR1", "byte 0: "), (b"Topic: \xff\xfe", "byte 7: is not UTF-8 text")])
def test_binary_description(data: bytes, expected: str, tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(data)
    with pytest.raises(InputError, match=expected):
        import_kafka(str(tmp_path / "binary"), None, {}, str(tmp_path / "out"))
    assert os.listdir(tmp_path) == ["binary"]


def test_missing_description_and_folder_for_one(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "no", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(InputError, match=f"file: cannot be read \\({reason}"):
            import_kafka(str(path), None, {}, str(tmp_path / "out"))


def log_dirs_text(replica: str) -> str:
    log_dir = f'{{"logDir":"/d","error":null,"partitions":[{replica}]}}'
    return f'Querying brokers\n{{"brokers":[{{"broker":1,"logDirs":[{log_dir}]}}]}}'


REPLICA = '{"partition":"t-0","size":1,"offsetLag":0,"isFuture":false}'
REPLICA_PLACE = "brokers[0].logDirs[0].partitions[0]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "file: is empty"),
        ("Querying brokers for log directories information\n", "file: has no JSON"),
        ("ERROR: The given brokers do not exist", 'line 1: "ERROR: The given'),
        (log_dirs_text(REPLICA)[:-9], "line 2, column "),
        ("{" + '"a":{' * 100_000, "line 1: is not JSON"),
        ('{"a":' + "9" * 5_000 + "}", "line 1: is not JSON"),
        ('{"version":1}', "brokers: Field required"),
        ('{"brokers":[{"broker":"1","logDirs":[]}]}', "brokers[0].broker: Input should be a valid integer"),
        (log_dirs_text(REPLICA.replace(":1,", ":-1,")), f"{REPLICA_PLACE}.size: "),
        (log_dirs_text(REPLICA.replace(":1,", ":1.5,")), f"{REPLICA_PLACE}.size: "),
        (log_dirs_text(REPLICA.replace('"offsetLag":0', '"offsetLag":-2')), f"{REPLICA_PLACE}.offsetLag: "),
        (log_dirs_text(REPLICA.replace("false", "0")), f"{REPLICA_PLACE}.isFuture: "),
        (log_dirs_text(REPLICA.replace("t-0", "t")), f'{REPLICA_PLACE}.partition: is "t"'),
        (
            log_dirs_text(f"{REPLICA},{REPLICA}"),
            'brokers[0].logDirs[0].partitions[1].partition: "t-0" is reported twice',
        ),
    ],
)
def test_wrong_log_dirs(text: str, expected: str, tmp_path: Path) -> None:
    assert refused(tmp_path, None, text, {}).startswith(f"{tmp_path}/log_dirs.txt: {expected}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "file: is empty"),
        ("1\n0\n", 'line 1: version is "1"'),
        ("0\n", "line 2: number of entries is missing"),
        ("0\n-1\n", 'line 2: number of entries is "-1"'),
        ("0\n2\nt 0 5\n", "line 2: says 2 entries, the file has 1"),
        ("0\n1\nt 0 5\nt 1 5\n", "line 2: says 1 entries, the file has 2"),
        ("0\n1\nt 0\n", 'line 3: "t 0" is not a valid entry'),
        ("0\n2\nt 1 1\nt 0 -5\n", 'line 4: "t 0 -5" is not a valid entry'),
        ("0\n1\nt 0 5.0\n", 'line 3: "t 0 5.0" is not a valid entry'),
        ("0\n1\nt 0 9223372036854775808\n", 'line 3: "t 0 9223372036854775808" is not'),
        ("0\n1\nt zero 5\n", 'line 3: "t zero 5" is not a valid entry'),
        ("0\n2\nt 0 5\nt 0 6\n", 'line 4: "t 0" is given twice'),
        ("0\n1\nt 0 \x00\n", "byte 8: is a zero byte"),
    ],
)
def test_wrong_offset_checkpoint(text: str, expected: str, tmp_path: Path) -> None:
    data_dir = write_data_dir(tmp_path / "d", 1, "t 0 5")
    for name in ("replication-offset-checkpoint", "log-start-offset-checkpoint", "recovery-point-offset-checkpoint"):
        (tmp_path / "d" / name).write_text(text)
        assert refused(tmp_path, None, None, {1: data_dir}).startswith(f"{data_dir}/{name}: {expected}")
        write_checkpoint(tmp_path / "d" / name)


@pytest.mark.parametrize(
    ("entries", "line"),
    [
        (["0 0", "0 5"], 4),
        (["0 5", "1 5"], 4),
        (["1 0", "0 5"], 4),
        (["0"], 3),
        (["0 1 2"], 3),
        (["x 1"], 3),
        (["-1 0"], 3),
    ],
)
def test_wrong_leader_epoch_checkpoint(entries: list[str], line: int, tmp_path: Path) -> None:
    data_dir = write_data_dir(tmp_path / "d", 1, "t 0 5")
    path = tmp_path / "d" / "t-0" / "leader-epoch-checkpoint"
    write_checkpoint(path, *entries)
    assert refused(tmp_path, None, None, {1: data_dir}).startswith(f'{path}: line {line}: "{entries[line - 3]}" is not')


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ("node.id=2\n", 'line 1: node.id is "2"; allowed: 1, the broker it is given for'),
        ("#\nversion=0\nbroker.id=2\n", 'line 3: broker.id is "2"'),
        ("node.id=one\n", 'line 1: node.id is "one"'),
        ("version=1\n", "file: names no broker"),
        ("node.id\n", 'line 1: "node.id" is not a property'),
        ("", "file: is empty"),
    ],
)
def test_wrong_meta_properties(properties: str, expected: str, tmp_path: Path) -> None:
    data_dir = write_data_dir(tmp_path / "d", 1, "t 0 5")
    (tmp_path / "d" / "meta.properties").write_text(properties)
    assert refused(tmp_path, None, None, {1: data_dir}).startswith(f"{data_dir}/meta.properties: {expected}")


def foreign_folder(folder: Path) -> str:
    (folder / "holiday.jpg").write_bytes(b"\xff\xd8")
    return "data directory of broker 1: has no file of Kafka"


def other_topic_id(folder: Path) -> str:
    write_data_dir(folder, 1, "t 0 5")
    (folder / "t-0").mkdir()
    (folder / "t-0" / "partition.metadata").write_text("version: 0\ntopic_id: OTHER\n")
    return 'topic_id is "OTHER", another topic of this name; allowed: ID, as described'


def no_topic_id(folder: Path) -> str:
    write_data_dir(folder, 1, "t 0 5")
    (folder / "t-0").mkdir()
    (folder / "t-0" / "partition.metadata").write_text("version: 0\n")
    return "t-0/partition.metadata: file: has no topic_id"


def old_record_format(folder: Path) -> str:
    write_data_dir(folder, 1, "t 0 5")
    write_segment(folder / "t-0", 0, batch(0, 1, magic=1))
    return "record format has magic 1; allowed: 2"


@pytest.mark.parametrize("make", [foreign_folder, other_topic_id, no_topic_id, old_record_format])
def test_wrong_data_directory(make: Callable[[Path], str], tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    expected = make(tmp_path / "d")
    assert expected in refused(tmp_path, f"{HEADER}\n{GOOD}\n", None, {1: str(tmp_path / "d")})


def test_data_directory_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for name, reason in (("missing", "No such file or directory"), ("file", "Not a directory")):
        message = refused(tmp_path, None, None, {1: str(tmp_path / name)})
        assert message.startswith(f"{tmp_path}/{name}: data directory of broker 1: cannot be read ({reason})")
    assert "broker -1" in refused(tmp_path, None, None, {-1: str(tmp_path)})


def test_data_directories_of_two_clusters(tmp_path: Path) -> None:
    data_dirs = {broker: write_data_dir(tmp_path / f"d{broker}", broker, "t 0 5") for broker in (1, 2)}
    (tmp_path / "d2" / "meta.properties").write_text("node.id=2\ncluster.id=another\n")
    message = refused(tmp_path, None, None, data_dirs)
    assert message.endswith("data directory of broker 2: cluster.id is another; allowed: c, the cluster of broker 1")
