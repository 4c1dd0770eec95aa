"""Offloading of a topic's closed ledgers: what lies where at the end, who read what, and what it costs, by SQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from pyspark.sql import SparkSession

from emulator.outcomes.prices import load_prices
from emulator.outcomes.tiering_report import tiering_report_sql
from emulator.run import run_emulation
from emulator.scenario import load_run
from tests.asked import ask, rows_of

TIERED = """
protocol = "bookkeeper"
rounds = 60
round_ms = 1000
[cluster]
brokers = 4
[remote_storage]
copy_bytes_per_second = 4000
[[topics]]
name = "orders"
partitions = 1
config = { managedLedger = true, managedLedgerMaxEntriesPerLedger = 10, managedLedgerMinLedgerRolloverTimeMinutes = 0, \
defaultRetentionTimeInMinutes = -1, defaultRetentionSizeInMB = -1, retentionCheckIntervalInSeconds = 5, \
ensembleSize = 3, writeQuorumSize = 3, ackQuorumSize = 2, \
managedLedgerOffloadAutoTriggerSizeThresholdBytes = 0, managedLedgerOffloadDeletionLagMs = 10000 }
[[workload]]
topic = "orders"
records_per_round = 1
record_bytes = 1000
max_in_flight = 4
[[faults]]
kind = "remote_storage_outage"
from_round = 30
to_round = 60
[[variants]]
name = "off"
topics = [{ name = "orders", config = { managedLedgerOffloadAutoTriggerSizeThresholdBytes = -1 } }]
[[variants]]
name = "read"
commands = [{ kind = "read_topic", topic = "orders", round = 20 }, { kind = "read_topic", topic = "orders", round = 29 }]
[[variants]]
name = "read in vain"
commands = [{ kind = "read_topic", topic = "orders", round = 40 }]
"""


@pytest.fixture(scope="module")
def out(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The tables of TIERED."""
    folder = tmp_path_factory.mktemp("tiered")
    (folder / "tiered.toml").write_text(TIERED)
    run_emulation(load_run(str(folder / "tiered.toml")), str(folder / "out"), spark)
    return str(folder / "out")


def asked(out: str, sql: str) -> dict[str, Mapping[str, Any]]:
    """Rows by their column `scenario`."""
    return {row["scenario"]: row for row in rows_of(out, sql)}


def test_what_lies_where(out: str) -> None:
    """Two ledgers were copied before the outage, and are on no bookie any more; the rest has three copies on bookies."""
    _, ledgers = ask(
        out,
        "SELECT s.name, ledger, closed_round, offloaded_round, deleted_from_bookies_round,"
        " local_bytes, t.remote_bytes, held_twice_bytes"
        " FROM ledgers JOIN ledger_tiers t USING (scenario_id, topic, partition, ledger) JOIN scenarios s USING (scenario_id)"
        " WHERE ledger < 3 ORDER BY s.scenario_id, ledger",
    )
    base = [tuple(row[1:]) for row in ledgers if row[0] == "base"]
    assert [row[1] for row in base] == sorted(row[1] for row in base)
    copied = [row for row in base if row[2] is not None]
    assert len(copied) == 2
    for _, closed, offloaded, freed, local, remote, twice in copied:
        assert offloaded - closed == 3  # 10,000 bytes at 4,000 a round
        assert freed - offloaded in range(11, 16)
        assert freed % 5 == 0
        assert (local, remote, twice) == (0, 10_000, 0)
    assert [row[4:] for row in base if row[2] is None] == [(30_000, 0, 0)]
    assert {tuple(row[3:]) for row in ledgers if row[0] == "off"} == {(None, None, 30_000, 0, 0)}


