-- How long records waited from being appended to being acknowledged, in rounds: of groups all of them (table groups); of partitions those
-- that the leader of a traced round appended (--trace), until its high watermark had passed all of that round's, and on top of it
-- the round trip, in whole rounds, of the slowest slow_link between it and a member of the ISR then, which Kafka's rounds don't wait for.
WITH leading AS (
  SELECT
    scenario_id, topic, partition, round, broker, leo, hw,
    row_number() OVER (PARTITION BY scenario_id, topic, partition, round ORDER BY leader_epoch DESC) AS place
  FROM trace
  WHERE role = 'leader'
),
led AS (
  SELECT
    scenario_id, topic, partition, round, broker, leo, hw,
    leo - coalesce(lag(leo) OVER (PARTITION BY scenario_id, topic, partition ORDER BY round), 0) AS records
  FROM leading
  WHERE place = 1
),
committed AS (
  SELECT a.scenario_id, a.topic, a.partition, a.round, a.records, min(c.round) AS at_round
  FROM led a
  JOIN led c
    ON c.scenario_id = a.scenario_id AND c.topic = a.topic AND c.partition = a.partition
    AND c.round >= a.round AND c.hw >= a.leo
  WHERE a.records > 0
  GROUP BY a.scenario_id, a.topic, a.partition, a.round, a.records
),
far AS (
  SELECT
    f.scenario_id, f.broker, f.peer, coalesce(f.direction, 'both') AS direction, f.from_round,
    coalesce(f.to_round, s.rounds) AS to_round, floor(f.round_trip_ms / s.round_ms) AS rounds
  FROM faults f
  JOIN scenarios s ON s.scenario_id = f.scenario_id
  WHERE f.kind = 'slow_link' AND f.round_trip_ms IS NOT NULL
),
slowest AS (
  SELECT l.scenario_id, l.topic, l.partition, l.round, max(f.rounds) AS rounds
  FROM led l
  JOIN trace m
    ON m.scenario_id = l.scenario_id AND m.topic = l.topic AND m.partition = l.partition AND m.round = l.round
    AND m.in_isr AND m.broker <> l.broker
  JOIN far f
    ON f.scenario_id = l.scenario_id AND f.from_round <= l.round AND l.round < f.to_round
    AND (
      (f.broker = l.broker AND coalesce(f.peer, m.broker) = m.broker AND f.direction <> 'in')
      OR (f.broker = m.broker AND coalesce(f.peer, l.broker) = l.broker AND f.direction <> 'out')
    )
  GROUP BY l.scenario_id, l.topic, l.partition, l.round
)
SELECT scenario_id, topic, partition, CAST(wait.rounds AS BIGINT) AS rounds, wait.records AS records
FROM (SELECT scenario_id, topic, partition, explode(latencies) AS wait FROM groups)
UNION ALL
SELECT
  c.scenario_id, c.topic, c.partition, CAST(c.at_round - c.round + coalesce(s.rounds, 0) AS BIGINT) AS rounds, sum(c.records) AS records
FROM committed c
LEFT JOIN slowest s
  ON s.scenario_id = c.scenario_id AND s.topic = c.topic AND s.partition = c.partition AND s.round = c.at_round
GROUP BY c.scenario_id, c.topic, c.partition, c.at_round - c.round + coalesce(s.rounds, 0)
