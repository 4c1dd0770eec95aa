"""Metrics become a workload: read back by a scenario, its records are by hand arithmetic those of the metrics."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.cli import main
from emulator.importers.rates.series import NANO, Held, Rates, parse_rate, parse_time
from emulator.importers.rates.whole_records import Window, whole_records
from emulator.inputs.workload_rows import rows_of_topic
from emulator.scenario import load_run

ROOT = Path(__file__).parents[2]
CLUSTER = ROOT / "datasets" / "examples" / "kafka-4.1.1"
START = 1_700_000_000
SCENARIO = """
rounds = {rounds}
round_ms = 1000
workload_file = "workload.csv"
[cluster]
brokers = 3
[[topics]]
name = "orders"
partitions = 4
replication_factor = 3
[[topics]]
name = "clicks"
partitions = 2
replication_factor = 2
"""


def series(values: dict[int, Any], topic: str | None = "orders", **labels: str) -> dict[str, Any]:
    """A series of a range query; times in seconds after START."""
    metric = labels if topic is None else {"topic": topic, **labels}
    return {"metric": metric, "values": [[START + time, str(value)] for time, value in values.items()]}


def answer(*result: dict[str, Any]) -> str:
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": list(result)}})


def import_rates(folder: Path, files: dict[str, str], *options: str, rounds: int = 1) -> int:
    """Imports files into workload.csv, by the partitions of a scenario file there; those named bytes* with --bytes."""
    (folder / "scenario.toml").write_text(SCENARIO.format(rounds=rounds))
    arguments = []
    for name, text in files.items():
        (folder / name).write_text(text)
        arguments += ["--bytes", str(folder / name)] if name.startswith("bytes") else [str(folder / name)]
    out = str(folder / "workload.csv")
    return main(["import", "rates", *arguments, "--cluster", str(folder / "scenario.toml"), "--out", out, *options])


def records_of(folder: Path, topic: str, rounds: int) -> np.ndarray:
    """Records by round and partition of the scenario that names the written file."""
    (folder / "scenario.toml").write_text(SCENARIO.format(rounds=rounds))
    (base,) = load_run(str(folder / "scenario.toml")).scenarios
    count = next(t.partitions for t in base.topics if t.name == topic)
    records = np.zeros((rounds, count), np.int64)
    for row, ranges in rows_of_topic(base, topic, count):
        for low, high in ranges:
            assert not records[row.from_round : row.to_round, low : high + 1].any(), "a batch a round"
            records[row.from_round : row.to_round, low : high + 1] = row.records
    return records


def record_bytes_of(folder: Path) -> dict[str, int]:
    (base,) = load_run(str(folder / "scenario.toml")).scenarios
    return {row["topic"]: row["record_bytes"] for row in base.workload.to_pylist()}


def test_a_scenario_reads_the_records_of_the_metrics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = series({0: "6", 10: "0.5", 20: "0", 30: "1.3"}, instance="a:9404")
    second = series({0: "2", 10: "0.25", 20: "0", 30: "0"}, instance="b:9404")
    other = series({0: "20", 10: "20", 20: "20", 30: "20"}, "clicks", instance="a:9404")
    assert import_rates(tmp_path, {"messages.json": answer(first, second, other)}) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == (
        "2 topics, 6 partitions, 40 rounds of 1000 ms from 2023-11-14T22:13:20Z to 2023-11-14T22:14:00Z:"
        " 901 records, 901000 bytes, 5 rows"
    )
    assert printed[1] == f'in the scenario: rounds = 40, round_ms = 1000, workload_file = "{tmp_path}/workload.csv"'
    assert printed[2].startswith("note: records are whole ones")
    orders = records_of(tmp_path, "orders", 40)
    # 8 a second: 2 in each of 4 partitions. Then 7.5 in 10 s: 8 (80 + 7.5 is nearest to 88). Then none. Then 13 in 10 s, to
    # the nearest of 100.5: 101.
    assert (orders[:10] == 2).all()
    assert orders[10:20].tolist() == [[1] * 4, [1] * 4, *[[0] * 4] * 8]
    assert not orders[20:30].any()
    assert orders[30:].tolist() == [[1] * 4, [1] * 4, [1] * 4, [1, 0, 0, 0], *[[0] * 4] * 6]
    assert orders.sum() == 101
    assert (records_of(tmp_path, "clicks", 40) == 10).all()


def test_what_is_left_over_goes_round_the_partitions(tmp_path: Path) -> None:
    assert import_rates(tmp_path, {"m.json": answer(series({0: "0.3", 10: "0.3", 20: "0.2", 30: "0.4"}))}) == 0
    orders = records_of(tmp_path, "orders", 40)
    given_to = {int(at): orders[at].nonzero()[0].tolist() for at in orders.any(axis=1).nonzero()[0]}
    assert given_to == {0: [0, 1, 2], 10: [0, 1, 3], 20: [2, 3], 30: [0, 1, 2, 3]}
    assert orders.sum(axis=0).tolist() == [3, 3, 3, 3]


def test_bytes_and_messages_give_the_size_of_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {
        "messages.json": answer(series({0: 8, 10: 4})),
        "bytes.json": answer(series({0: 4000, 10: 1000}), series({0: 3000, 10: 1500}, "clicks")),
    }
    assert import_rates(tmp_path, files) == 0
    assert record_bytes_of(tmp_path) == {"orders": 417, "clicks": 1000}  # 50,000 bytes / 120 messages
    assert (records_of(tmp_path, "orders", 20)[[0, 10]] == [[2] * 4, [1] * 4]).all()
    assert records_of(tmp_path, "clicks", 20).sum() == 45
    assert "note: 1 topics have bytes alone, taken as records of 1000 bytes: clicks" in capsys.readouterr().out
    assert import_rates(tmp_path, files, "--record-bytes", "500", "--acks", "1") == 0
    assert record_bytes_of(tmp_path) == {"orders": 500, "clicks": 500}
    assert records_of(tmp_path, "clicks", 20).sum() == 90
    (base,) = load_run(str(tmp_path / "scenario.toml")).scenarios
    assert set(base.workload.column("acks").to_pylist()) == {"1"}


def test_jmx_csv_is_as_good_as_prometheus(tmp_path: Path) -> None:
    text = "timestamp,topic,broker,MessagesInPerSec,BytesInPerSec\n" + "".join(
        f"{time},orders,{broker},{rate},{rate * 250}\n"
        for time, rate in (("2023-11-14T22:13:20Z", 4), ("1700000010", 2), ("2023-11-14 22:13:40", 0))
        for broker in (1, 2)
    )
    assert import_rates(tmp_path, {"jmx.csv": text}) == 0
    expected = np.repeat([2, 1, 0], 10)[:, None]
    assert (records_of(tmp_path, "orders", 30) == expected).all()
    assert record_bytes_of(tmp_path) == {"orders": 250}
    labels = {"__name__": "kafka_server_BrokerTopicMetrics_OneMinuteRate", "instance": "a"}
    named = answer(
        series({0: 8, 10: 4, 20: 0}, name="MessagesInPerSec", **labels),
        series({0: 2000, 10: 1000, 20: 0}, name="BytesInPerSec", **labels),
    )
    before = (tmp_path / "workload.csv").read_text()
    assert import_rates(tmp_path, {"named.json": named}) == 0
    assert (tmp_path / "workload.csv").read_text() == before


def test_a_part_of_the_time_in_rounds_of_another_length(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = answer(series({0: 8, 10: 16, 20: 8}))
    options = ["--from", str(START + 5), "--to", "2023-11-14T22:13:36Z", "--round-ms", "2000"]
    assert import_rates(tmp_path, {"m.json": text}, *options) == 0
    assert "6 rounds of 2000 ms from 2023-11-14T22:13:25Z to 2023-11-14T22:13:36Z: 136 records" in capsys.readouterr().out
    # 8 a second for 5 s, 16 for 6: the change is within the third round; the last round is half a one.
    orders = records_of(tmp_path, "orders", 6)
    assert orders.sum(axis=1)[:2].tolist() == [16, 16]
    assert orders.sum() == 5 * 8 + 6 * 16


def test_gaps_have_no_traffic(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert import_rates(tmp_path, {"m.json": answer(series({0: 4, 10: 4, 20: 4, 60: 4}))}) == 0
    assert (
        "note: 1 gaps between values of a series, more than one and a half of 10 s: no traffic in them" in capsys.readouterr().out
    )
    assert (records_of(tmp_path, "orders", 70)[:, 0] == np.repeat([1, 1, 1, 0, 0, 0, 1], 10)).all()


def test_the_partitions_of_an_imported_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = str(tmp_path / "cluster")
    assert main(["import", "kafka", "--describe", str(CLUSTER / "topics_describe_healthy.txt"), "--out", cluster]) == 0
    (tmp_path / "m.json").write_text(answer(series({0: 12, 10: 12}), series({0: 1, 10: 1}, "gone")))
    capsys.readouterr()
    out = str(tmp_path / "workload.csv")
    assert main(["import", "rates", str(tmp_path / "m.json"), "--cluster", cluster, "--out", out]) == 0
    printed = capsys.readouterr().out
    assert "1 topics, 6 partitions, 40 rounds of 500 ms" in printed
    assert "note: 1 topics are not in the cluster, left out: gone" in printed
    assert Path(out).read_text().splitlines()[1:] == ["orders,,0,40,1,1000,all"]
    (tmp_path / "s.toml").write_text(f'rounds = 40\nworkload_file = "workload.csv"\n[cluster]\nimport = "{cluster}"\n')
    assert load_run(str(tmp_path / "s.toml")).scenarios[0].workload.num_rows == 1


@given(
    st.lists(st.tuples(st.integers(0, 20_000), st.integers(1, 9_000), st.integers(0, 60 * NANO)), min_size=1, max_size=6),
    st.integers(1, 7),
    st.integers(1, 3_000),
)
def test_whole_records_are_those_of_the_rates(spans: list[tuple[int, int, int]], partitions: int, round_ms: int) -> None:
    """Exact over the whole time, within half a record at the start of the rounds of changes; partitions differ by changes."""
    held = [Held(start, start + length, rate) for start, length, rate in spans]
    window = Window(1_000, 25_000, round_ms)
    records = np.zeros((window.rounds, partitions), np.int64)
    for row in whole_records(held, window, partitions):
        chosen = list(range(partitions))
        if row.partitions is not None:
            ends = [tuple(map(int, part.split("-"))) for part in row.partitions.split(",")]
            chosen = [p for part in ends for p in range(part[0], part[-1] + 1)]
        assert not records[row.from_round : row.to_round, chosen].any()
        records[row.from_round : row.to_round, chosen] = row.records

    def until(time_ms: int) -> Fraction:
        return sum(
            (
                Fraction(h.nano_per_second * max(0, min(h.to_ms, time_ms) - max(h.from_ms, window.from_ms)), 1000 * NANO)
                for h in held
            ),
            Fraction(0),
        )

    assert abs(records.sum() - until(window.to_ms)) <= Fraction(1, 2)
    for time_ms in {t for h in held for t in (h.from_ms, h.to_ms) if window.from_ms <= t < window.to_ms}:
        first = (time_ms - window.from_ms) // round_ms
        assert abs(records[:first].sum() - until(window.from_ms + first * round_ms)) <= Fraction(1, 2)
    of_partitions = records.sum(axis=0)
    assert of_partitions.max() - of_partitions.min() <= 1


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("1700000000.5", 1_700_000_000_500),
        ("2023-11-14T22:13:20Z", 1_700_000_000_000),
        ("2023-11-14T23:13:20+01:00", 1_700_000_000_000),
        ("2023-11-14 22:13:20", 1_700_000_000_000),
        ("1700000000000", None),
        ("yesterday", None),
        ("-1", None),
    ],
)
def test_times(text: str, time_ms: int | None) -> None:
    assert parse_time(text) == time_ms


def test_rates() -> None:
    assert [parse_rate(text) for text in ("0", "1e-3", "12.5", ".5")] == [0, NANO // 1000, 25 * NANO // 2, NANO // 2]
    assert [parse_rate(text) for text in ("NaN", "+Inf", "-1", "1e16", "1e999", "", "1,5")] == [None] * 7


def test_a_step_is_the_usual_one() -> None:
    rates = Rates()
    for time in (0, 15, 30, 44, 60):
        rates.add("f", "p", ("MessagesInPerSec", "t", ""), time, 1)
    assert rates.step_ms() == 15
    assert Rates().step_ms() is None


def test_reads_metrics_without_spark(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(SCENARIO.format(rounds=1))
    (tmp_path / "m.json").write_text(answer(series({0: 8, 10: 4})))
    arguments = ["import", "rates", "m.json", "--cluster", "scenario.toml", "--out", "w.csv"]
    code = f"import sys; from emulator.cli import main; code = main({arguments}); sys.exit(code or 'pyspark' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True)


def test_the_stack_trace_of_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("emulator.importers.rates.import_rates", fail)
    assert import_rates(tmp_path, {"m.json": "{}"}) == 3
    assert "Traceback" not in capsys.readouterr().err
    assert import_rates(tmp_path, {"m.json": "{}"}, "--verbose") == 3
    assert "Traceback" in capsys.readouterr().err
