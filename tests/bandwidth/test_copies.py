"""A backlog of copies after a store outage: what a broker's threads and its quota let through, and how long it takes.

Broker 1 leads five partitions, which take 6,000 bytes a round together. The store is away for 30 rounds, so they have 180,000
bytes to copy when it is back. One copy moves 9,000 bytes a round.
"""

from __future__ import annotations

from collections import defaultdict

import pytest
from pyspark.sql import SparkSession

from tests.bandwidth.both_modes import Tables, assert_the_same, run_in_both_modes
from tests.engine_helpers import Row, of_scenario

ROUNDS, WINDOW, AWAY, BACK = 80, 10, 10, 40
SEGMENT_BYTES, PRODUCED, RATE, QUOTA = 5_000, 6_000, 9_000, 15_000
BACKLOG = PRODUCED * (BACK - AWAY)
RETRY = 4
"""Rounds between two tries in an outage."""

SCENARIO = f"""
protocol = "kafka"
rounds = {ROUNDS}
round_ms = 1000
[cluster]
brokers = 2
quota_window_rounds = {WINDOW}
[cluster.config]
"auto.leader.rebalance.enable" = false
"remote.log.storage.system.enable" = true
"remote.log.manager.task.interval.ms" = 1000
"remote.log.manager.task.retry.backoff.max.ms" = {RETRY * 1000}
[remote_storage]
copy_bytes_per_second = {RATE}
[[topics]]
name = "orders"
assignment = [[1], [1], [1], [1]]
config = {{ "remote.storage.enable" = true, "segment.bytes" = {SEGMENT_BYTES} }}
[[topics]]
name = "busy"
assignment = [[1]]
config = {{ "remote.storage.enable" = true, "segment.bytes" = {SEGMENT_BYTES} }}
[[topics]]
name = "elsewhere"
assignment = [[2], [2]]
config = {{ "remote.storage.enable" = true, "segment.bytes" = {SEGMENT_BYTES} }}
[[workload]]
topic = "*"
records_per_round = 1
record_bytes = 1000
[[workload]]
topic = "busy"
records_per_round = 1
record_bytes = 1000
[[faults]]
kind = "remote_storage_outage"
from_round = {AWAY}
to_round = {BACK}
[[variants]]
name = "threads"
cluster = {{ config = {{ "remote.log.manager.copier.thread.pool.size" = 2 }} }}
[[variants]]
name = "quota"
cluster = {{ network_bytes_per_second = 1000000000, config = {{ "remote.log.manager.copy.max.bytes.per.second" = {QUOTA} }} }}
"""


@pytest.fixture(scope="module")
def run(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tables]:
    """The tables by mode."""
    return run_in_both_modes(spark, SCENARIO, tmp_path_factory.mktemp("copies"))


def without_scenario(rows: list[Row]) -> list[str]:
    return sorted(repr({name: value for name, value in row.items() if name != "scenario_id"}) for row in rows)


def copied(tables: Tables, name: str, broker: int = 1) -> dict[int, int]:
    """Round -> bytes of the segments whose copy a broker finished in it."""
    found: dict[int, int] = defaultdict(int)
    for row in of_scenario(tables, name)["remote_segments"]:
        if row["broker"] == broker and row["copied_round"] is not None:
            found[row["copied_round"]] += row["bytes"]
    return found


def behind(tables: Tables, name: str) -> dict[int, int]:
    """Round -> records of broker 1 that are not copied at its end."""
    found: dict[int, int] = defaultdict(int)
    for row in of_scenario(tables, name)["trace"]:
        if row["broker"] == 1:
            found[row["round"]] += row["leo"] - 1 - row["highest_remote_offset"]
    return found


def rounds_to_catch_up(tables: Tables, name: str) -> int:
    """Rounds from the end of the outage until no more waits than before it."""
    usual = max(waiting for round_, waiting in behind(tables, "base").items() if 5 <= round_ < AWAY)
    return min(round_ for round_, waiting in behind(tables, name).items() if round_ >= BACK and waiting <= usual) - BACK


def test_leaps_give_the_same(run: dict[str, Tables]) -> None:
    assert_the_same(run)


@pytest.mark.parametrize(("name", "budget"), [("threads", 2 * RATE), ("quota", QUOTA)])
def test_a_backlog_takes_what_the_budget_leaves(run: dict[str, Tables], name: str, budget: int) -> None:
    needs = BACKLOG / (budget - PRODUCED)  # 15 and 20 rounds
    assert needs - 3 <= rounds_to_catch_up(run["plain"], name) <= needs + RETRY + WINDOW


def test_enough_threads_are_as_many_as_partitions(run: dict[str, Tables]) -> None:
    slowest = 2_000 * (BACK - AWAY) / (RATE - 2_000)  # the busy partition's own copies: 8.6 rounds
    assert slowest - 3 <= rounds_to_catch_up(run["plain"], "base") <= slowest + RETRY + 2


@pytest.mark.parametrize(("name", "budget"), [("threads", 2 * RATE), ("quota", QUOTA)])
def test_no_window_between_edges_takes_more_than_the_budget(run: dict[str, Tables], name: str, budget: int) -> None:
    rounds = copied(run["plain"], name)
    under_way = 5 * SEGMENT_BYTES  # begun in the window before
    for edge in range(0, ROUNDS, WINDOW):
        moved = sum(rounds.get(round_, 0) for round_ in range(edge, edge + WINDOW))
        assert moved <= budget * WINDOW + under_way, edge
    freely = copied(run["plain"], "base")
    assert max(sum(freely.get(r, 0) for r in range(w, w + WINDOW)) for w in range(BACK, ROUNDS)) > budget * WINDOW + under_way


def test_the_budget_is_used(run: dict[str, Tables]) -> None:
    """The quota is over 11 s (KIP-956): what it lets begin at once, it does not let begin for the rest of them."""
    for name, budget, rounds in (("threads", 2 * RATE, WINDOW), ("quota", QUOTA, 11)):
        moved = sum(copied(run["plain"], name).get(round_, 0) for round_ in range(BACK + RETRY, BACK + RETRY + rounds))
        assert moved >= budget * rounds - 5 * SEGMENT_BYTES, name


def test_other_brokers_are_untouched(run: dict[str, Tables]) -> None:
    for table in ("remote_segments", "trace", "outcomes"):
        rows = {
            name: [row for row in of_scenario(run["plain"], name)[table] if row["topic"] == "elsewhere"]
            for name in ("base", "threads", "quota")
        }
        assert rows["base"]
        for name in ("threads", "quota"):
            assert without_scenario(rows[name]) == without_scenario(rows["base"]), (table, name)
