-- Stretches in which a partition's ISR lacked members: from the shrink that began it to the expand that gave back the
-- last of them (to_round null: still lacking at the end), the most members it lacked, and the fault of the first
-- shrink.
--
-- With eligible leader replicas an ISR may be empty: who is elected then comes back into it without an expand. Else whoever is
-- elected uncleanly takes the place of a member that is gone.
WITH told AS (
  SELECT
    *,
    count_if(kind = 'isr_shrink') OVER (PARTITION BY scenario_id, topic, partition, broker, round) > 0 AS shrinks_now
  FROM events
  WHERE kind IN ('isr_shrink', 'isr_expand', 'election', 'unclean_election', 'leader_lost')
),
members AS (
  SELECT
    *,
    lag(kind) OVER (PARTITION BY scenario_id, topic, partition, broker ORDER BY round, kind DESC) = 'isr_shrink' AS was_out,
    -- whether the leader lost last was the ISR's last member and left it: odd
    max(CASE WHEN kind = 'leader_lost' THEN 2 * round + CAST(shrinks_now AS INT) END)
      OVER (PARTITION BY scenario_id, topic, partition ORDER BY round) % 2 = 1 AS is_empty
  FROM told
),
changes AS (
  SELECT
    scenario_id,
    topic,
    partition,
    round,
    sum(
      CASE
        WHEN kind = 'isr_shrink' THEN 1
        WHEN kind = 'isr_expand' THEN -1
        WHEN kind IN ('election', 'unclean_election') AND was_out AND is_empty THEN -1
        ELSE 0
      END
    ) AS change,
    min_by(cause, broker) FILTER (WHERE kind = 'isr_shrink') AS cause
  FROM members
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
