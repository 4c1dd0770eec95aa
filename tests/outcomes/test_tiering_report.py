"""The tiering report of a hand-made run: every figure worked out by hand beside it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from emulator.errors import InputError
from emulator.outcomes.prices import load_prices
from emulator.outcomes.tiering_report import COST_ITEMS, tiering_report_sql
from tests import output_tables
from tests.asked import rows_of

from .tiered_run import PRICES, tables

GB = 10**9


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the run; its prices beside it."""
    folder = tmp_path_factory.mktemp("tiered")
    (folder / "prices.toml").write_text(PRICES, "utf-8")
    output_tables.write_tables(tables(), folder / "run")
    return folder / "run"


def ask(run: Path, sql: str) -> list[dict[str, Any]]:
    return rows_of(run, sql, load_prices(str(run.parent / "prices.toml")))


def test_remote_bytes_by_attempt(run: Path) -> None:
    columns = (
        "partition, segment, from_round, to_round, byte_rounds, reason, coalesce(unreferenced_bytes, 0) AS unreferenced, parts"
    )
    joined = "remote_attempts LEFT JOIN unreferenced_segments USING (scenario_id, topic, partition, segment)"
    rows = ask(run, f"SELECT {columns} FROM {joined} ORDER BY partition, segment")
    assert [tuple(row.values()) for row in rows] == [
        (0, 0, 0, 730, 730 * GB, None, 0, 0),
        (0, 1, 10, 730, 720 * GB, None, 0, 10),
        (0, 2, 400, 730, 330 * GB, None, 0, 10),
        (0, 3, 0, 100, 50 * GB, None, 0, 5),
        (0, 4, 365, 730, 36.5 * GB, "copy given up", 0.1 * GB, 1),
        (1, 0, 73, 730, 1314 * GB, "outside the lineage", 2 * GB, 20),
        (1, 1, 129, 730, 601 * GB, "deletion not finished", GB, 10),
        (1, 2, 700, 730, 6 * GB, None, 0, 2),
        (1, 3, 100, 200, (30 + 159) * GB, "left behind by a late copy", 0.3 * GB, 3),
    ]


def test_bytes_held_twice(run: Path) -> None:
    rows = ask(run, "SELECT partition, segment, twice_byte_rounds, twice_bytes FROM held_twice ORDER BY 1, 2")
    assert [tuple(row.values()) for row in rows] == [
        (0, 0, 0, 0),
        (0, 1, 290 * GB, 0),
        (0, 2, 330 * GB, GB),
        (0, 3, 0, 0),
        (1, 0, 1314 * GB, 2 * GB),
        (1, 1, 601 * GB, GB),
    ]


def test_followers_that_catch_up(run: Path) -> None:
    columns = "topic, partition, broker, left_round, runs_from, joined_round, rounds, is_new, from_offset, to_offset, bytes"
    rows = ask(run, f"SELECT {columns} FROM follower_catch_ups ORDER BY topic, partition, left_round")
    assert [tuple(row.values()) for row in rows] == [
        ("t", 0, 2, 100, 150, 160, 10, True, 200, 260, 600_000_000),
        ("t", 1, 3, 20, 20, 25, 5, False, 40, 45, 50_000_000),
        ("t", 1, 3, 700, 700, None, None, True, 0, None, None),
        ("u", 0, 3, None, None, 40, None, True, None, None, None),
    ]


def test_a_broker_that_died_for_good_and_those_that_replace_it(tmp_path: Path) -> None:
    """Broker 4 is dead. In partition 0 broker 7 has taken its place, in partition 1 a reassignment is about to add it."""

    def place(partition: int, **more: Any) -> dict[str, Any]:
        return {"scenario_id": 0, "topic": "t", "partition": partition, **more}

    lost = [place(p, round=9, kind="isr_shrink", broker=4, from_offset=0, to_offset=0) for p in (0, 1)]
    joined = place(0, round=90, kind="isr_expand", broker=7, from_offset=0, to_offset=500)
    logs = [(0, 1, True), (0, 7, True), (1, 1, True), (1, 4, False), (1, 7, False)]
    replicas = [place(p, broker=broker, role="follower", in_isr=in_isr, leo=500) for p, broker, in_isr in logs]
    output_tables.write_tables({"events": [*lost, joined], "replicas": replicas}, tmp_path / "run")
    rows = rows_of(tmp_path / "run", "SELECT * FROM follower_catch_ups ORDER BY partition, broker")
    columns = ("partition", "broker", "left_round", "joined_round", "is_new")
    assert [tuple(row[column] for column in columns) for row in rows] == [
        (0, 7, None, 90, True),
        (1, 4, 9, None, False),
        (1, 7, None, None, True),
    ]


