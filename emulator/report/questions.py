"""What the report asks the tables of a run, in Spark's SQL; `{s}` is the id of the scenario that it tells of."""

from __future__ import annotations

SCENARIOS = """
SELECT s.scenario_id, s.name, s.protocol, count(*) AS partitions, sum(o.acked) AS acked, sum(o.acked_lost) AS acked_lost,
  coalesce(sum(o.unacknowledged_lost), 0) AS unacknowledged_lost,
  count_if(o.acked_lost > 0) AS partitions_with_loss, sum(o.refused) AS refused, coalesce(sum(o.given_up), 0) AS given_up,
  sum(o.leaderless_rounds) * s.round_ms / 1000 AS leaderless_seconds,
  max(o.leaderless_rounds) * s.round_ms / 1000 AS longest_leaderless_seconds,
  sum(o.unwritable_rounds) * s.round_ms / 1000 AS unwritable_seconds,
  sum(o.under_min_isr_rounds) * s.round_ms / 1000 AS under_min_isr_seconds,
  sum(o.under_replicated_rounds) * s.round_ms / 1000 AS under_replicated_seconds,
  sum(o.unclean_elections) AS unclean_elections, sum(o.replicated_bytes) AS replicated_bytes,
  coalesce(sum(o.acked_unreadable), 0) AS acked_unreadable,
  coalesce(sum(o.acked_under_replicated), 0) AS acked_under_replicated,
  coalesce(max(l.failed_adds), 0) AS failed_adds, sum(o.unacked_rounds) * s.round_ms / 1000 AS unacked_seconds
FROM scenarios s
JOIN outcomes o ON o.scenario_id = s.scenario_id
LEFT JOIN (SELECT scenario_id, sum(failed_adds) AS failed_adds FROM ledgers GROUP BY scenario_id) l
  ON l.scenario_id = s.scenario_id
GROUP BY s.scenario_id, s.name, s.protocol, s.round_ms
ORDER BY s.scenario_id
"""
"""What each scenario came to; seconds are summed over partitions, but for the longest."""

TOPICS = """
SELECT o.topic, count(*) AS partitions, min(size(p.replicas)) AS least_replicas, max(size(p.replicas)) AS most_replicas,
  min(p.min_isr) AS min_isr, sum(o.acked) AS acked, sum(o.acked_lost) AS acked_lost,
  coalesce(sum(o.unacknowledged_lost), 0) AS unacknowledged_lost,
  count_if(o.acked_lost > 0) AS partitions_with_loss, sum(o.refused) AS refused, coalesce(sum(o.given_up), 0) AS given_up,
  sum(o.leaderless_rounds) * s.round_ms / 1000 AS leaderless_seconds,
  sum(o.unwritable_rounds) * s.round_ms / 1000 AS unwritable_seconds,
  sum(o.under_min_isr_rounds) * s.round_ms / 1000 AS under_min_isr_seconds,
  sum(o.under_replicated_rounds) * s.round_ms / 1000 AS under_replicated_seconds,
  coalesce(sum(o.acked_unreadable), 0) AS acked_unreadable,
  coalesce(sum(o.acked_under_replicated), 0) AS acked_under_replicated,
  coalesce(max(l.failed_adds), 0) AS failed_adds, sum(o.unacked_rounds) * s.round_ms / 1000 AS unacked_seconds,
  max(l.ledgers) AS ledgers, max(l.quorums) AS quorums
FROM outcomes o
JOIN partitions p ON p.scenario_id = o.scenario_id AND p.topic = o.topic AND p.partition = o.partition
JOIN scenarios s ON s.scenario_id = o.scenario_id
LEFT JOIN (
  SELECT topic, count(*) AS ledgers, sum(failed_adds) AS failed_adds,
    concat(min(ensemble_size), '/', min(write_quorum), '/', min(ack_quorum)) AS quorums
  FROM ledgers
  WHERE scenario_id = {s}
  GROUP BY topic
) l ON l.topic = o.topic
WHERE o.scenario_id = {s}
GROUP BY o.topic, s.round_ms
ORDER BY acked_lost DESC, acked_unreadable DESC, leaderless_seconds DESC, unwritable_seconds DESC, under_min_isr_seconds DESC,
  acked_under_replicated DESC, o.topic
"""

