-- Which partitions are not healthy at the end of the run?
--
-- leaderless: nobody can read or write; under_replicated: missing lists the replicas that are not in sync. No rows is
-- the good answer. missing_offline: those of the missing that do not run; the others run but have not caught up, or
-- are kept out.
WITH members AS (
  SELECT
    scenario_id,
    topic,
    partition,
    array_sort(collect_list(broker) FILTER (WHERE role = 'offline')) AS offline
  FROM replicas
  GROUP BY scenario_id, topic, partition
)
SELECT
  s.name AS scenario,
  o.topic,
  o.partition,
  if(o.leader < 0, 'leaderless', 'under_replicated') AS state,
  o.leader,
  p.replicas,
  o.isr,
  array_except(p.replicas, o.isr) AS missing,
  array_intersect(array_except(p.replicas, o.isr), coalesce(m.offline, array())) AS missing_offline,
  o.leaderless_rounds,
  o.under_replicated_rounds
FROM outcomes o
JOIN partitions p ON p.scenario_id = o.scenario_id AND p.topic = o.topic AND p.partition = o.partition
JOIN scenarios s ON s.scenario_id = o.scenario_id
LEFT JOIN members m ON m.scenario_id = o.scenario_id AND m.topic = o.topic AND m.partition = o.partition
WHERE o.leader < 0 OR size(o.isr) < size(p.replicas)
ORDER BY o.scenario_id, o.leader >= 0, size(o.isr), o.topic, o.partition