def test_the_fleet_over_time(run: Path) -> None:
    rows = ask(run, "SELECT * FROM tiering_rounds WHERE scenario_id = 1 ORDER BY from_round")
    names = ("local_bytes_before", "local_bytes", "remote_bytes", "copied_bytes", "seconds")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (4 * GB, 4 * GB, 5.3 * GB, 4.8 * GB, 1_314_000),
        (4 * GB, 6 * GB, 6.6 * GB, 1.3 * GB, 1_314_000),
    ]


@pytest.fixture(scope="module")
def report(run: Path) -> list[dict[str, Any]]:
    return ask(run, tiering_report_sql())


def test_report(report: list[dict[str, Any]]) -> None:
    base, tiered, short = report
    of_base = {
        "scenario": "base", "partitions": 3, "hours": 730, "local_mean_gb": 15, "local_peak_gb": 24, "local_peak_broker_gb": 10,
        "remote_mean_gb": 0, "put_requests": 0, "cross_rack_gb": 2, "acked_lost": 7, "committed_lost": 5, "new_followers": 0,
        "leaderless_seconds": 18_000, "longest_leaderless_seconds": 10_800, "new_follower_gb": None,
        # 24 GB on disks of 4 GB, half full; 3,000 bytes/s in and 1,500 out over 2,000, and onto 500 bytes/s a disk
        "brokers_for_storage": 12, "brokers_for_network": 2, "brokers_for_disks": 6, "brokers_needed": 12,
        "limited_by": "storage", "currency": "EUR",
        # 12 boxes for 730 hours at 2; (8 + 6 + 10) / 0.5 GB at 0.1; 2 GB at 0.02
        "instances_cost": 17_520, "local_cost": 4.8, "cross_rack_cost": 0.04, "remote_cost": 0, "month_cost": 17_524.84,
        "run_cost": 17_524.84,
    }  # fmt: skip
    assert {name: base[name] for name in of_base} == of_base
    of_tiered = {
        "local_mean_gb": 4.5, "local_peak_gb": 6, "local_peak_broker_gb": 2, "local_end_gb": 4.5,
        "remote_mean_gb": round((1866.5 + 2110) / 730, 6), "remote_peak_gb": 6.6, "remote_end_gb": 6.6,
        "held_twice_mean_gb": round((290 + 330 + 1314 + 601) / 730, 6), "held_twice_end_gb": 4, "unreferenced_gb": 3.4,
        "copied_again_gb": 0.5, "copy_errors": 2,
        # 26 parts and 4 copies of 4 more, 35 parts and 4 copies of 4 more
        "put_requests": 42 + 51, "get_requests": 6, "list_requests": 40, "delete_requests": 3, "moved_to_tiered_storage": 1,
        "new_followers": 3, "new_follower_gb": 0.6, "new_follower_seconds": 36_000, "slowest_new_follower_seconds": 36_000,
        "returning_followers": 1, "slowest_returning_follower_seconds": 18_000, "never_joined": 1,
        # from 10 to 199, of 10 MB each
        "only_remote_records": 190, "only_remote_gb": 1.9, "acked_lost": 0, "leaderless_seconds": 3_600,
        # out of brokers: 1,971 MB to followers and 4,800 MB to the store in 1,314,000 s, 5,153 bytes/s
        "brokers_for_storage": 3, "brokers_for_network": 3, "brokers_for_disks": 6, "limited_by": "disk throughput",
        "instances_cost": 8_760, "local_cost": 1.2, "remote_cost": 0.05, "put_cost": 0.37, "get_cost": 0.01, "list_cost": 0.2,
        "delete_cost": 0, "month_cost": 8_761.87,
    }  # fmt: skip
    assert {name: tiered[name] for name in of_tiered} == of_tiered
    # a tenth of a month, 2 brokers by the replication factor, and 8 GB of volume: a month costs ten times as much
    of_short = {"hours": 73, "brokers_needed": 2, "run_cost": 292.08, "month_cost": 2_920.8, "local_cost": 0.8}
    assert {name: short[name] for name in of_short} == of_short


