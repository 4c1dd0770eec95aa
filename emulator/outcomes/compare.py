"""Scenarios side by side on the same faults, paired by partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from emulator.errors import InputError, did_you_mean, listing, quoted
from emulator.intervals import cluster_bootstrap
from emulator.table_columns import TABLE_COLUMNS

GROUPING_COLUMNS = tuple(column.name for column in TABLE_COLUMNS["outcomes"] if column.name != "scenario_id")
SHARES = ("lost_share", "diverged_share", "unavailable_share")
"""Of the partitions; in the order of their columns."""
COUNTED = ("lost", "diverged", "unavailable")
"""What these are shares of the partitions of: columns count_... of `compare_sql`."""
TOTALS = (
    "partitions", "lost", "truncated", "diverged", "refused", "unwritable_seconds", "leaderless_seconds", "under_min_isr_seconds",
    "worse", "better",
)  # fmt: skip
"""Of a scenario, summed over partitions; of several draws the mean."""
APART = ("unacknowledged_lost", "unreadable", "under_replicated")
"""Likewise, behind all others: what nobody was told of (acks=0), and of ledgers what is not lost, but not well at the end."""

Ask = Callable[[str], tuple[Sequence[str], Iterable[Sequence[Any]]]]


def compare(ask: Ask, by: Sequence[str] = ()) -> tuple[list[str], list[tuple[Any, ...]]]:
    """(columns, rows) of the scenarios of a run side by side, or of the configurations that it has several draws of.

    `ask` answers SQL; `by` as for `compare_sql`. Columns: scenario, protocol, the grouping columns, `draws` where there are
    several, TOTALS (their means over draws), SHARES, each with `_low` and `_high` over draws (`over_draws`), and APART.
    """
    columns, rows = ask(compare_sql(by))
    found = [dict(zip(columns, row, strict=True)) for row in rows]
    if any(row["seed"] is not None for row in found):
        return over_draws(found, by)
    shown = ["scenario", "protocol", *by, *TOTALS, *SHARES, *APART]
    of_scenarios = [{**row, **_shares([row])} for row in found]
    return shown, [tuple(_of(row, name, by) for name in shown) for row in of_scenarios]


def over_draws(rows: Sequence[Mapping[str, Any]], by: Sequence[str]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """(columns, rows) of configurations, each over its draws: what differs between scenarios but the seed.

    Partitions of one draw share its faults, so the draws are what is resampled: `cluster_bootstrap`. A share without an interval
    (null) is one of which all draws say the same. The base and the variants themselves, which are no draws, are left out.
    """
    of: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["seed"] is not None:
            of.setdefault((row["configuration"], *(row[f"by_{name}"] for name in by)), []).append(row)
    intervals = [f"{name}{end}" for name in SHARES for end in ("", "_low", "_high")]
    columns = ["scenario", "protocol", *by, "draws", *TOTALS, *intervals, *APART]
    found = []
    for draws in of.values():
        means = {name: round(sum(float(row[name]) for row in draws) / len(draws), 3) for name in (*TOTALS, *APART)}
        whole = {**draws[0], **means, **_shares(draws), "scenario": draws[0]["configuration"], "draws": len(draws)}
        for share, counted in zip(SHARES, COUNTED, strict=True):
            counts = [int(row[f"count_{counted}"]) for row in draws]
            bounds = cluster_bootstrap(counts, [int(row["partitions"]) for row in draws])
            low, high = (None, None) if bounds is None else bounds
            whole |= {f"{share}_low": low, f"{share}_high": high}
        found.append(tuple(_of(whole, name, by) for name in columns))
    return columns, found


def _of(row: Mapping[str, Any], name: str, by: Sequence[str]) -> Any:
    value = row[f"by_{name}"] if name in by else row[name]
    return round(value, 6) if isinstance(value, float) else value


def _shares(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Shares of the partitions of all rows together."""
    partitions = sum(int(row["partitions"]) for row in rows)
    counts = {name: sum(int(row[f"count_{counted}"]) for row in rows) for name, counted in zip(SHARES, COUNTED, strict=True)}
    return {name: count / partitions for name, count in counts.items()}


