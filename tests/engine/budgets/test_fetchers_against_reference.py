"""Partitions that share fetcher threads catch up after an outage: the engine's shares against fetch after fetch.

The reference (tests/reference/fetchers) plays every fetch; the engine has shares of a thread's speed from one quota edge to
the next. So who has caught up within a window leaves its share unused until the next edge, and times differ by parts of
windows. `pytest -s` prints how far.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from emulator.explain.replay import play_again
from emulator.progress import Progress
from emulator.scenario import load_run
from tests.reference.fetchers.inputs import Limits, Partition
from tests.reference.fetchers.simulate import FetcherThread, Outcome, play

AWAY = 4
"""The broker that is away; it leads nothing."""
ROUND_MS, RECORD_BYTES, BEGINS = 500, 1000, 20
NAMES = ["orders", "t", "payments.eu-west_1", "clicks", "burst"]

ROUNDS, OF_WINDOW, OF_CATCH_UP = 2.0, 0.5, 0.1
"""By which a thread's last partition, and its bytes in rounds of its full speed, may differ: so many rounds, this part of a
window and of what catching up takes. Seen: 10 rounds earlier to 12 later.
"""
EACH_OF_WINDOW, EACH_OF_CATCH_UP = 1.0, 0.3
"""Likewise, beside ROUNDS, for each partition by itself: who has its share of a window early has none of what is left. Seen: 25
earlier to 50 later, where a fetch brings one partition and a half and so who comes second is always cut off; else 10 to 16.
"""


@dataclass(frozen=True)
class Case:
    """A random case: partitions as the reference has them, batches a round of each, and what the scenario file says of it."""

    seed: int
    partitions: list[Partition]
    batches_a_round: list[int]
    limits: Limits
    window_rounds: int
    ends: int
    rounds: int

    def text(self) -> str:
        limits = self.limits
        lines = [
            f"rounds = {self.rounds}",
            f"round_ms = {ROUND_MS}",
            "[cluster]",
            "brokers = 4",
            f"quota_window_rounds = {self.window_rounds}",
            f"fetch_round_trip_ms = {limits.round_trip_us / 1000}",
            f"fetch_bytes_per_second = {limits.bytes_per_second}",
            "[cluster.config]",
            '"auto.leader.rebalance.enable" = false',
            f'"num.replica.fetchers" = {limits.fetchers}',
            f'"replica.fetch.max.bytes" = {limits.fetch_max_bytes}',
            f'"replica.fetch.response.max.bytes" = {limits.response_max_bytes}',
        ]
        for name in dict.fromkeys(partition.topic for partition in self.partitions):
            replicas = [[one.leader, *one.followers] for one in self.partitions if one.topic == name]
            lines += ["[[topics]]", f'name = "{name}"', f"assignment = {replicas}"]
        for partition, batches in zip(self.partitions, self.batches_a_round, strict=True):
            for _ in range(batches):
                lines += ["[[workload]]", f'topic = "{partition.topic}"', f'partitions = "{partition.number}"']
                lines += [f"records_per_round = {partition.batch_bytes // RECORD_BYTES}", f"record_bytes = {RECORD_BYTES}"]
        lines += ["[[faults]]", 'kind = "broker_crash"', f"broker = {AWAY}", f"from_round = {BEGINS}", f"to_round = {self.ends}"]
        return "\n".join(lines) + "\n"


def random_case(seed: int) -> Case:
    """One to two leaders, 4 to 30 partitions of two topics; a thread has a fifth to a half of its speed to do at all times."""
    rng = random.Random(seed)
    speed = rng.choice([10_000_000, 20_000_000, 50_000_000])
    limits = Limits(
        fetch_max_bytes=rng.choice([1024, 1024, 256]) * 1024,
        response_max_bytes=rng.choice([10_240, 10_240, 2048, 1536]) * 1024,
        fetchers=rng.choice([1, 1, 2, 3]),
        round_trip_us=rng.choice([1000, 1000, 5000, 20_000]),
        bytes_per_second=speed,
    )
    leaders = rng.choice([[1], [1, 2]])
    threads = len(leaders) * limits.fetchers
    names, sizes = rng.sample(NAMES, 2), [rng.randint(2, 15) * threads, rng.randint(2, 6) * threads]
    weights = [rng.choice([1, 2, 3, 8]) for _ in range(sum(sizes))]
    busy = rng.uniform(0.2, 0.5) * speed * threads * ROUND_MS / 1000  # bytes that come in a round
    partitions, batches_a_round = [], []
    places = [(name, number) for name, size in zip(names, sizes, strict=True) for number in range(size)]
    for (name, number), weight in zip(places, weights, strict=True):
        size = max(1, round(busy * weight / sum(weights) / RECORD_BYTES))  # records that come in a round
        batches = -(-size // 100)
        batch = -(-size // batches) * RECORD_BYTES
        leader = rng.choice(leaders)
        others = (AWAY, rng.choice([broker for broker in (1, 2, 3) if broker != leader]))
        partitions.append(Partition(name, number, leader, others, batches * batch * 1000 // ROUND_MS, batch))
        batches_a_round.append(batches)
    ends = BEGINS + rng.randint(60, 100)
    return Case(seed, partitions, batches_a_round, limits, rng.choice([4, 10, 20]), ends, ends + 200)


def emulated(case: Case, folder: Path) -> Mapping[tuple[str, int, int], list[int]]:
    """By topic, partition and broker: log bytes at the end of each round."""
    (folder / "s.toml").write_text(case.text())
    scenario = replace(load_run(str(folder / "s.toml")).scenarios[0], shares_fetchers=True)
    chosen = [(partition.topic, partition.number) for partition in case.partitions]
    found: dict[tuple[str, int, int], list[int]] = {}
    for (topic, number), tables in zip(chosen, play_again(scenario, chosen, Progress(quiet=True)), strict=True):
        for row in tables["trace"].select(["round", "broker", "leo"]).sort_by("round").to_pylist():
            found.setdefault((topic, number, row["broker"]), []).append(row["leo"] * RECORD_BYTES)
    return found


def caught_up_round(logs: Mapping[tuple[str, int, int], list[int]], partition: Partition, case: Case) -> int | None:
    """The first round at whose end the broker that was away has what its leader had a round before."""
    of = partition.topic, partition.number
    own, leaders = logs[of + (AWAY,)], logs[of + (partition.leader,)]
    return next((round_ for round_ in range(case.ends, case.rounds) if own[round_] >= leaders[round_ - 1]), None)


def reference_round(outcome: Outcome, partition: Partition) -> float | None:
    """When it had caught up after the outage, in rounds."""
    at_us = outcome.logs[partition, AWAY].catch_ups[-1].at_us
    return None if at_us is None else at_us / ROUND_MS / 1000


def full_bytes(case: Case, partitions: list[Partition]) -> float:
    """What a thread brings of these in a round, while it has something of all of them to bring."""
    limits = case.limits
    most = min(limits.response_max_bytes, len(partitions) * limits.fetch_max_bytes)
    return ROUND_MS * 1000 * most / (limits.round_trip_us + most * 1_000_000 / limits.bytes_per_second)


@pytest.mark.parametrize("seed", range(12))
def test_threads_catch_up_as_fetch_by_fetch(seed: int, tmp_path: Path) -> None:
    case = random_case(seed)
    away = [(BEGINS * ROUND_MS / 1000, case.ends * ROUND_MS / 1000)]
    outcome = play(case.partitions, case.limits, case.rounds * ROUND_MS / 1000, {AWAY: away})
    logs = emulated(case, tmp_path)
    limits = case.limits
    print(
        f"\nseed {seed}: L {limits.fetch_max_bytes >> 10} KiB, response {limits.response_max_bytes >> 10} KiB,"
        f" {limits.round_trip_us / 1000:g} ms, {limits.bytes_per_second / 1e6:g} MB/s, {limits.fetchers} fetchers,"
        f" window {case.window_rounds}, back in round {case.ends}"
    )
    compared = [
        _compare_thread(case, thread, partitions, outcome, logs)
        for thread, partitions in sorted(outcome.partitions.items())
        if thread.follower == AWAY
    ]
    assert any(one.binds for one in compared), "no thread binds: every partition could have caught up as fast by itself"
    for one in compared:
        slack = ROUNDS + OF_WINDOW * case.window_rounds + OF_CATCH_UP * one.lasts
        assert abs(one.late) <= slack, one
        assert one.off <= slack, one
        assert one.each <= ROUNDS + EACH_OF_WINDOW * case.window_rounds + EACH_OF_CATCH_UP * one.lasts, one


@dataclass(frozen=True)
class Compared:
    """A thread, in rounds: how long it took to catch up (by the reference), by how much the engine's last partition is later,
    the most by which any partition differs, and the thread's bytes, in rounds of its full speed. Whether it binds: catching up
    takes more than twice as long as its slowest partition would take by itself.
    """

    thread: FetcherThread
    binds: bool
    lasts: float
    late: int
    each: int
    off: float


def _compare_thread(
    case: Case,
    thread: FetcherThread,
    partitions: list[Partition],
    outcome: Outcome,
    logs: Mapping[tuple[str, int, int], list[int]],
) -> Compared:
    rows = []
    for partition in partitions:
        expected, found = reference_round(outcome, partition), caught_up_round(logs, partition, case)
        assert expected is not None and found is not None, (case.seed, thread, partition, expected, found)
        alone = play([partition], case.limits, case.rounds * ROUND_MS / 1000, {AWAY: [(BEGINS / 2, case.ends / 2)]})
        by_itself = reference_round(alone, partition)
        assert by_itself is not None
        rows.append((partition, expected, found - int(expected), by_itself))
    speed = full_bytes(case, partitions)
    off = []
    for round_ in range(case.ends, case.rounds):
        at_us = (round_ + 1) * ROUND_MS * 1000
        expected_bytes = sum(outcome.logs[partition, AWAY].bytes_at(at_us) for partition in partitions)
        found_bytes = sum(logs[partition.topic, partition.number, AWAY][round_] for partition in partitions)
        off.append((found_bytes - expected_bytes) / speed)
    last = max(expected for _, expected, _, _ in rows)
    late = max(int(expected) + difference for _, expected, difference, _ in rows) - int(last)
    lasts, alone_lasts = last - case.ends, max(by_itself for *_, by_itself in rows) - case.ends
    each = sorted(difference for _, _, difference, _ in rows)
    print(
        f"  leader {thread.leader} thread {thread.fetcher}: {len(rows):2} partitions, the last has caught up {lasts:6.1f} rounds"
        f" after the outage ({alone_lasts:5.1f} by itself), the engine's {late:+d};"
        f" each {each[0]:+d} to {each[-1]:+d}, median {each[len(each) // 2]:+d};"
        f" bytes {min(off):+.1f} to {max(off):+.1f} rounds"
    )
    most = max(abs(each[0]), abs(each[-1]))
    return Compared(thread, lasts > 2 * alone_lasts, lasts, late, most, max(map(abs, off)))