def test_who_read_what(out: str) -> None:
    """Ledgers of ten entries of 1,000 bytes. Readers get what is offloaded from the store, and nothing of that in the outage."""
    sums = ("offloaded_bytes", "offload_read_bytes", "reader_bytes", "reader_remote_bytes")
    read = asked(
        out,
        f"SELECT s.name AS scenario, {', '.join(f'sum({one}) AS {one}' for one in sums)}, any_value(b.bytes_out) AS bytes_out"
        " FROM ledgers l JOIN scenarios s USING (scenario_id) JOIN (SELECT scenario_id, sum(bytes_out) AS bytes_out"
        " FROM broker_rounds GROUP BY scenario_id) b USING (scenario_id) GROUP BY s.name",
    )
    assert [read["base"][one] for one in sums] == [20_000, 20_000, 0, 0]
    assert [read["off"][one] for one in sums] == [0, 0, 0, 0]
    in_vain = read["read in vain"]
    assert [in_vain[one] for one in sums[:2]] == [20_000, 20_000]
    assert in_vain["reader_remote_bytes"] == 0
    # One message a round is acknowledged, but for those of the round in which a ledger is rolled over.
    assert in_vain["reader_bytes"] in range(14_000, 21_001, 1000)
    both = read["read"]
    assert both["reader_remote_bytes"] == 10_000 + 20_000
    for row in read.values():
        assert row["bytes_out"] == row["offload_read_bytes"] + row["reader_bytes"]


def test_copies_that_fail(out: str) -> None:
    """The outage begins in round 30: what is being copied fails then, and so does all that is due at each close."""
    _, rows = ask(
        out,
        "SELECT ledger, closed_round, offload_started_round, copy_errors, given_up_bytes FROM ledgers WHERE scenario_id = 0"
        " AND offloaded_round IS NULL ORDER BY ledger",
    )
    ledgers = [tuple(row) for row in rows]
    closes = [closed for _, closed, *_ in ledgers if closed is not None and closed >= 30]
    assert len(closes) >= 2
    for _, closed, started, errors, given_up in ledgers:
        was_moving = started is not None
        assert errors == (0 if closed is None else sum(close >= closed for close in closes) + was_moving)
        assert given_up == (4000 * (29 - started) if was_moving else 0)
    report = asked(out, tiering_report_sql())
    assert report["base"]["copy_errors"] == sum(errors for *_, errors, _ in ledgers) > 0
    assert report["base"]["copied_again_gb"] == sum(given_up for *_, given_up in ledgers) / 1e9
    assert report["off"]["copy_errors"] == 0


def test_what_it_costs(out: str) -> None:
    """The tiering report of topics that are lists of ledgers: bytes by tier, requests, the bill."""
    report = asked(out, tiering_report_sql())
    base, off = report["base"], report["off"]
    assert (base["remote_end_gb"], base["offloaded_gb"], base["offload_read_gb"], base["bookie_read_gb"]) == (2e-5, 2e-5, 2e-5, 0)
    assert (off["remote_end_gb"], off["offloaded_gb"], off["put_requests"]) == (0, 0, 0)
    assert base["local_end_gb"] < off["local_end_gb"]
    prices = load_prices()
    assert base["put_requests"] == 2 * (prices.store.puts_per_copy + 1)
    assert base["only_remote_records"] == 20
    of_ledgers = asked(
        out, "SELECT s.name AS scenario, t.* FROM tiering_ledgers t JOIN scenarios s ON s.scenario_id = t.scenario_id"
    )
    assert of_ledgers["base"]["twice_byte_rounds"] > of_ledgers["base"]["twice_bytes"] == 0
    assert of_ledgers["read"]["reader_remote_bytes"] == 30_000
    assert report["read"]["get_requests"] == 2 * prices.store.gets_per_remote_read
    for row in report.values():
        assert (row["brokers_needed"], row["limited_by"]) == (3, "replication factor")  # bookies: as many as an ensemble has
        assert row["instances_cost"] > 0
    bought = asked(
        out,
        "SELECT i.scenario, sum(quantity) AS gib_months, any_value(byte_rounds) AS byte_rounds FROM tiering_cost_items i"
        " JOIN (SELECT scenario_id, sum(offloaded_bytes * (60 - offloaded_round)) AS byte_rounds FROM ledgers"
        " WHERE offloaded_bytes > 0 GROUP BY scenario_id) USING (scenario_id) WHERE item = 'remote storage' GROUP BY i.scenario",
    )
    assert bought.keys() == {"base", "read", "read in vain"}
    assert bought["base"]["gib_months"] == pytest.approx(bought["base"]["byte_rounds"] / 3600 / 730 / 2**30)
    (buckets,) = ask(out, "SELECT count(*) FROM tiering_rounds WHERE scenario_id = 0 AND remote_bytes = 20000")[1]
    assert buckets[0] > 0
