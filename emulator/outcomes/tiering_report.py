"""`emulator compare DIR --report tiering`: what each scenario holds where, what it risks and what it costs."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.outcomes.compare import check_groups, groups_sql, same_group, same_partition
from emulator.table_columns import TABLE_COLUMNS

COST_ITEMS = {
    "broker instances": "instances_cost",
    "local volumes": "local_cost",
    "remote storage": "remote_cost",
    "PUT requests": "put_cost",
    "GET requests": "get_cost",
    "LIST requests": "list_cost",
    "DELETE requests": "delete_cost",
    "cross-rack replication": "cross_rack_cost",
    "cross-rack reads": "cross_rack_read_cost",
}
"""Items of the view tiering_cost_items, and the report's columns of what they cost a month."""


def tiering_report_sql(by: Sequence[str] = ()) -> str:
    """SQL over the views of a run: one row per scenario and group of partitions, its columns in docs/tiering_costs.md.

    `by`: columns of `outcomes` to group partitions by, as base has them (those that only a variant has: as it has them). What no
    partition has for itself (disks over time, traffic between racks, brokers) is then in a row of its own, with null for the
    groups. Costs are for a month and, in `run_cost`, for the run. Raises InputError for a column that outcomes lacks.
    """
    check_groups(by)
    names = "".join(f", {name}" for name in by)
    of_group = "".join(f", g.{name}" for name in by)
    kinds = {column.name: column.kind for column in TABLE_COLUMNS["outcomes"]}
    nulls = "".join(f", CAST(NULL AS {kinds[name]}) AS {name}" for name in by)
    costs = ",\n  ".join(
        f"round(coalesce(c.{column}, 0), 2) AS {column}" for column in ("month_cost", "run_cost", *COST_ITEMS.values())
    )

    fleet_only = " AND ".join(f"k.{name} IS NULL" for name in by) or "true"
    return f"""
WITH groups AS ({groups_sql(by)}
),
held AS (
  SELECT
    p.scenario_id{of_group},
    count(*) AS partitions,
    {_sums()},
    max(p.leaderless_rounds) AS longest_leaderless_rounds
  FROM tiering_partitions p
  JOIN groups g ON {same_partition("p")}
  GROUP BY p.scenario_id{of_group}
),
joined AS (
  SELECT
    f.scenario_id{of_group},
    count_if(is_new) AS new_followers,
    avg(bytes) FILTER (WHERE is_new) AS new_follower_bytes,
    avg(rounds) FILTER (WHERE is_new) AS new_follower_rounds,
    max(rounds) FILTER (WHERE is_new) AS slowest_new_follower_rounds,
    count_if(NOT is_new) AS returning_followers,
    max(rounds) FILTER (WHERE NOT is_new) AS slowest_returning_follower_rounds,
    count_if(joined_round IS NULL) AS never_joined
  FROM follower_catch_ups f
  JOIN groups g ON {same_partition("f")}
  GROUP BY f.scenario_id{of_group}
),
costs AS ({_costs(names, of_group, nulls, bool(by))}
),
fleet AS (
  SELECT f.*, b.largest_broker_bytes, b.cross_rack_bytes
  FROM tiering_fleets f
  LEFT JOIN (
    SELECT scenario_id, max(local_bytes_peak) AS largest_broker_bytes, sum(cross_rack_bytes_out) AS cross_rack_bytes
    FROM tiering_brokers
    GROUP BY scenario_id
  ) b ON b.scenario_id = f.scenario_id
),
keys AS (
  SELECT DISTINCT scenario_id{names} FROM groups{f" UNION ALL SELECT scenario_id{nulls} FROM scenarios" if by else ""}
)
SELECT
  s.name AS scenario{"".join(f", k.{name}" for name in by)},
  h.partitions,
  round(s.rounds * CAST(s.round_ms AS DOUBLE) / 3600000, 3) AS hours,
  {_gb("f.local_bytes_mean", "local_mean_gb")},
  {_gb("f.local_bytes_peak", "local_peak_gb")},
  {_gb("f.largest_broker_bytes", "local_peak_broker_gb")},
  {_gb("h.local_bytes", "local_end_gb")},
  {_gb("h.remote_byte_rounds / s.rounds", "remote_mean_gb")},
  {_gb("f.remote_bytes_peak", "remote_peak_gb")},
  {_gb("h.remote_bytes", "remote_end_gb")},
  {_gb("h.twice_byte_rounds / s.rounds", "held_twice_mean_gb")},
  {_gb("h.twice_bytes", "held_twice_end_gb")},
  {_gb("h.unreferenced_bytes", "unreferenced_gb")},
  {_gb("h.copied_again_bytes", "copied_again_gb")},
  h.copy_errors,
  h.put_requests,
  h.get_requests,
  h.list_requests,
  h.delete_requests,
  {_gb("f.cross_rack_bytes", "cross_rack_gb")},
  h.moved_to_tiered_storage,
  IF(h.partitions IS NULL, NULL, coalesce(j.new_followers, 0)) AS new_followers,
  {_gb("j.new_follower_bytes", "new_follower_gb")},
  {_seconds("j.new_follower_rounds", "new_follower_seconds")},
  {_seconds("j.slowest_new_follower_rounds", "slowest_new_follower_seconds")},
  IF(h.partitions IS NULL, NULL, coalesce(j.returning_followers, 0)) AS returning_followers,
  {_seconds("j.slowest_returning_follower_rounds", "slowest_returning_follower_seconds")},
  IF(h.partitions IS NULL, NULL, coalesce(j.never_joined, 0)) AS never_joined,
  {_gb("h.remote_read_bytes", "remote_read_gb")},
  {_gb("h.cross_rack_read_bytes", "cross_rack_read_gb")},
  h.remote_read_requests,
  {_gb("h.offloaded_bytes", "offloaded_gb")},
  {_gb("h.offload_read_bytes", "offload_read_gb")},
  {_gb("h.reader_bytes", "bookie_read_gb")},
  h.only_remote_records,
  {_gb("h.only_remote_bytes", "only_remote_gb")},
  h.acked_lost,
  h.committed_lost,
  h.refused,
  {_seconds("h.leaderless_rounds", "leaderless_seconds")},
  {_seconds("h.longest_leaderless_rounds", "longest_leaderless_seconds")},
  f.brokers_for_storage,
  f.brokers_for_network,
  f.brokers_for_disks,
  f.brokers_needed,
  f.limited_by,
  z.currency,
  {costs}
FROM keys k
JOIN scenarios s ON s.scenario_id = k.scenario_id
CROSS JOIN sizing z
LEFT JOIN held h ON {same_group("h", by)}
LEFT JOIN joined j ON {same_group("j", by)}
LEFT JOIN costs c ON {same_group("c", by)}
LEFT JOIN fleet f ON f.scenario_id = k.scenario_id AND {fleet_only}
ORDER BY {"".join(f"k.{name} NULLS LAST, " for name in by)}k.scenario_id
"""


