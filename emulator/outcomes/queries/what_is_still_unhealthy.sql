-- Which partitions and ledgers are not healthy at the end of the run?
--
-- leaderless: nobody can read or write; under_replicated: missing lists the replicas that are not in sync. No rows is
-- the good answer. missing_offline: those of the missing that do not run; the others run but have not caught up, or
-- are kept out. A ledger, or a topic that is a list of them, has no leader: it is lost when acknowledged entries are, unreadable
-- when the bookies of some are away, under_replicated when some have too few copies that can be read, in_recovery when nobody
-- has closed one of its ledgers; acked_lost, acked_unreadable and acked_under_replicated say how many entries it is about, and
-- missing_offline which bookies of its last ensemble are down or out of sight.
WITH members AS (
  SELECT
    scenario_id,
    topic,
    partition,
    array_sort(collect_list(broker) FILTER (WHERE role = 'offline')) AS offline
  FROM replicas
  GROUP BY scenario_id, topic, partition
),
recovering AS (
  SELECT scenario_id, topic, partition, count(*) AS ledgers
  FROM ledgers
  WHERE state = 'IN_RECOVERY' AND deleted_round IS NULL
  GROUP BY scenario_id, topic, partition
),
away AS (
  SELECT f.scenario_id, f.broker, f.rack
  FROM faults f
  JOIN scenarios s ON s.scenario_id = f.scenario_id
  WHERE
    (
      f.kind IN ('broker_crash', 'power_loss', 'disk_loss', 'rack_loss', 'controlled_shutdown', 'broker_pause')
      OR (f.kind IN ('isolation', 'rack_isolation') AND f.clients)
    )
    AND f.from_round < s.rounds
    AND coalesce(f.to_round, s.rounds) >= s.rounds
),
bookies_away AS (
  SELECT b.scenario_id, array_sort(collect_set(b.broker)) AS brokers
  FROM brokers b
  JOIN away a ON a.scenario_id = b.scenario_id AND (a.broker = b.broker OR a.rack = b.rack)
  GROUP BY b.scenario_id
),
states AS (
  SELECT
    o.*,
    p.replicas,
    s.name AS scenario,
    s.round_ms,
    s.protocol LIKE 'bookkeeper%' AS is_ledger,
    CASE
      WHEN s.protocol NOT LIKE 'bookkeeper%' AND o.leader < 0 THEN 'leaderless'
      WHEN s.protocol NOT LIKE 'bookkeeper%' AND size(o.isr) < size(p.replicas) THEN 'under_replicated'
      WHEN s.protocol NOT LIKE 'bookkeeper%' THEN NULL
      WHEN o.acked_lost > 0 THEN 'lost'
      WHEN o.acked_unreadable > 0 THEN 'unreadable'
      WHEN o.acked_under_replicated > 0 THEN 'under_replicated'
      WHEN r.ledgers > 0 THEN 'in_recovery'
    END AS state,
    coalesce(IF(s.protocol LIKE 'bookkeeper%', a.brokers, m.offline), array()) AS offline
  FROM outcomes o
  JOIN scenarios s ON s.scenario_id = o.scenario_id
  JOIN partitions p ON p.scenario_id = o.scenario_id AND p.topic = o.topic AND p.partition = o.partition
  LEFT JOIN members m ON m.scenario_id = o.scenario_id AND m.topic = o.topic AND m.partition = o.partition
  LEFT JOIN recovering r ON r.scenario_id = o.scenario_id AND r.topic = o.topic AND r.partition = o.partition
  LEFT JOIN bookies_away a ON a.scenario_id = o.scenario_id
)
SELECT
  t.scenario,
  t.topic,
  t.partition,
  t.state,
  t.leader,
  t.replicas,
  t.isr,
  IF(t.is_ledger, array_intersect(t.replicas, t.offline), array_except(t.replicas, t.isr)) AS missing,
  array_intersect(IF(t.is_ledger, t.replicas, array_except(t.replicas, t.isr)), t.offline) AS missing_offline,
  t.leaderless_rounds,
  t.under_replicated_rounds,
  round(t.leaderless_rounds * t.round_ms / 1000, 1) AS leaderless_seconds,
  round(t.under_replicated_rounds * t.round_ms / 1000, 1) AS under_replicated_seconds,
  t.acked_lost,
  t.acked_unreadable,
  t.acked_under_replicated
FROM states t
WHERE t.state IS NOT NULL
ORDER BY
  t.scenario_id,
  t.leader >= 0,
  array_position(array('lost', 'unreadable', 'under_replicated', 'in_recovery'), t.state),
  size(t.isr),
  t.topic,
  t.partition
