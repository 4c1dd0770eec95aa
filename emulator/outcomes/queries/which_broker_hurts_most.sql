-- Which broker's loss (or which rack's) hurts most?
--
-- Faults are put together by the broker or rack they struck, the costliest first: acknowledged records lost at the
-- elections they caused, then partition-rounds without a leader (a partition leaderless for one round counts 1; the
-- time until the failure was noticed is in it, for faults that stop the broker). Of ledgers only the acknowledged entries count that
-- were lost for the fault: they have no leader. unacknowledged_lost: records sent with acks=0 that these elections lost.
WITH costs AS (
  SELECT
    scenario_id,
    cause,
    topic,
    partition,
    if(kind = 'acked_lost', coalesce(records, to_offset - from_offset), 0) AS acked_lost,
    0 AS leaderless_rounds,
    0 AS vacancies,
    if(kind = 'acked_lost', 0, coalesce(records, to_offset - from_offset)) AS unacknowledged_lost
  FROM events
  WHERE kind IN ('acked_lost', 'unacknowledged_lost')
  UNION ALL
  SELECT
    scenario_id, cause, topic, partition, 0, unnoticed_rounds + vacant_rounds, if(kind = 'leader_lost', 1, 0), 0
  FROM leader_gaps
)
SELECT
  s.name AS scenario,
  f.broker,
  f.rack,
  concat_ws(', ', array_sort(collect_set(f.kind))) AS fault_kinds,
  count(DISTINCT f.fault_id) AS faults,
  count(DISTINCT c.topic, c.partition) AS partitions_hit,
  coalesce(sum(c.acked_lost), 0) AS acked_lost,
  coalesce(sum(c.leaderless_rounds), 0) AS leaderless_rounds,
  round(coalesce(sum(c.leaderless_rounds), 0) * max(s.round_ms) / 1000, 1) AS leaderless_seconds,
  coalesce(sum(c.vacancies), 0) AS times_without_successor,
  coalesce(sum(c.unacknowledged_lost), 0) AS unacknowledged_lost
FROM faults f
JOIN scenarios s ON s.scenario_id = f.scenario_id
LEFT JOIN costs c ON c.scenario_id = f.scenario_id AND c.cause = f.fault_id
WHERE f.broker IS NOT NULL OR f.rack IS NOT NULL
GROUP BY f.scenario_id, s.name, f.broker, f.rack
ORDER BY f.scenario_id, acked_lost DESC, leaderless_rounds DESC, f.broker, f.rack