FAULTS = """
WITH lost AS (
  SELECT l.cause, sum(IF(l.kind = 'acked_lost', coalesce(l.records, l.to_offset - l.from_offset), 0)) AS lost_at_elections,
    count(DISTINCT IF(l.kind = 'acked_lost', l.topic, null), l.partition) AS partitions_hit,
    sum(IF(u.kind IS NULL OR l.kind <> 'acked_lost', 0, coalesce(l.records, l.to_offset - l.from_offset)))
      AS lost_at_unclean_elections,
    sum(IF(l.kind = 'acked_lost', 0, coalesce(l.records, l.to_offset - l.from_offset))) AS unacknowledged_lost
  FROM events l
  LEFT JOIN events u ON u.scenario_id = l.scenario_id AND u.topic = l.topic AND u.partition = l.partition AND u.round = l.round
    AND u.broker = l.broker AND u.kind = 'unclean_election'
  WHERE l.scenario_id = {s} AND l.kind IN ('acked_lost', 'unacknowledged_lost')
  GROUP BY l.cause
),
gaps AS (
  SELECT cause, sum(unnoticed_rounds + vacant_rounds) AS rounds, count(DISTINCT topic, partition) AS partitions
  FROM leader_gaps
  WHERE scenario_id = {s}
  GROUP BY cause
),
causes AS (SELECT cause FROM lost UNION SELECT cause FROM gaps UNION SELECT fault_id FROM faults WHERE scenario_id = {s})
SELECT f.fault_id, coalesce(f.kind, 'no fault') AS kind, f.name,
  coalesce(concat('broker ', f.broker, coalesce(concat(' to ', f.peer), '')), concat('rack ', f.rack),
    concat(f.topic, coalesce(concat(':', f.partition), '')), '') AS struck,
  f.from_round, f.to_round, f.from_round * s.round_ms / 1000 AS from_seconds, f.to_round * s.round_ms / 1000 AS to_seconds,
  coalesce(l.lost_at_elections, 0) AS lost_at_elections,
  coalesce(l.lost_at_unclean_elections, 0) AS lost_at_unclean_elections, coalesce(l.partitions_hit, 0) AS partitions_hit,
  coalesce(l.unacknowledged_lost, 0) AS unacknowledged_lost,
  coalesce(g.rounds, 0) * s.round_ms / 1000 AS leaderless_seconds, coalesce(g.partitions, 0) AS leaderless_partitions
FROM causes c
JOIN scenarios s ON s.scenario_id = {s}
LEFT JOIN faults f ON f.scenario_id = {s} AND f.fault_id = c.cause
LEFT JOIN lost l ON l.cause <=> c.cause
LEFT JOIN gaps g ON g.cause <=> c.cause
ORDER BY lost_at_elections DESC, unacknowledged_lost DESC, leaderless_seconds DESC, f.fault_id NULLS LAST
"""
"""Every fault, the costliest first, and a row for what no fault is behind."""

