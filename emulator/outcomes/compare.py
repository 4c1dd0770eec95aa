"""Scenarios side by side on the same faults, paired by partition."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.errors import InputError, did_you_mean, listing, quoted
from emulator.table_columns import TABLE_COLUMNS

GROUPING_COLUMNS = tuple(column.name for column in TABLE_COLUMNS["outcomes"] if column.name != "scenario_id")
Z_95 = 1.959963984540054


def compare_sql(by: Sequence[str] = ()) -> str:
    """SQL over the views of a run: one row per scenario and group of partitions.

    `by`: columns of `outcomes` to group partitions by, as base has them; none: all partitions together. Columns: scenario,
    protocol, the grouping columns, partitions, then lost, truncated (records), diverged (partitions whose replicas differ below
    their high watermarks); what guarding against losses costs: refused (records), and unwritable_seconds, leaderless_seconds and
    under_min_isr_seconds (summed over partitions); worse and better (partitions that lost more, or less, than in base); and
    lost_share, diverged_share, unavailable_share (of partitions) each with `_low` and `_high`: Wilson's 95 % confidence
    interval. Raises InputError for a column that outcomes lacks. Source: Wilson, JASA 22 (1927).
    """
    check_groups(by)
    groups = "".join(f"base.{name} AS {name}, " for name in by)
    names = "".join(f"{name}, " for name in by)
    shares = ",\n  ".join(
        column for name in ("lost", "diverged", "unavailable") for column in _share(f"count_if(is_{name})", f"{name}_share")
    )
    return f"""
WITH pairs AS (
  SELECT o.scenario_id, {groups}o.acked_lost, o.truncated, o.leaderless_rounds, o.refused, o.unwritable_rounds,
    o.under_min_isr_rounds, base.acked_lost AS base_lost,
    o.acked_lost > 0 AS is_lost, d.topic IS NOT NULL AS is_diverged, o.leaderless_rounds > 0 AS is_unavailable
  FROM outcomes o
  JOIN outcomes base ON base.scenario_id = 0 AND base.topic = o.topic AND base.partition = o.partition
  LEFT JOIN (SELECT DISTINCT scenario_id, topic, partition FROM diverged) d
    ON d.scenario_id = o.scenario_id AND d.topic = o.topic AND d.partition = o.partition
)
SELECT
  first(s.name) AS scenario,
  first(s.protocol) AS protocol,
  {names}count(*) AS partitions,
  sum(acked_lost) AS lost,
  sum(truncated) AS truncated,
  count_if(is_diverged) AS diverged,
  sum(refused) AS refused,
  round(sum(unwritable_rounds * s.round_ms) / 1000, 1) AS unwritable_seconds,
  round(sum(leaderless_rounds * s.round_ms) / 1000, 1) AS leaderless_seconds,
  round(sum(under_min_isr_rounds * s.round_ms) / 1000, 1) AS under_min_isr_seconds,
  count_if(acked_lost > base_lost) AS worse,
  count_if(acked_lost < base_lost) AS better,
  {shares}
FROM pairs JOIN scenarios s ON s.scenario_id = pairs.scenario_id
GROUP BY {names}pairs.scenario_id
ORDER BY {names}pairs.scenario_id
"""


def check_groups(by: Sequence[str]) -> None:
    """Raises InputError for a column that partitions cannot be grouped by."""
    for name in by:
        if name not in GROUPING_COLUMNS:
            problem = f"outcomes has no column {quoted(name)}{did_you_mean(name, GROUPING_COLUMNS)}"
            raise InputError(f"--by: {problem}; allowed: {listing(GROUPING_COLUMNS)}")


def groups_sql(by: Sequence[str]) -> str:
    """SQL: scenario_id, group_topic, group_partition and the columns that partitions are grouped by: base's, else their own."""
    of_base = "".join(f", coalesce(base.{name}, o.{name}) AS {name}" for name in by)
    return f"""
  SELECT o.scenario_id, o.topic AS group_topic, o.partition AS group_partition{of_base}
  FROM outcomes o
  LEFT JOIN outcomes base ON base.scenario_id = 0 AND base.topic = o.topic AND base.partition = o.partition"""


def same_partition(alias: str) -> str:
    """SQL: whether a row is about the partition of the row `g` of `groups_sql`."""
    return f"g.scenario_id = {alias}.scenario_id AND g.group_topic = {alias}.topic AND g.group_partition = {alias}.partition"


def _share(count: str, name: str) -> list[str]:
    """A share of the partitions and the bounds of its Wilson interval."""
    n, z, z2 = "count(*)", f"{Z_95}D", f"{Z_95 * Z_95}D"
    p = f"({count} / {n})"
    middle = f"({p} + {z2} / (2 * {n}))"
    reach = f"({z} * sqrt({p} * (1 - {p}) / {n} + {z2} / (4 * {n} * {n})))"
    scale = f"(1 + {z2} / {n})"
    return [
        f"round({p}, 6) AS {name}",
        f"round(greatest(({middle} - {reach}) / {scale}, 0.0D), 6) AS {name}_low",
        f"round(least(({middle} + {reach}) / {scale}, 1.0D), 6) AS {name}_high",
    ]
