-- What did the demo's trouble cost: what was lost, what was unavailable, for how long?
--
-- One row for each scenario and topic. seconds_without_leader and seconds_under_min_isr are those of the partition hit
-- worst; refused: records turned away for lack of in-sync replicas; lost_to: the faults behind the losses.
WITH reasons AS (
  SELECT scenario_id, topic, concat_ws(', ', array_sort(collect_set(coalesce(fault_name, fault_kind)))) AS lost_to
  FROM lost
  GROUP BY scenario_id, topic
)
SELECT
  s.name AS scenario,
  o.topic,
  if(o.topic = 'seg', '1', 'all') AS acks,
  count(*) AS partitions,
  sum(o.acked) AS acknowledged,
  sum(o.acked_lost) AS lost,
  count_if(o.acked_lost > 0) AS partitions_losing,
  sum(o.refused) AS refused,
  max(o.leaderless_rounds) * s.round_ms / 1000 AS seconds_without_leader,
  max(o.under_min_isr_rounds) * s.round_ms / 1000 AS seconds_under_min_isr,
  coalesce(max(r.lost_to), '') AS lost_to
FROM outcomes o
JOIN scenarios s ON s.scenario_id = o.scenario_id
LEFT JOIN reasons r ON r.scenario_id = o.scenario_id AND r.topic = o.topic
GROUP BY o.scenario_id, s.name, s.round_ms, o.topic
ORDER BY o.scenario_id, o.topic
