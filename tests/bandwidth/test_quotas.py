"""Catch-up under limited bandwidth: what brokers carry, how long it takes, which replicas throttles hold back."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emulator.scenario import load_run
from tests.bandwidth.both_modes import Tables, assert_the_same, run_in_both_modes
from tests.engine_helpers import Row, of_scenario

RECORD_BYTES, RECORDS, PARTITIONS, WINDOW, BACK = 1000, 4, 6, 10, 60
"""Every partition gets 4,000 bytes a round; broker 3 is away in rounds 20 to 59, and lacks 160,000 bytes of each then."""

SCENARIO = f"""
protocol = "kafka"
rounds = 115
round_ms = 1000
[cluster]
brokers = 4
session_timeout_rounds = 6
quota_window_rounds = {WINDOW}
config = {{ "auto.leader.rebalance.enable" = false }}
[[topics]]
name = "orders"
assignment = {[[1, 2, 3]] * 3 + [[2, 1, 3]] * 3}
config = {{ "min.insync.replicas" = 1 }}
[[topics]]
name = "moving"
assignment = [[1, 2], [2, 1], [1, 2]]
config = {{ "leader.replication.throttled.replicas" = "0:1", "follower.replication.throttled.replicas" = "1:4" }}
[[workload]]
topic = "orders"
records_per_round = {RECORDS}
record_bytes = {RECORD_BYTES}
acks = "all"
[[workload]]
topic = "moving"
to_round = 50
records_per_round = {RECORDS}
record_bytes = {RECORD_BYTES}
acks = "all"
[[faults]]
kind = "broker_crash"
broker = 3
from_round = 20
to_round = {BACK}
[[commands]]
round = 80
kind = "reassign"
topic = "moving"
partition = 0
replicas = [1, 4]
[[commands]]
round = 80
kind = "reassign"
topic = "moving"
partition = 1
replicas = [2, 4]
[[commands]]
round = 80
kind = "reassign"
topic = "moving"
partition = 2
replicas = [1, 4]
[[variants]]
name = "network"
cluster = {{ network_bytes_per_second = 60000 }}
[[variants]]
name = "disk"
cluster = {{ disk_bytes_per_second = 50000 }}
[[variants]]
name = "throttled"
cluster = {{ config = {{ "leader.replication.throttled.rate" = 9000, "follower.replication.throttled.rate" = 7000 }} }}
[[variants]]
name = "short"
rounds = 45
cluster = {{ network_bytes_per_second = 60000 }}
"""


@pytest.fixture(scope="module")
def run(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tables]:
    """The tables by mode."""
    return run_in_both_modes(spark, SCENARIO, tmp_path_factory.mktemp("quotas"))


def fetched(tables: dict[str, list[Row]], name: str) -> dict[tuple[str, int, int], dict[int, int]]:
    """(topic, partition, broker) -> round -> bytes fetched, of the followers."""
    rows = of_scenario(tables, name)["trace"]
    leo: dict[tuple[str, int, int], dict[int, int]] = defaultdict(dict)
    for row in sorted(rows, key=lambda r: r["round"]):
        if row["role"] != "leader":
            leo[row["topic"], row["partition"], row["broker"]][row["round"]] = row["leo"]
    return {
        key: {r: (ends[r] - ends.get(r - 1, 0)) * RECORD_BYTES for r in ends if r == 0 or r - 1 in ends}
        for key, ends in leo.items()
    }


def catch_up(
    tables: dict[str, list[Row]], name: str, topic: str, broker: int, from_round: int, partition: int | None = None
) -> int:
    """How many rounds it takes a broker to have all of a topic's records, or of one partition's."""
    rows = [r for r in of_scenario(tables, name)["trace"] if r["topic"] == topic and r["round"] >= from_round]
    rows = [r for r in rows if partition in (None, r["partition"])]
    lacks = defaultdict(int)
    leaders = {(r["partition"], r["round"]): r["leo"] for r in rows if r["role"] == "leader"}
    for r in rows:
        if r["broker"] == broker:
            lacks[r["round"]] += leaders[r["partition"], r["round"]] - r["leo"]
    assert lacks
    return min((r for r, lack in lacks.items() if lack == 0), default=10**6) - from_round + 1


def test_leaps_give_the_same(run: dict[str, Tables]) -> None:
    assert_the_same(run)


@pytest.mark.parametrize(("name", "budget"), [("network", 60_000), ("disk", 50_000)])
def test_no_broker_takes_more_than_its_budget(run: dict[str, Tables], name: str, budget: int) -> None:
    by_window: dict[tuple[int, int], int] = defaultdict(int)
    for (_, _, broker), rounds in fetched(run["plain"], name).items():
        for round_, size in rounds.items():
            by_window[broker, round_ // WINDOW] += size
    # Brokers 1 and 2 take 3 partitions' records from clients besides, and up to round 50 those of moving.
    moving = {1: 2, 2: 1}
    partial = (PARTITIONS + 3) * RECORDS * RECORD_BYTES  # a batch of each follower that the window before had nearly paid for
    for (broker, window), size in by_window.items():
        partitions = (3 if broker in moving else 0) + (moving.get(broker, 0) if window < 50 // WINDOW else 0)
        taken = partitions * RECORDS * RECORD_BYTES
        assert size <= (budget - taken) * WINDOW + partial, (broker, window)


def test_catch_up_takes_what_the_slowest_broker_needs(run: dict[str, Tables]) -> None:
    tables = run["plain"]
    assert catch_up(tables, "base", "orders", 3, BACK) <= 2
    lacks = PARTITIONS * (BACK - 20) * RECORDS * RECORD_BYTES
    for name, budget in (("network", 60_000), ("disk", 50_000)):
        needs = lacks / (budget - PARTITIONS * RECORDS * RECORD_BYTES)
        assert needs <= catch_up(tables, name, "orders", 3, BACK) <= needs + WINDOW + 2, name


def test_saturation_is_told(run: dict[str, Tables]) -> None:
    columns = ("network_in_saturated_rounds", "network_out_saturated_rounds", "disk_saturated_rounds", "throttled_rounds")
    told: dict[str, set[tuple[int, str]]] = defaultdict(set)
    names = {row["scenario_id"]: row["name"] for row in run["plain"]["scenarios"]}
    rounds: dict[tuple[str, int, str], int] = defaultdict(int)
    for row in run["plain"]["broker_rounds"]:
        for column in columns:
            assert 0 <= row[column] <= row["to_round"] - row["from_round"]
            rounds[names[row["scenario_id"]], row["broker"], column] += row[column]
            if row[column]:
                told[names[row["scenario_id"]]].add((row["broker"], column))
    assert told["base"] == set()
    assert told["network"] >= {(3, "network_in_saturated_rounds")}
    assert told["disk"] >= {(3, "disk_saturated_rounds")}
    assert told["throttled"] == {(1, "throttled_rounds"), (4, "throttled_rounds")}
    lasts = catch_up(run["plain"], "network", "orders", 3, BACK)
    assert abs(rounds["network", 3, "network_in_saturated_rounds"] - lasts) <= 2 * WINDOW


def test_throttles_hold_back_only_listed_replicas_outside_the_isr(run: dict[str, Tables]) -> None:
    tables = run["plain"]
    everything = 50 * RECORDS * RECORD_BYTES
    assert catch_up(tables, "base", "moving", 4, 80) <= 2
    assert catch_up(tables, "throttled", "orders", 3, BACK) <= 2  # not listed
    assert catch_up(tables, "throttled", "moving", 4, 80, partition=2) <= 2
    for partition, rate in ((0, 9_000), (1, 7_000)):
        needs = everything / rate
        assert needs <= catch_up(tables, "throttled", "moving", 4, 80, partition) <= needs + WINDOW, partition


def test_other_scenarios_of_the_run_change_nothing(run: dict[str, Tables]) -> None:
    long, short = (of_scenario(run["plain"], name)["trace"] for name in ("network", "short"))

    def before(rows: list[Row], end: int) -> list[str]:
        return sorted(repr({k: v for k, v in row.items() if k != "scenario_id"}) for row in rows if row["round"] < end)

    assert before(long, 45) == before(short, 45)


def test_a_wrong_budget_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(SCENARIO.replace("network_bytes_per_second = 60000", "network_bytes_per_second = 0", 1))
    with pytest.raises(Exception, match=r"network_bytes_per_second"):
        load_run(str(path))
