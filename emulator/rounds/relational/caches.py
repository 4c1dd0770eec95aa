"""Leader epoch caches follow what a round did to the logs (LeaderEpochFileCache)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from .logs import truncate_from_start
from .tables import EPOCH_COLUMNS, REPLICA, Round, exprs

ENTERS_EPOCH = "protocol IN ('kafka', 'kafka-kip279')"
"""SQL: a leader takes its epoch into its cache when it is told that it leads; else with its first append."""


def after_leading(now: Round) -> DataFrame:
    """The caches after steps 1 to 3: damaged, dropped, with the epoch of who was told that it leads, and a new log start."""
    changes = now.replicas.where("cut_to IS NOT NULL OR is_dropped OR is_told OR new_log_start IS NOT NULL")
    told = f"is_told AND {ENTERS_EPOCH}"
    changes = changes.selectExpr(
        *REPLICA, "is_dropped AS clears", "cut_to", f"IF({told}, client_epoch, null) AS told_epoch", "elected_at AS told_at",
        "CAST(null AS INT) AS first_epoch", "CAST(null AS BIGINT) AS first_start", "new_log_start",
    )  # fmt: skip
    return caches_after(now.leader_epochs, changes, None)


def after_fetching(now: Round) -> DataFrame:
    """The caches after steps 4 to 8: cut, with the epochs that came, a new log start, and the epoch of who leads since."""
    assert now.taken is not None
    last = now.replicas.select(*REPLICA, "last_epoch")
    entries = now.taken.join(last, REPLICA).where("last_epoch IS NULL OR epoch > last_epoch")
    entries = entries.selectExpr(*REPLICA, "epoch", "from_offset AS start_offset")
    firsts = entries.groupBy(*REPLICA).agg(F.min("epoch").alias("first_epoch"), F.min("start_offset").alias("first_start"))
    changed = now.replicas.where(
        "cut_to IS NOT NULL OR starts_anew OR comes OR new_log_start IS NOT NULL OR new_epoch IS NOT NULL"
    ).join(firsts, REPLICA, "left")
    changes = changed.selectExpr(
        *REPLICA, "starts_anew AS clears", "cut_to", f"IF({ENTERS_EPOCH}, new_epoch, null) AS told_epoch", "new_start AS told_at",
        "first_epoch", "first_start", "new_log_start",
    )  # fmt: skip
    return caches_after(now.leader_epochs, changes, entries)


def caches_after(epochs: DataFrame, changes: DataFrame, entries: DataFrame | None) -> DataFrame:
    """The entries that are left, with those that came and those of who was told that it leads.

    `changes`: a row for each replica whose cache changes: clears (all goes), cut_to (what is at or above it goes), first_epoch
    and first_start of the entries that come, told_epoch and told_at, new_log_start.
    """
    told = changes.where("told_epoch IS NOT NULL").selectExpr(
        *REPLICA, "told_epoch AS epoch", "told_at AS start_offset", "'told' AS kind"
    )
    every = epochs.select(*EPOCH_COLUMNS).withColumn("kind", F.lit("old"))
    every = every if entries is None else every.unionByName(entries.withColumn("kind", F.lit("new")))
    every = every.unionByName(told).join(changes, REPLICA, "left")
    stays = "NOT coalesce(clears, false) AND (cut_to IS NULL OR start_offset < cut_to)"
    below_new = "(first_epoch IS NULL OR (epoch < first_epoch AND start_offset < first_start))"
    below_told = "(told_epoch IS NULL OR (epoch < told_epoch AND start_offset < told_at))"
    old = f"{stays} AND {below_new} AND {below_told}"
    kept = every.withColumns(exprs(kept=f"CASE kind WHEN 'old' THEN {old} WHEN 'new' THEN {below_told} ELSE true END")).where(
        "kept"
    )
    return truncate_from_start(kept).select(*EPOCH_COLUMNS)