def compare_sql(by: Sequence[str] = ()) -> str:
    """SQL over the views of a run: one row per scenario and group of partitions.

    `by`: columns of `outcomes` to group partitions by, as base has them; none: all partitions together. Columns: scenario,
    protocol, seed and configuration (of a sweep's draw: its seed, and its other choices in words; else null), by_... of each
    grouping column, partitions, then lost (acknowledged records), unacknowledged_lost
    (sent with acks=0), unreadable and under_replicated (acknowledged entries of ledgers, at the end), truncated (records),
    diverged (partitions whose replicas differ below their high watermarks); what guarding against losses costs: refused
    (records), and unwritable_seconds, leaderless_seconds and under_min_isr_seconds (summed over partitions); worse and better
    (partitions that lost more, or less, than in base, of a draw: than in the base of its own seed and fault); count_lost,
    count_diverged and count_unavailable (partitions). Raises InputError
    for a column that outcomes lacks.
    """
    check_groups(by)
    groups = "".join(f"base.{name} AS by_{name}, " for name in by)
    names = "".join(f"by_{name}, " for name in by)
    return f"""
WITH chosen AS (
  SELECT scenario_id, name, protocol, round_ms, overrides['sweep.seed'] AS seed,
    IF(overrides['sweep.seed'] IS NULL, 0,
      min(scenario_id) OVER (PARTITION BY overrides['sweep.seed'], overrides['sweep.fault'])) AS base_id,
    concat_ws(', ', translate(overrides['sweep.variant'], '"', ''), translate(overrides['sweep.fault'], '"', ''),
      translate(overrides['sweep.settings'], '"', '')) AS configuration
  FROM scenarios
),
pairs AS (
  SELECT o.scenario_id, s.seed, s.configuration, s.name, s.protocol, s.round_ms, {groups}
    o.acked_lost AS own_lost, base.acked_lost AS base_lost, o.unacknowledged_lost AS own_unacknowledged_lost,
    o.acked_unreadable AS own_unreadable, o.acked_under_replicated AS own_under_replicated,
    o.truncated AS own_truncated, o.refused AS own_refused,
    o.unwritable_rounds AS own_unwritable, o.leaderless_rounds AS own_leaderless, o.under_min_isr_rounds AS own_under_min_isr,
    d.topic IS NOT NULL AS is_diverged
  FROM outcomes o
  JOIN chosen s ON s.scenario_id = o.scenario_id
  JOIN outcomes base ON base.scenario_id = s.base_id AND base.topic = o.topic AND base.partition = o.partition
  LEFT JOIN (SELECT DISTINCT scenario_id, topic, partition FROM diverged) d
    ON d.scenario_id = o.scenario_id AND d.topic = o.topic AND d.partition = o.partition
)
SELECT
  first(name) AS scenario,
  first(protocol) AS protocol,
  first(seed) AS seed,
  first(configuration) AS configuration,
  {names}count(*) AS partitions,
  sum(own_lost) AS lost,
  coalesce(sum(own_unacknowledged_lost), 0) AS unacknowledged_lost,
  coalesce(sum(own_unreadable), 0) AS unreadable,
  coalesce(sum(own_under_replicated), 0) AS under_replicated,
  sum(own_truncated) AS truncated,
  count_if(is_diverged) AS diverged,
  sum(own_refused) AS refused,
  round(sum(own_unwritable * round_ms) / 1000, 1) AS unwritable_seconds,
  round(sum(own_leaderless * round_ms) / 1000, 1) AS leaderless_seconds,
  round(sum(own_under_min_isr * round_ms) / 1000, 1) AS under_min_isr_seconds,
  count_if(own_lost > base_lost) AS worse,
  count_if(own_lost < base_lost) AS better,
  count_if(own_lost > 0) AS count_lost,
  count_if(is_diverged) AS count_diverged,
  count_if(own_leaderless > 0) AS count_unavailable
FROM pairs
GROUP BY {names}scenario_id
ORDER BY {names}scenario_id
"""


def check_groups(by: Sequence[str]) -> None:
    """Raises InputError for a column that partitions cannot be grouped by."""
    for name in by:
        if name not in GROUPING_COLUMNS:
            problem = f"outcomes has no column {quoted(name)}{did_you_mean(name, GROUPING_COLUMNS)}"
            raise InputError(f"--by: {problem}; allowed: {listing(GROUPING_COLUMNS)}")


def same_group(alias: str, by: Sequence[str]) -> str:
    """SQL: whether a row is of the same scenario and group of partitions as the row `k` of keys."""
    return f"{alias}.scenario_id = k.scenario_id" + "".join(f" AND {alias}.{name} <=> k.{name}" for name in by)


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