def test_every_total_is_the_sum_of_its_items(run: Path, report: list[dict[str, Any]]) -> None:
    items = ask(run, "SELECT * FROM tiering_cost_items")
    assert all(row["cost"] == pytest.approx(row["quantity"] * row["price"]) for row in items)
    assert {row["item"] for row in items} <= set(COST_ITEMS)
    exact = {(row["scenario"], row["item"]): 0.0 for row in items}
    for row in items:
        exact[row["scenario"], row["item"]] += row["cost"]
    remote = (1866.5 + 2110) / 730 * 0.01
    assert exact["tiered", "remote storage"] == pytest.approx(remote)
    assert exact["tiered", "PUT requests"] == pytest.approx(0.372)
    assert exact["tiered", "GET requests"] == pytest.approx(0.006)
    assert exact["tiered", "LIST requests"] == pytest.approx(0.2)
    totals = {row["scenario"]: row["run_cost"] for row in report}
    for scenario, total in totals.items():
        assert total == pytest.approx(sum(cost for (of, _), cost in exact.items() if of == scenario), abs=0.005)


def test_by_topic(run: Path) -> None:
    rows = ask(run, tiering_report_sql(["topic"]))
    tiered = {row["topic"]: row for row in rows if row["scenario"] == "tiered"}
    assert list(dict.fromkeys(row["topic"] for row in rows)) == ["t", "u", None]
    assert [tiered[topic]["partitions"] for topic in ("t", "u", None)] == [2, 1, None]
    assert [tiered[topic]["put_requests"] for topic in ("t", "u", None)] == [93, 0, None]
    assert [tiered[topic]["new_followers"] for topic in ("t", "u", None)] == [2, 1, None]
    assert [tiered[topic]["local_peak_gb"] for topic in ("t", "u", None)] == [None, None, 6]
    assert [tiered[topic]["brokers_needed"] for topic in ("t", "u", None)] == [None, None, 6]
    assert tiered["t"]["month_cost"] == round(0.372 + 0.006 + 0.2 + (1866.5 + 2110) / 730 * 0.01, 2)
    assert tiered[None]["month_cost"] == 8_761.24
    assert tiered[None]["instances_cost"] == 8_760


def test_unknown_group() -> None:
    with pytest.raises(InputError, match=r'--by: outcomes has no column "topik"'):
        tiering_report_sql(["topik"])


def test_every_column_is_in_the_documentation(report: list[dict[str, Any]]) -> None:
    text = (Path(__file__).parents[2] / "docs" / "tiering_costs.md").read_text("utf-8")
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| ")]
    told = {word for row in rows for word in re.findall(r"\w+", row)}
    assert set(report[0]) <= told


def test_consumers_count(tmp_path: Path) -> None:
    columns = ("page_cache_bytes", "disk_bytes", "remote_bytes", "remote_requests", "index_misses", "cross_rack_bytes")
    values = dict(zip(columns, (GB, GB, 2 * GB, 10, 4, 3 * GB), strict=True))
    place = {"scenario_id": 0, "topic": "u", "partition": 0, "waited_rounds": {}}
    reads = [{**place, "group": group, **values} for group in ("a", "b")]
    kept = {name: rows for name, rows in tables().items() if name in ("outcomes", "scenarios")}
    output_tables.write_tables({**kept, "consumer_groups": reads}, tmp_path / "run")
    (tmp_path / "prices.toml").write_text(PRICES, "utf-8")
    sql = "SELECT item, quantity FROM tiering_cost_items WHERE topic = 'u' ORDER BY item"
    # 20 reads and 8 misses of 3 requests each
    assert [tuple(row.values()) for row in ask(tmp_path / "run", sql)] == [("GET requests", 44), ("cross-rack reads", 6)]
