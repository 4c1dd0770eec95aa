"""docs/accuracy.md states figures: what can be worked out again from the tests' data and the defaults is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.bandwidth.fetchers import Fetchers
from emulator.report.limits import APPROXIMATE, NOT_ANSWERED, limits
from emulator.scenario import load_run
from emulator.scenario.clusters import QUOTA_WINDOW_MS, SESSION_TIMEOUT
from emulator.scenario.config_keys import KEYS
from emulator.scenario.durations import rounds_of
from emulator.scenario.ledger_configs import LEDGER_KEYS
from emulator.scenario.shapes import ClusterShape, ScenarioShape

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "accuracy.md").read_text("utf-8")
CELLS = [[cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.splitlines() if line.startswith("| ")]
LIMIT_SECTIONS = ("What is approximate", "What it cannot answer")
REFERENCE, DATA = ROOT / "tests" / "reference" / "data", ROOT / "tests" / "data"


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def compared(system: str) -> list[str]:
    """What is said to be compared, and how it differs, of the only row that begins so."""
    found = [cells[2:] for cells in CELLS if len(cells) == 4 and cells[0].startswith(system) and cells[0] != "system"]
    assert len(found) == 1, system
    return found[0]


@pytest.mark.parametrize("trace", "abc")
def test_steps_of_traces(trace: str) -> None:
    steps = read(REFERENCE / "trace_steps.json")[trace]
    states = sum(len(step["brokers"]) for step in steps)
    row = next(cells for cells in CELLS if cells[0].endswith(f"(trace {trace})"))
    assert row[2:] == [f"{len(steps)} steps, {states} replica states", "none"]


def test_fetch_rounds() -> None:
    topics = read(REFERENCE / "fetch_rounds.json")["topics"]
    (fetches,) = {len(topic["steps"]) for topic in topics}
    row = next(cells for cells in CELLS if cells[0].endswith("(fetch rounds)"))
    assert row[2:] == [f"{len(topics)} topics of {fetches} fetches", "none"]


def test_the_tiered_trace() -> None:
    from tests.reference.tiered.test_real_trace import BEFORE_THE_FOLLOWER_BUILT, NOT_YET_DELETED, STEPS

    early = {step for step, _ in NOT_YET_DELETED} | set(BEFORE_THE_FOLLOWER_BUILT)
    assert compared("Kafka 4.1.1 with tiered storage") == [f"{len(STEPS)} steps", f"looked at before it settled: {len(early)}"]


def test_runs_of_bookkeeper_and_cases_of_kafkas_own_tests() -> None:
    from tests.reference.bookkeeper.test_cases import CASES

    assert compared("BookKeeper") == [f"{len(CASES)} runs", "none"]
    cases = read(DATA / "leader_epoch_cache.json")["cases"]
    assert compared("Kafka's own tests") == [f"{len(cases)} cases", "none"]


def test_every_row_of_real_runs_is_checked() -> None:
    assert sum(len(cells) == 4 for cells in CELLS) == 1 + 7


def test_sizes_of_what_is_approximate() -> None:
    round_ms = ScenarioShape.model_fields["round_ms"].default
    cluster = {name: ClusterShape.model_fields[name].default for name in ("fetch_round_trip_ms", "fetch_bytes_per_second")}
    fetched = int(KEYS["replica.fetch.max.bytes"].default)
    fetch_us = cluster["fetch_round_trip_ms"] * 1000 + fetched * 1_000_000 // cluster["fetch_bytes_per_second"]
    timeout, window = (rounds_of(int(ms), round_ms) for ms in (KEYS[SESSION_TIMEOUT].default, QUOTA_WINDOW_MS))
    size = {cells[0].split("**")[1]: cells[1] for cells in CELLS if len(cells) == 3 and "**" in cells[0]}
    assert size["Time"].startswith(f"{round_ms} ms*")
    fetches = round_ms * 1000 // fetch_us
    told = size["Fetches in a round"]
    assert told.startswith(f"{fetches}* fetches of up to {fetched // 2**20} MiB a round by default, 166 MB/s")
    response = int(KEYS["replica.fetch.response.max.bytes"].default)
    times = (round_ms * 1000, cluster["fetch_round_trip_ms"] * 1000, cluster["fetch_bytes_per_second"])
    together = Fetchers(*times, response).most_bytes(np.array([4]), *np.full((2, 1), 4 * fetched))[0] * 1000 / round_ms
    assert f"four that share a fetcher, which get {together / 1e6:.0f} here" in told
    assert size["Times of settings"] == f"up to a round; fencing after {timeout} rounds* of {round_ms} ms by default"
    assert size["Shared bandwidth"].startswith(f"{window} rounds*, {window * round_ms // 1000} s")
    batch = LEDGER_KEYS["rereplicationEntryBatchSize"].default
    assert size["Repair of ledgers"].startswith(f"{batch}* entries a round, {int(batch) * 1000 // round_ms}* a second")


def test_the_report_has_a_sentence_for_every_limit() -> None:
    """A limit that is added to the page, or renamed there, is one of emulator/report/limits.py too."""
    approximate, cannot = (PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0] for title in LIMIT_SECTIONS)
    assert re.findall(r"^\| \*\*(.+?)\*\*", approximate, re.MULTILINE) == list(APPROXIMATE)
    points = re.findall(r"^\* (.+)", cannot, re.MULTILINE)
    assert [point for point, name in zip(points, NOT_ANSWERED, strict=True) if not point.startswith(name)] == []


def test_limits_of_ledgers_are_their_own() -> None:
    """A scenario of ledgers is told nothing of Kafka; one without a silent or slow bookie nothing of clients that wait."""
    row = {"scenario_id": 0, "protocol": "bookkeeper", "round_ms": 500}
    waits, no_waits = (list(limits(row, [{"kind": kind}], None)) for kind in ("broker_pause", "disk_loss"))
    (of_clients,) = (text for text in waits if text not in no_waits)
    assert of_clients.startswith("Clients of ledgers time out in the round in which they may")
    assert not any("Kafka" in text for text in waits)


@pytest.mark.parametrize("protocol", ["kafka", "bookkeeper"])
def test_a_rack_that_is_cut_off_has_the_limits_of_isolation(protocol: str) -> None:
    row = {"scenario_id": 0, "protocol": protocol, "round_ms": 500}
    none, one, rack = (list(limits(row, faults, None)) for faults in ([], [{"kind": "isolation"}], [{"kind": "rack_isolation"}]))
    assert none != one == rack


def test_a_repair_says_how_fast_it_is(tmp_path: Path) -> None:
    """With the figures of the run, where there is autorecovery."""
    text = """
