-- Stretches in which clients reached no leader of a partition, and the fault that began each (null: none): who leads stands still
-- or is cut off from clients, noticed or not, or nobody leads.
--
-- A leader that is cut off, but not from clients, serves those that reach it until the cut ends. By what is told of elections, and who
-- led at the start.
WITH spans AS (
  SELECT f.*, s.rounds, least(coalesce(f.to_round, s.rounds), s.rounds) AS end_round
  FROM faults f
  JOIN scenarios s ON s.scenario_id = f.scenario_id
),
told AS (
  SELECT
    scenario_id,
    topic,
    partition,
    round,
    kind,
    broker,
    cause,
    row_number() OVER in_order AS place,
    lead(round) OVER in_order AS next_round
  FROM events
  WHERE kind IN ('election', 'unclean_election', 'leader_lost')
  WINDOW in_order AS (PARTITION BY scenario_id, topic, partition ORDER BY round, coalesce(leader_epoch, -1))
),
started AS (
  SELECT p.scenario_id, p.topic, p.partition, p.first_leader, t.round AS first_told
  FROM partitions p
  LEFT JOIN told t ON t.scenario_id = p.scenario_id AND t.topic = p.topic AND t.partition = p.partition AND t.place = 1
),
leaderships AS (
  SELECT scenario_id, topic, partition, broker, round AS from_round, next_round AS to_round FROM told WHERE kind <> 'leader_lost'
  UNION ALL
  SELECT scenario_id, topic, partition, first_leader, 0, first_told FROM started WHERE first_leader >= 0
),
stops AS (
  SELECT
    f.scenario_id,
    f.fault_id,
    b.broker,
    f.from_round,
    f.end_round AS to_round,
    -- a process that ends leads no more until it is elected again
    IF(f.kind IN ('broker_pause', 'isolation', 'rack_isolation'), f.end_round, f.rounds) AS led_again_round
  FROM spans f
  JOIN brokers b ON b.scenario_id = f.scenario_id AND (b.broker = f.broker OR b.rack = f.rack)
  WHERE
    f.kind IN ('broker_crash', 'power_loss', 'disk_loss', 'controlled_shutdown', 'broker_pause', 'rack_loss')
    OR (f.kind IN ('isolation', 'rack_isolation') AND f.clients)
),
parts AS (
  SELECT
    l.scenario_id,
    l.topic,
    l.partition,
    greatest(l.from_round, s.from_round) AS from_round,
    least(coalesce(l.to_round, s.led_again_round), s.led_again_round) AS to_round,
    s.fault_id AS cause
  FROM leaderships l
  JOIN stops s
    ON s.scenario_id = l.scenario_id AND s.broker = l.broker
    AND s.from_round < coalesce(l.to_round, s.to_round) AND s.to_round > l.from_round
  UNION ALL
  SELECT
    t.scenario_id,
    t.topic,
    t.partition,
    CASE
      WHEN f.kind IN ('isolation', 'rack_isolation', 'link_cut') AND NOT coalesce(f.clients, FALSE)
        THEN greatest(t.round, f.end_round)
      ELSE t.round
    END,
    coalesce(t.next_round, s.rounds),
    t.cause
  FROM told t
  JOIN scenarios s ON s.scenario_id = t.scenario_id
  LEFT JOIN spans f ON f.scenario_id = t.scenario_id AND f.fault_id = t.cause
  WHERE t.kind = 'leader_lost'
  UNION ALL
  SELECT b.scenario_id, b.topic, b.partition, 0, coalesce(b.first_told, s.rounds), CAST(NULL AS INT)
  FROM started b
  JOIN scenarios s ON s.scenario_id = b.scenario_id
  WHERE b.first_leader = -1
),
begun AS (
  SELECT
    *,
    from_round > coalesce(
      max(to_round) OVER (
        PARTITION BY scenario_id, topic, partition ORDER BY from_round, to_round
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
      ),
      -1
    ) AS begins
  FROM parts
  WHERE from_round < to_round
),
numbered AS (
  SELECT *, count_if(begins) OVER (PARTITION BY scenario_id, topic, partition ORDER BY from_round, to_round) AS stretch FROM begun
)
SELECT
  scenario_id,
  topic,
  partition,
  min(from_round) AS from_round,
  max(to_round) AS to_round,
  min_by(cause, from_round) AS cause,
  max(to_round) - min(from_round) AS rounds
FROM numbered
GROUP BY scenario_id, topic, partition, stretch
