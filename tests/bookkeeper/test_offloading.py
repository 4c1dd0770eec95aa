"""Offloading of a topic's closed ledgers: what lies where at the end, by SQL."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from emulator.outcomes.sql import run_sql
from emulator.run import run_emulation
from emulator.scenario import load_run

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
"""


def test_what_lies_where(spark: SparkSession, tmp_path: Path) -> None:
    """Two ledgers were copied before the outage, and are on no bookie any more; the rest has three copies on bookies."""
    (tmp_path / "tiered.toml").write_text(TIERED)
    run_emulation(load_run(str(tmp_path / "tiered.toml")), str(tmp_path / "out"), spark)
    _, rows = run_sql(
        str(tmp_path / "out"),
        "SELECT s.name, ledger, closed_round, offloaded_round, deleted_from_bookies_round,"
        " local_bytes, t.remote_bytes, held_twice_bytes"
        " FROM ledgers JOIN ledger_tiers t USING (scenario_id, topic, partition, ledger) JOIN scenarios s USING (scenario_id)"
        " WHERE ledger < 3 ORDER BY s.scenario_id, ledger",
        spark,
    )
    ledgers = list(rows)
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
