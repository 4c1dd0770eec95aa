-- Which islands had which leaders when the network was cut, and what did zombies lose?
--
-- One row for each range of rounds, island and traced partition (emulator run --trace) while there was more than one island.
-- leaders are brokers of the island that led the controller's epoch; zombies led one that was over. lost is how many records
-- of the partition that were acknowledged some election lost, all of the run's. Kafka's: ledgers have no leaders.
WITH parted AS (
  SELECT * FROM (SELECT *, count(*) OVER (PARTITION BY scenario_id, from_round) AS islands FROM islands) WHERE islands > 1
),
led AS (
  SELECT t.scenario_id, t.topic, t.partition, t.round, t.broker, t.leader_epoch < c.leader_epoch AS zombie
  FROM trace t
  JOIN trace_partitions c USING (scenario_id, topic, partition, round)
  WHERE t.role = 'leader'
),
lost AS (
  SELECT scenario_id, topic, partition, sum(coalesce(records, to_offset - from_offset)) AS records
  FROM events
  WHERE kind = 'acked_lost'
  GROUP BY scenario_id, topic, partition
)
SELECT
  i.scenario_id,
  i.from_round,
  i.to_round,
  i.brokers AS island,
  l.topic,
  l.partition,
  array_sort(collect_set(l.broker) FILTER (WHERE NOT l.zombie)) AS leaders,
  array_sort(collect_set(l.broker) FILTER (WHERE l.zombie)) AS zombies,
  coalesce(max(x.records), 0) AS lost
FROM parted i
LEFT JOIN led l
  ON l.scenario_id = i.scenario_id AND l.round >= i.from_round AND l.round < i.to_round AND array_contains(i.brokers, l.broker)
LEFT JOIN lost x ON x.scenario_id = l.scenario_id AND x.topic = l.topic AND x.partition = l.partition
GROUP BY i.scenario_id, i.from_round, i.to_round, i.brokers, l.topic, l.partition
ORDER BY i.scenario_id, i.from_round, i.brokers, l.topic, l.partition