STRUCK = """
WITH costs AS (
  SELECT cause, topic, partition, coalesce(records, to_offset - from_offset) AS lost_at_elections, 0 AS leaderless_rounds
  FROM events
  WHERE scenario_id = {s} AND kind = 'acked_lost'
  UNION ALL
  SELECT cause, topic, partition, 0, unnoticed_rounds + vacant_rounds FROM leader_gaps WHERE scenario_id = {s}
)
SELECT coalesce(concat('broker ', f.broker), concat('rack ', f.rack)) AS struck, count(DISTINCT f.fault_id) AS faults,
  count(DISTINCT c.topic, c.partition) AS partitions_hit, coalesce(sum(c.lost_at_elections), 0) AS lost_at_elections,
  coalesce(sum(c.leaderless_rounds), 0) * max(s.round_ms) / 1000 AS leaderless_seconds
FROM faults f
JOIN scenarios s ON s.scenario_id = f.scenario_id
LEFT JOIN costs c ON c.cause = f.fault_id
WHERE f.scenario_id = {s} AND (f.broker IS NOT NULL OR f.rack IS NOT NULL)
GROUP BY f.broker, f.rack
ORDER BY lost_at_elections DESC, leaderless_seconds DESC, struck
"""
"""What the faults of each broker or rack cost, the costliest first."""

WITHOUT_LEADER = """
SELECT round, sum(change) AS change
FROM (
  SELECT from_round AS round, 1 AS change FROM leaderless_stretches WHERE scenario_id = {s}
  UNION ALL
  SELECT to_round, -1 FROM leaderless_stretches WHERE scenario_id = {s}
)
GROUP BY round
ORDER BY round
"""
"""By round how many more partitions are without a leader than in the round before."""

UNDER_REPLICATED = """
SELECT round, sum(change) AS change
FROM (
  SELECT from_round AS round, 1 AS change FROM isr_recoveries WHERE scenario_id = {s}
  UNION ALL
  SELECT from_round + rounds, -1 FROM isr_recoveries WHERE scenario_id = {s}
)
GROUP BY round
ORDER BY round
"""
"""Likewise of partitions whose ISR lacks members."""

LOSSES = """
SELECT round, sum(coalesce(records, to_offset - from_offset)) AS records
FROM events
WHERE scenario_id = {s} AND kind = 'acked_lost'
GROUP BY round
ORDER BY round
"""

LEDGER_EVENTS = """
SELECT kind, round,
  sum(IF(kind IN ('acked_lost', 'add_failed'), coalesce(records, to_offset - from_offset, 0), 1)) AS records
FROM events
WHERE scenario_id = {s}
  AND kind IN ('acked_lost', 'add_failed', 'ensemble_change', 'underreplicated', 'rereplicated', 'recovery_started')
GROUP BY kind, round
ORDER BY kind, round
"""
"""What happened to ledgers, by kind and round: entries that were lost or that failed, of other kinds how many events."""

BROKER_ROUNDS = """
SELECT broker, from_round, to_round, bytes_in, bytes_out, coalesce(bytes_produced, 0) AS bytes_produced, local_bytes,
  up_rounds, network_in_saturated_rounds, network_out_saturated_rounds, disk_saturated_rounds, throttled_rounds
FROM broker_rounds
WHERE scenario_id = {s}
ORDER BY broker, from_round
"""

BROKERS = """
SELECT t.broker, first(b.rack) AS rack, sum(t.bytes_in) AS bytes_in, sum(t.bytes_out) AS bytes_out,
  sum(coalesce(t.bytes_produced, 0)) AS bytes_produced,
  max(t.bytes_in / (t.to_round - t.from_round)) * 1000 / max(s.round_ms) AS peak_in,
  max(t.bytes_out / (t.to_round - t.from_round)) * 1000 / max(s.round_ms) AS peak_out,
  max(t.local_bytes) AS most_local_bytes,
  sum(t.to_round - t.from_round - t.up_rounds) * max(s.round_ms) / 1000 AS down_seconds,
  sum(t.network_in_saturated_rounds) * max(s.round_ms) / 1000 AS network_in_saturated_seconds,
  sum(t.network_out_saturated_rounds) * max(s.round_ms) / 1000 AS network_out_saturated_seconds,
  sum(t.disk_saturated_rounds) * max(s.round_ms) / 1000 AS disk_saturated_seconds,
  sum(t.throttled_rounds) * max(s.round_ms) / 1000 AS throttled_seconds
FROM broker_rounds t
JOIN scenarios s ON s.scenario_id = t.scenario_id
LEFT JOIN brokers b ON b.scenario_id = t.scenario_id AND b.broker = t.broker
WHERE t.scenario_id = {s}
GROUP BY t.broker
ORDER BY sum(t.network_in_saturated_rounds + t.network_out_saturated_rounds + t.disk_saturated_rounds) DESC,
  greatest(peak_in, peak_out) DESC, t.broker
"""
"""Brokers, the ones that their budgets held back most first, then by their peaks."""

