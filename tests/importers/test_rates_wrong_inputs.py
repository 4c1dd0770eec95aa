"""Wrong metrics of every kind: one line with file, place and what is allowed, exit code 2, nothing written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from emulator.cli import main

SCENARIO = """
rounds = 1
[cluster]
brokers = 3
[[topics]]
name = "orders"
partitions = 4
replication_factor = 3
"""
LEDGERS = 'rounds = 1\nprotocol = "bookkeeper"\n[cluster]\nbrokers = 3\n[[topics]]\nname = "orders"\npartitions = 1\n'
VALUES = '[[0, "1"], [10, "2"]]'


def answer(metric: str = '{"topic": "orders"}', values: str = VALUES) -> str:
    return f'{{"status": "success", "data": {{"resultType": "matrix", "result": [{{"metric": {metric}, "values": {values}}}]}}}}'


WRONG_ANSWERS = [
    ("", "file: is empty"),
    ("\0", "byte 0: is a zero byte"),
    (answer()[:40], "line 1, column "),
    (answer()[:-1], "is not JSON: Expecting ',' delimiter (cut off?)"),
    ("[]", "file: is a list; allowed: the answer to a range query"),
    ('{"status": "error", "error": "bad_data: parse error"}', 'status: is "error" ("bad_data: parse error"); allowed: "success"'),
    ('{"status": "success"}', "data: is absent; allowed: a JSON object"),
    (answer().replace("matrix", "vector"), 'data.resultType: is "vector"; allowed: "matrix", of /api/v1/query_range'),
    (answer().replace('"result":', '"results":'), "data.result: is absent; allowed: a JSON list"),
    ('{"status": "success", "data": {"resultType": "matrix", "result": [7]}}', "data.result[0]: is 7"),
    ('{"status": "success", "data": {"resultType": "matrix", "result": []}}', "file: no series has values of two times"),
    (answer("{}"), "data.result[0].metric.topic: has no label topic; allowed: a query by topic, as in sum by (topic, instance)"),
    (answer('{"topic": "a/b"}'), 'data.result[0].metric.topic: "a/b" is not a topic name'),
    (answer('{"topic": "orders", "broker": 1}'), "data.result[0].metric.broker: is 1; allowed: a string"),
    (
        answer('{"topic": "orders", "__name__": "kafka_server_brokertopicmetrics_failedproducerequests"}'),
        'data.result[0].metric.__name__: "kafka_server_brokertopicmetrics_failedproducerequests" is another metric;'
        " allowed: a metric of MessagesInPerSec or BytesInPerSec",
    ),
    (
        answer('{"topic": "orders", "__name__": "kafka_server_brokertopicmetrics_replicationbytesin_rate"}'),
        "is another metric",
    ),
    (
        answer('{"topic": "orders", "__name__": "kafka_server_brokertopicmetrics_messagesin_total"}'),
        '"kafka_server_brokertopicmetrics_messagesin_total" counts and is no rate; allowed: rate(',
    ),
    (answer(values='"x"'), 'data.result[0].values: is "x"; allowed: a JSON list'),
    (answer(values="[[0]]"), 'data.result[0].values[0]: is not a time and a value; allowed: [seconds, "value"]'),
    (answer(values='[[0, "1"], [true, "1"]]'), "data.result[0].values[1][0]: true is not a time; allowed: seconds since 1970"),
    (answer(values='[[1700000000000, "1"]]'), "data.result[0].values[0][0]: 1700000000000 is not a time"),
    (answer(values=f'[[{"9" * 400}, "1"]]'), "data.result[0].values[0][0]: 999"),
    (answer(values='[[NaN, "1"]]'), "data.result[0].values[0][0]: nan is not a time"),
    (answer(values='[[0, "NaN"]]'), 'data.result[0].values[0][1]: "NaN" is not a rate; allowed: as a string a number a second'),
    (answer(values='[[0, "-1"]]'), '"-1" is not a rate'),
    (answer(values="[[0, 1]]"), "data.result[0].values[0][1]: 1 is not a rate; allowed: as a string"),
    (
        answer(values='[[0, "1"], [0, "1"]]'),
        'values[1]: MessagesInPerSec of "orders" stands twice at 1970-01-01T00:00:00Z; allowed',
    ),
    (answer(values='[[0, "1"]]'), "file: no series has values of two times; allowed: two times or more"),
    (answer('{"topic": "order"}'), "file: none of its topics is one of the cluster (order); allowed: orders"),
    (answer(values='[[0, "0"], [10, "0"]]'), "file: no record is from 1970-01-01T00:00:00Z to 1970-01-01T00:00:20Z; allowed"),
    (answer(values='[[0, "1e14"], [10, "0"]]'), "topic orders has 12500000000000 records a round and partition; allowed: up to"),
]
WRONG_TABLES = [
    ("timestamp,topic,BytesIn\n", 'header: unknown column "BytesIn" (did you mean "BytesInPerSec"?); allowed: timestamp, topic'),
    ("timestamp,topic,topic,BytesInPerSec\n", 'header: column "topic" stands there twice'),
    ("topic,BytesInPerSec\n", 'header: no column "timestamp"'),
    ("timestamp,topic,broker\n", "header: no column with a rate; allowed: MessagesInPerSec, BytesInPerSec or both"),
    ("timestamp,topic,BytesInPerSec\n0,orders\n", "row 1: has 2 values where the header has 3 (cut off?); allowed: 3 values"),
    ("timestamp,topic,BytesInPerSec\n0,orders,1\nnoon,orders,1\n", 'row 2, column timestamp: "noon" is not a time; allowed:'),
    ("timestamp,topic,BytesInPerSec\n0,,1\n", "row 1, column topic: no value: all topics of a broker together; allowed: a query"),
    ("timestamp,topic,BytesInPerSec\n0,a b,1\n", 'row 1, column topic: "a b" is not a topic name'),
    ("timestamp,topic,BytesInPerSec\n0,orders,many\n", 'row 1, column BytesInPerSec: "many" is not a rate; allowed: a number'),
    (
        "timestamp,topic,broker,BytesInPerSec\n0,orders,1,1\n0,orders,1,2\n",
        'row 2, column BytesInPerSec: BytesInPerSec of "orders" on "1" stands twice at 1970-01-01T00:00:00Z',
    ),
    ('timestamp,topic,BytesInPerSec\n0,"orders,1\n', "row 1: is not CSV: unexpected end of data (cut off?)"),
]
GOOD = answer()
WRONG_OPTIONS = [
    ([], "FILE: no file is given; allowed: FILE of messages or of a CSV, --bytes FILE, or both"),
    (["nowhere.json"], "nowhere.json: file: cannot be read (No such file or directory)"),
    (
        ["scenario.toml"],
        "scenario.toml: file: is neither Prometheus' JSON nor a CSV by its name; allowed: a name in .json or .csv",
    ),
    (["good.json", "good.json"], "good.json: data.result[0].values[0]: MessagesInPerSec of"),
    (["--bytes", "named.json"], 'MessagesInPerSec" is another metric; allowed: BytesInPerSec with --bytes'),
    (["--bytes", "both.csv"], "both.csv: header: is not of BytesInPerSec alone; allowed: only the column BytesInPerSec"),
    (["good.json", "--cluster", "nowhere"], "nowhere: --cluster: is no cluster; allowed: a folder written by `emulator import`"),
    (["good.json", "--cluster", "nowhere.toml"], "nowhere.toml: file: does not exist"),
    (["good.json", "--cluster", "ledgers.toml"], "ledgers.toml: protocol: has ledgers"),
    (["good.json", "--out", "w.xlsx"], "w.xlsx: --out: is no name of a workload file; allowed: a name in .csv"),
    (["good.json", "--out", "gone/w.csv"], "gone/w.csv: --out: gone is not a folder"),
    (["both.csv", "--out", "both.csv"], "both.csv: --out: is one of the files to read"),
    (
        ["good.json", "--out", "both.csv"],
        "both.csv: --out: holds something else; allowed: a new file, or one of an earlier import",
    ),
    (["good.json", "--from", "noon"], '--from: "noon" is not a time; allowed: seconds since 1970, or a time as in 2026-01-31T12'),
    (["good.json", "--from", "5", "--to", "5"], "--to: the time from 1970-01-01T00:00:05Z to 1970-01-01T00:00:05Z is none"),
    (["good.json", "--from", "30"], "--from: the time from"),
    (
        ["good.json", "--from", "30", "--to", "40"],
        "--from: no value is from 1970-01-01T00:00:30Z to 1970-01-01T00:00:40Z; allowed: the",
    ),
    (
        ["good.json", "--to", "99999999990", "--round-ms", "1"],
        "--round-ms: makes 99999999990000 rounds; allowed: a number that makes",
    ),
    (["good.json", "--round-ms", "0"], "Invalid value for '--round-ms'"),
    (["good.json", "--round-ms", "86400001"], "--round-ms: 86400001 is out of range; allowed: 1 to 86400000"),
    (["good.json", "--record-bytes", "2147483648"], "--record-bytes: 2147483648 is out of range; allowed: 1 to 2147483647"),
    (
        ["few.csv"],
        "--record-bytes: records of topic orders have 10000000000 bytes; allowed: 1 to 2147483647, or --record-bytes itself",
    ),
    (["good.json", "--acks", "2"], "Invalid value for '--acks'"),
]


def refused(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> str:
    """Runs the command in the folder, expects one line of error and nothing written; gives the line."""
    monkeypatch.chdir(folder)
    (folder / "scenario.toml").write_text(SCENARIO)
    before = {name: Path(name).read_bytes() for name in os.listdir(folder)}
    assert main(["import", "rates", "--cluster", "scenario.toml", "--out", "workload.csv", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert {name: Path(name).read_bytes() for name in os.listdir(folder)} == before
    assert printed.err.startswith("error: ") and printed.err.count("\n") == 1
    return printed.err


@pytest.mark.parametrize(("text", "expected"), WRONG_ANSWERS)
def test_wrong_answers_of_prometheus(
    text: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "metrics.json").write_text(text)
    message = refused(tmp_path, capsys, monkeypatch, ["metrics.json"])
    assert expected in message
    assert "; allowed: " in message


@pytest.mark.parametrize(("text", "expected"), WRONG_TABLES)
def test_wrong_tables_of_jmx(
    text: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "metrics.csv").write_text(text)
    message = refused(tmp_path, capsys, monkeypatch, ["metrics.csv"])
    assert f"metrics.csv: {expected}" in message
    assert "; allowed: " in message


@pytest.mark.parametrize(("arguments", "expected"), WRONG_OPTIONS)
def test_wrong_options(
    arguments: list[str], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "good.json").write_text(GOOD)
    (tmp_path / "named.json").write_text(answer('{"topic": "orders", "name": "MessagesInPerSec"}'))
    (tmp_path / "both.csv").write_text("timestamp,topic,MessagesInPerSec,BytesInPerSec\n0,orders,1,1\n10,orders,1,1\n")
    few = "timestamp,topic,MessagesInPerSec,BytesInPerSec\n0,orders,0.1,1e9\n10,orders,0.1,1e9\n"
    (tmp_path / "few.csv").write_text(few)
    (tmp_path / "ledgers.toml").write_text(LEDGERS)
    assert expected in refused(tmp_path, capsys, monkeypatch, arguments)


def test_nothing_is_written_where_it_cannot_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    (tmp_path / "good.json").write_text(GOOD)
    message = refused(tmp_path, capsys, monkeypatch, ["good.json"])
    assert "workload.csv: --out: cannot be written (No space left on device)" in message
