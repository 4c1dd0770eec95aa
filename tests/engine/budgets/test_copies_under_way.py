"""Copies that are under way at the start, with a broker's copier threads and its copy quota: by hand, and as the reference."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from emulator.inputs.arrays.copy_budgets import QUOTA, THREADS
from tests.engine.budgets.test_copies_against_reference import copies_of, played_in_turn, text_of, what_differs
from tests.reference.scenario_toml import table
from tests.reference.tiered.cases import RECORD_BYTES, given_log, remote, tiered_case
from tests.reference.tiered.simulate import simulate_together
from tests.rounds.kafka.compared import remote_segments_of, scenarios_of

EPOCHS = [[0, 0]]
SEGMENTS = [10, 20, 30]
"""Bases of closed segments behind the first, of ten records each; the active one begins at 30."""


def start(moved_records: int | None, finished: int = 0, **given: Any) -> dict[str, Any]:
    """A partition led by 1: so many segments are copied, and of the next one so many records; None: no copy is under way."""
    logs = {broker: given_log(35, EPOCHS, segments=SEGMENTS) for broker in (1, 2)}
    segments = [{**remote(base, base + 9), "copier": 1} for base in range(0, 10 * finished, 10)]
    if moved_records is not None:
        under_way = {"copier": 1, "state": "COPY_STARTED", "moved_bytes": moved_records * RECORD_BYTES}
        segments.append({**remote(10 * finished, 10 * finished + 9), **under_way})
    initial = {"leader": 1, "leader_epoch": 0, "isr": [1, 2], "replicas": logs, "remote_segments": segments}
    return tiered_case(topic_config={"segment.bytes": 10 * RECORD_BYTES}, replicas=[1, 2], initial=initial, **given)


def with_store(cases: Sequence[Mapping[str, Any]], records: int, **config: int) -> list[dict[str, Any]]:
    """The same with a store that takes so many records a round from each copy."""
    store = {"copy_bytes_per_second": records * RECORD_BYTES * 2}
    return [{**case, "remote_storage": store, "config": {**case["config"], **config}} for case in cases]


def text_with_start(cases: Sequence[Mapping[str, Any]]) -> str:
    """The cases as one scenario."""
    text = text_of(cases, window_rounds=5)
    for number, case in enumerate(cases):
        place = {"topic": f"t{number:02}", "partition": 0}
        known = {key: case["initial"][key] for key in ("leader", "leader_epoch", "isr")}
        rows = [("initial.partitions", known)]
        rows += [("initial.replicas", {"broker": broker, **log}) for broker, log in case["initial"]["replicas"].items()]
        rows += [("initial.remote_segments", segment) for segment in case["initial"]["remote_segments"]]
        for name, row in rows:
            text += "\n".join(table(name, {**place, **row})) + "\n"
    return text


def attempts(cases: Sequence[Mapping[str, Any]], folder: Path) -> list[list[tuple[int, int | None, int | None]]]:
    """By partition (base, began in round, ended in round) of all copies but finished ones of the start, all as the reference."""
    scenario = scenarios_of(text_with_start(cases), folder).scenarios[0]
    game, results = played_in_turn(scenario, len(cases)), simulate_together(cases)
    assert not what_differs(results, game, 0)
    leapt = played_in_turn(scenario, len(cases), leaps=True)
    rows = [copies_of(remote_segments_of(leapt, place)) for place in range(len(cases))]
    assert rows == [copies_of(result.remote_segments) for result in results]
    return [[(base, began, ended) for _, _, base, _, began, ended, _ in of_one if ended is not None] for of_one in rows]


def test_one_thread(tmp_path: Path) -> None:
    """Of t0's copy three records are left, at five a round: its thread is free after 3/5 of round 0, and goes on with its next
    segment; t1 begins when that is done, in 3/5 of round 2, with two records.
    """
    cases = with_store([start(7, finished=1), start(None)], 5, **{THREADS: 1})
    assert attempts(cases, tmp_path) == [
        [(10, None, 0), (20, 0, 2)],
        [(0, 2, 4), (10, 4, 6), (20, 6, 8)],
    ]  # fmt: skip


def test_more_copies_under_way_than_threads(tmp_path: Path) -> None:
    """Both that are under way have a thread, as in a pool that was made smaller, and end their runs; t2 waits for both."""
    cases = with_store([start(5, finished=2), start(0, finished=2), start(None, finished=2)], 5, **{THREADS: 1})
    assert attempts(cases, tmp_path) == [[(20, None, 0)], [(20, None, 1)], [(20, 2, 3)]]


def test_the_quota_counts_what_begins_in_the_run(tmp_path: Path) -> None:
    """50 bytes a second are 550 in the window of 22 rounds. What the start has of segments is none of it: t0 begins its next one,
    of 1,000 bytes, in round 0; t1 waits until that is out of the window.
    """
    given = [start(7, finished=1, rounds=30), start(None, finished=2, rounds=30)]
    cases = with_store(given, 100, **{THREADS: 2, QUOTA: 50})
    assert attempts(cases, tmp_path) == [[(10, None, 0), (20, 0, 0)], [(20, 22, 22)]]


@pytest.mark.parametrize("seed", range(8))
def test_random_starts(tmp_path: Path, seed: int) -> None:
    rng = random.Random(f"under way/{seed}")
    cases = []
    for _ in range(rng.choice((1, 6, 6))):
        finished = rng.randrange(3)
        moved = rng.choice((None, 0, rng.randrange(10)))
        cases.append(start(moved, finished, rounds=40))
    config = {THREADS: rng.choice((1, 2, 3))} | ({QUOTA: rng.choice((300, 900, 3000))} if rng.random() < 0.5 else {})
    assert len(attempts(with_store(cases, rng.choice((1, 4, 7, 25)), **config), tmp_path)) == len(cases)