WORST = """
SELECT o.topic, min(o.partition) AS partition, count(*) AS alike, p.replicas, o.acked, o.acked_lost,
  coalesce(o.unacknowledged_lost, 0) AS unacknowledged_lost,
  o.leaderless_rounds * s.round_ms / 1000 AS leaderless_seconds, o.unwritable_rounds * s.round_ms / 1000 AS unwritable_seconds,
  o.under_min_isr_rounds * s.round_ms / 1000 AS under_min_isr_seconds, o.refused, coalesce(o.given_up, 0) AS given_up,
  o.truncated, o.elections, o.unclean_elections, coalesce(o.acked_unreadable, 0) AS acked_unreadable,
  coalesce(o.acked_under_replicated, 0) AS acked_under_replicated
FROM outcomes o
JOIN scenarios s ON s.scenario_id = o.scenario_id
JOIN partitions p ON p.scenario_id = o.scenario_id AND p.topic = o.topic AND p.partition = o.partition
WHERE o.scenario_id = {s} AND (o.acked_lost > 0 OR o.unacknowledged_lost > 0 OR o.leaderless_rounds > 0 OR o.unwritable_rounds > 0
  OR o.under_min_isr_rounds > 0 OR o.refused > 0 OR o.given_up > 0 OR o.acked_unreadable > 0 OR o.acked_under_replicated > 0)
GROUP BY o.topic, p.replicas, o.acked, o.acked_lost, o.unacknowledged_lost, o.leaderless_rounds, o.unwritable_rounds,
  o.under_min_isr_rounds, o.refused, o.given_up, o.truncated, o.elections, o.unclean_elections, o.acked_unreadable,
  o.acked_under_replicated, s.round_ms
ORDER BY acked_lost DESC, acked_unreadable DESC, leaderless_seconds DESC, unwritable_seconds DESC, under_min_isr_seconds DESC,
  refused DESC, given_up DESC, acked_under_replicated DESC, topic, partition
LIMIT {rows}
"""
"""Partitions in trouble, the worst first; one stands for all of its topic with its replicas that went through the same."""

VIOLATIONS = """
SELECT invariant, kind, count(DISTINCT topic, partition) AS partitions, count(*) AS times, min(round) AS first_round,
  min_by(witness, round) AS witness
FROM violations
WHERE scenario_id = {s}
GROUP BY invariant, kind
ORDER BY kind DESC, times DESC, invariant
"""

RACKS = "SELECT count(*) AS brokers, count(DISTINCT rack) AS racks FROM brokers WHERE scenario_id = {s}"

TIERED = """
SELECT (SELECT count(*) FROM remote_segments) + (SELECT count(*) FROM ledgers WHERE offloaded_bytes > 0) AS segments
"""
"""Whether any scenario has something in remote storage."""

PLACED = """
SELECT p.replicas, coalesce(p.min_isr, 1) AS min_isr, coalesce(o.isr, p.replicas) AS isr, coalesce(o.leader, -1) AS leader
FROM partitions p
LEFT JOIN outcomes o ON o.scenario_id = p.scenario_id AND o.topic = p.topic AND o.partition = p.partition
WHERE p.scenario_id = {s} AND size(p.replicas) > 0
ORDER BY p.topic, p.partition
"""
"""Where a scenario's partitions lie at the end."""
