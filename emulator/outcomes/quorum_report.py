"""`emulator compare DIR --report quorums`: ledgers' quorums and partitions' ISRs under the same faults."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.outcomes.compare import check_groups, groups_sql, same_group, same_partition


def quorum_report_sql(by: Sequence[str] = ()) -> str:
    """SQL over the views of a run: one row per scenario and group of partitions, its columns in docs/quorums_and_isr.md.

    `by`: columns of `outcomes` to group partitions by, as base has them (those that only a variant has: as it has them). Raises
    InputError for a column that outcomes lacks.
    """
    check_groups(by)
    names = "".join(f", {name}" for name in by)
    of_group = "".join(f", g.{name}" for name in by)
    of_kept = "".join(f"k.{name}, " for name in by)
    return f"""
WITH groups AS ({groups_sql(by)}
),
kept AS (
  SELECT
    q.scenario_id{of_group},
    array_join(array_sort(collect_set(setting)), '; ') AS setting,
    count(*) AS partitions,
    avg(copies) AS copies,
    avg(acks_needed) AS acks_needed,
    sum(acked) AS acked,
    sum(refused) AS refused,
    sum(unwritable_rounds) AS unwritable_rounds,
    count_if(unwritable_rounds > 0) AS unwritable_partitions,
    max(unwritable_rounds) AS most_unwritable_rounds,
    sum(acked_lost) AS acked_lost,
    sum(unacked_rounds) AS unacked_rounds,
    avg(answers_to_fence) AS answers_to_fence,
    sum(read_requests) AS read_requests,
    sum(batches) AS batches,
    sum(joins) AS joins,
    sum(joined_bytes) AS joined_bytes
  FROM quorum_partitions q
  JOIN groups g ON {same_partition("q")}
  GROUP BY q.scenario_id{of_group}
),
nodes AS (
  SELECT scenario_id{names}, max(bytes) AS most_bytes, sum(bytes) AS bytes
  FROM (
    SELECT h.scenario_id{of_group}, h.broker, sum(h.bytes) AS bytes
    FROM quorum_holdings h
    JOIN groups g ON {same_partition("h")}
    GROUP BY h.scenario_id{of_group}, h.broker
  )
  GROUP BY scenario_id{names}
),
cluster AS (SELECT scenario_id, count(*) AS nodes FROM brokers GROUP BY scenario_id)
SELECT
  s.name AS scenario,
  s.protocol,
  {of_kept}k.setting,
  k.partitions,
  k.copies,
  k.acks_needed,
  k.acked,
  k.refused,
  k.unwritable_rounds,
  k.unwritable_partitions,
  k.most_unwritable_rounds,
  k.acked_lost,
  round(1 + k.unacked_rounds / nullif(k.acked, 0), 3) AS latency_rounds,
  k.answers_to_fence,
  round(k.read_requests / nullif(k.batches, 0), 2) AS requests_per_batch,
  k.joins,
  k.joined_bytes,
  CAST(round(k.joined_bytes / nullif(k.joins, 0)) AS BIGINT) AS bytes_per_join,
  coalesce(n.most_bytes, 0) AS node_bytes_most,
  CAST(round(coalesce(n.bytes, 0) / c.nodes) AS BIGINT) AS node_bytes_mean
FROM kept k
JOIN scenarios s ON s.scenario_id = k.scenario_id
JOIN cluster c ON c.scenario_id = k.scenario_id
LEFT JOIN nodes n ON {same_group("n", by)}
ORDER BY {"".join(f"k.{name} NULLS LAST, " for name in by)}k.scenario_id
"""