protocol = "bookkeeper"
rounds = 4
round_ms = 200
[cluster]
brokers = 3
config = { autoRecoveryDaemonEnabled = REPAIRS, rereplicationEntryBatchSize = 40 }
[[topics]]
name = "t"
partitions = 1
config = { ensembleSize = 3, writeQuorumSize = 3, ackQuorumSize = 2 }
"""
    told = {}
    for repairs in ("true", "false"):
        (tmp_path / "s.toml").write_text(text.replace("REPAIRS", repairs))
        run = load_run(str(tmp_path / "s.toml"))
        row = {"scenario_id": run.scenarios[0].scenario_id, "protocol": "bookkeeper", "round_ms": 200}
        told[repairs] = list(limits(row, [], run))
    (of_repair,) = (text for text in told["true"] if text not in told["false"])
    assert "which copies 40 entries in 0.2 s" in of_repair


def seconds_ahead(times: int, seconds: int) -> tuple[float, float]:
    """What a real broker lets through of a client that sends `times` its quota: at most ahead of it, and the mean over all.

    Rate and SampledStat: 11 samples of a second, begun by requests; at least 10 of them count, and the last one's part. Who is
    above its quota is not read from for (rate - quota) / quota * window (QuotaUtils.throttleTime). In seconds of quota; requests
    of 50 ms.
    """
    now_ms, sent, ahead = 0.0, 0.0, 0.0
    samples: list[list[float]] = []  # [start, last request, bytes]
    while now_ms < seconds * 1000:
        now_ms += 50
        if not samples or now_ms - samples[-1][0] >= 1000:
            samples = [*samples, [now_ms, now_ms, 0.0]][-12:]
        samples[-1][1:] = [now_ms, samples[-1][2] + 50 * times]
        live = [sample for sample in samples if now_ms - sample[1] < 11_000]
        window_ms = now_ms - min(start for start, *_ in live)
        window_ms += max(10 - window_ms // 1000, 0) * 1000
        sent += 50 * times
        ahead = max(ahead, sent - now_ms)
        now_ms += max(sum(sample[2] for sample in live) - window_ms, 0)
    return ahead / 1000, sent / now_ms


@pytest.mark.parametrize(("times", "ahead"), [(2, 5.0), (5, 8.2), (20, 10.9)])
def test_how_far_a_real_broker_lets_a_client_run_ahead(times: int, ahead: float) -> None:
    """The figures of docs/accuracy.md."""
    most, mean = seconds_ahead(times, 600)
    assert round(most, 1) == ahead
    assert mean == pytest.approx(1, abs=0.01)
