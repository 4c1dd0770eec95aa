-- Stretches in which a partition's ISR lacked members: from the shrink that began it to the expand that gave back the
-- last of them (to_round null: still lacking at the end), the most members it lacked, and the fault of the first
-- shrink.
WITH changes AS (
  SELECT
    scenario_id,
    topic,
    partition,
    round,
    sum(CASE kind WHEN 'isr_shrink' THEN 1 ELSE -1 END) AS change,
    min_by(cause, broker) FILTER (WHERE kind = 'isr_shrink') AS cause
  FROM events
  WHERE kind IN ('isr_shrink', 'isr_expand')
  GROUP BY scenario_id, topic, partition, round
),
sums AS (
  SELECT *, sum(change) OVER (PARTITION BY scenario_id, topic, partition ORDER BY round) AS balance FROM changes
),
-- Expands without a shrink before (a partition that began with a short ISR) only raise what counts as full.
lacks AS (
  SELECT
    *,
    balance - least(0, min(balance) OVER (PARTITION BY scenario_id, topic, partition ORDER BY round)) AS lacking
  FROM sums
),
stretches AS (
  SELECT
    *,
    count_if(was_full AND lacking > 0) OVER (PARTITION BY scenario_id, topic, partition ORDER BY round) AS stretch
  FROM (
    SELECT *, lag(lacking, 1, 0L) OVER (PARTITION BY scenario_id, topic, partition ORDER BY round) = 0 AS was_full
    FROM lacks
  )
  WHERE lacking > 0 OR NOT was_full
)
SELECT
  s.scenario_id,
  s.topic,
  s.partition,
  min(s.round) AS from_round,
  min(s.round) FILTER (WHERE s.lacking = 0) AS to_round,
  coalesce(min(s.round) FILTER (WHERE s.lacking = 0), max(c.rounds)) - min(s.round) AS rounds,
  max(s.lacking) AS most_lacking,
  min_by(s.cause, s.round) AS cause
FROM stretches s
JOIN scenarios c ON c.scenario_id = s.scenario_id
GROUP BY s.scenario_id, s.topic, s.partition, s.stretch