def _sums() -> str:
    columns = (
        *("local_bytes", "remote_bytes", "remote_byte_rounds", "twice_bytes", "twice_byte_rounds", "unreferenced_bytes"),
        *("only_remote_records", "only_remote_bytes", "put_requests", "get_requests", "list_requests", "delete_requests"),
        *("copied_again_bytes", "copy_errors", "moved_to_tiered_storage", "remote_read_bytes", "remote_read_requests"),
        *("cross_rack_read_bytes", "offloaded_bytes", "offload_read_bytes", "reader_bytes"),
        *("acked_lost", "committed_lost", "refused", "leaderless_rounds"),
    )
    return ",\n    ".join(f"sum(p.{name}) AS {name}" for name in columns)


def _costs(names: str, of_group: str, nulls: str, grouped: bool) -> str:
    """What the items cost: of partitions by group, and of brokers and instances beside the groups, if there are any."""
    items = ",\n    ".join(f"sum(cost_per_month) FILTER (WHERE item = '{item}') AS {name}" for item, name in COST_ITEMS.items())
    sums = f"sum(cost_per_month) AS month_cost, sum(cost) AS run_cost,\n    {items}"
    if not grouped:
        return f"\n  SELECT scenario_id, {sums}\n  FROM tiering_cost_items\n  GROUP BY scenario_id"
    return f"""
  SELECT scenario_id{names}, {sums}
  FROM (
    SELECT i.scenario_id, i.item, i.cost, i.cost_per_month{of_group}
    FROM tiering_cost_items i
    JOIN groups g ON {same_partition("i")}
    UNION ALL
    SELECT scenario_id, item, cost, cost_per_month{nulls} FROM tiering_cost_items WHERE topic IS NULL
  )
  GROUP BY scenario_id{names}"""


def _gb(value: str, name: str) -> str:
    """Decimal gigabytes: a price table's binary ones are 7 % larger."""
    return f"round({value} / 1e9, 6) AS {name}"


def _seconds(value: str, name: str) -> str:
    return f"round({value} * s.round_ms / 1000, 3) AS {name}"
