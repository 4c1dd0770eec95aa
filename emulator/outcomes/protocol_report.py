"""`emulator compare DIR --report protocols`: what each protocol of a run costs and keeps under the same faults."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.outcomes.compare import check_groups, groups_sql, same_group, same_partition
from emulator.rounds.quorums.protocols import ALL, IN_SYNC, MAJORITY, TOLD
from emulator.scenario.protocols import GROUP_PROTOCOLS, group_protocol


def _is_one(*acks: str) -> str:
    """SQL of whether a scenario's protocol is one of groups with these acks, or a mutant of one."""
    names = ", ".join(f"'{name}'" for name in GROUP_PROTOCOLS if group_protocol(name).acks in acks)
    return f"s.protocol IN ({names})"


def copies_for(failures: int) -> str:
    """SQL of how many copies keep what is committed through so many failures; null: no number, or not by their number alone."""
    majority = f"{_is_one(MAJORITY)} OR ({_is_one(TOLD)} AND k.acks_awaited = floor(k.copies / 2))"
    in_sync = f"s.protocol LIKE 'kafka%' OR {_is_one(IN_SYNC, ALL)}"
    return f"CASE WHEN {majority} THEN {2 * failures + 1} WHEN {in_sync} THEN {failures + 1} END"


def protocol_report_sql(by: Sequence[str] = ()) -> str:
    """SQL over the views of a run: one row per scenario and group of partitions, its columns in docs/protocols_compared.md.

    `by`: as of quorum_report_sql. Raises InputError for a column that outcomes lacks.
    """
    check_groups(by)
    of_group = "".join(f", g.{name}" for name in by)
    names = "".join(f", {name}" for name in by)
    of_kept = "".join(f"k.{name}, " for name in by)

    return f"""
WITH groups_of AS ({groups_sql(by)}
),
stored AS (
  SELECT scenario_id, topic, partition, sum(bytes) / sum(records) AS record_bytes
  FROM quorum_holdings
  WHERE records > 0
  GROUP BY scenario_id, topic, partition
),
of_each AS (
  SELECT
    o.scenario_id{of_group},
    o.acked,
    o.acked_lost,
    o.unacked_rounds,
    o.unwritable_rounds,
    coalesce(c.copies, q.copies) AS copies,
    CASE
      WHEN c.copies IS NOT NULL THEN c.acks_needed - 1
      WHEN q.setting LIKE 'RF %' THEN size(o.isr) - 1
      ELSE q.acks_needed
    END AS acks_awaited,
    coalesce(c.record_bytes, t.record_bytes, 0) AS record_bytes,
    CASE
      WHEN c.copies IS NOT NULL THEN c.sent_entries * coalesce(c.record_bytes, 0)
      WHEN q.setting LIKE 'RF %' THEN o.replicated_bytes
      ELSE o.acked * q.copies * coalesce(t.record_bytes, 0)
    END AS sent_bytes,
    CASE
      WHEN c.copies IS NOT NULL THEN c.written_entries * coalesce(c.record_bytes, 0)
      WHEN q.setting LIKE 'RF %' THEN o.replicated_bytes + o.appended * coalesce(t.record_bytes, 0)
      ELSE o.acked * q.copies * coalesce(t.record_bytes, 0)
    END AS written_bytes
  FROM outcomes o
  JOIN groups_of g ON {same_partition("o")}
  LEFT JOIN groups c ON c.scenario_id = o.scenario_id AND c.topic = o.topic AND c.partition = o.partition
  LEFT JOIN quorum_partitions q ON q.scenario_id = o.scenario_id AND q.topic = o.topic AND q.partition = o.partition
  LEFT JOIN stored t ON t.scenario_id = o.scenario_id AND t.topic = o.topic AND t.partition = o.partition
),
kept AS (
  SELECT
    scenario_id{names},
    count(*) AS partitions,
    avg(copies) AS copies,
    avg(acks_awaited) AS acks_awaited,
    sum(acked) AS acked,
    sum(acked_lost) AS acked_lost,
    sum(unacked_rounds) AS unacked_rounds,
    sum(unwritable_rounds) AS unwritable_rounds,
    max(unwritable_rounds) AS most_unwritable_rounds,
    sum(sent_bytes) AS sent_bytes,
    sum(written_bytes) AS written_bytes,
    sum(acked * record_bytes) AS acked_bytes
  FROM of_each
  GROUP BY scenario_id{names}
),
waits AS (
  SELECT
    scenario_id{names},
    rounds,
    sum(records) OVER (PARTITION BY scenario_id{names} ORDER BY rounds) AS so_far,
    sum(records) OVER (PARTITION BY scenario_id{names}) AS whole
  FROM (
    SELECT w.scenario_id{of_group}, w.rounds, sum(w.records) AS records
    FROM commit_latencies w
    JOIN groups_of g ON {same_partition("w")}
    GROUP BY w.scenario_id{of_group}, w.rounds
  )
),
latencies AS (
  SELECT
    scenario_id{names},
    min(CASE WHEN 2 * so_far >= whole THEN rounds END) AS latency_p50,
    min(CASE WHEN 100 * so_far >= 99 * whole THEN rounds END) AS latency_p99
  FROM waits
  GROUP BY scenario_id{names}
),
causes AS (
  SELECT scenario_id{names}, array_join(array_sort(collect_set(cause)), '; ') AS lost_by_cause
  FROM (
    SELECT
      e.scenario_id{of_group},
      concat(coalesce(f.kind, 'no fault'), ' ', sum(coalesce(e.records, e.to_offset - e.from_offset))) AS cause
    FROM events e
    JOIN groups_of g ON {same_partition("e")}
    LEFT JOIN faults f ON f.scenario_id = e.scenario_id AND f.fault_id = e.cause
    WHERE e.kind = 'acked_lost'
    GROUP BY e.scenario_id{of_group}, f.kind
  )
  GROUP BY scenario_id{names}
)
SELECT
  s.name AS scenario,
  s.protocol,
  {of_kept}k.partitions,
  k.copies,
  {copies_for(1)} AS copies_for_1,
  {copies_for(2)} AS copies_for_2,
  k.acks_awaited,
  k.acked,
  CAST(round(k.written_bytes / nullif(k.acked, 0)) AS BIGINT) AS written_per_record,
  CAST(round(k.sent_bytes / nullif(k.acked, 0)) AS BIGINT) AS sent_per_record,
  round(k.acked_bytes / nullif(k.written_bytes, 0), 3) AS throughput_share,
  l.latency_p50,
  l.latency_p99,
  round(k.unacked_rounds / nullif(k.acked, 0), 3) AS latency_mean,
  round(k.unwritable_rounds * s.round_ms / 1000, 1) AS unavailable_seconds,
  round(k.most_unwritable_rounds * s.round_ms / 1000, 1) AS most_unavailable_seconds,
  k.acked_lost,
  coalesce(c.lost_by_cause, '') AS lost_by_cause
FROM kept k
JOIN scenarios s ON s.scenario_id = k.scenario_id
LEFT JOIN latencies l ON {same_group("l", by)}
LEFT JOIN causes c ON {same_group("c", by)}
ORDER BY {"".join(f"k.{name} NULLS LAST, " for name in by)}k.scenario_id
"""
