-- Which setting suits which topic: what does each lose, and for how long is it not writable?
--
-- A row for each topic and each combination of settings of a sweep (variants count, too), over all of its faults and seeds:
-- in how many cases anything acknowledged was lost, how much in all and in the worst case, and partition-seconds in which
-- nothing could be written. on_frontier: no other combination is as good for the topic in acked_lost and unwritable_seconds,
-- and better in one of them. Of a topic with a single row on the frontier, that is the answer.
WITH sums AS (
  SELECT
    w.variant,
    w.settings,
    o.topic,
    o.scenario_id,
    s.round_ms,
    sum(o.acked_lost) AS lost,
    sum(o.unwritable_rounds) AS unwritable,
    sum(o.leaderless_rounds) AS leaderless,
    sum(o.under_min_isr_rounds) AS under_min_isr
  FROM outcomes o
  JOIN sweep w ON w.scenario_id = o.scenario_id
  JOIN scenarios s ON s.scenario_id = o.scenario_id
  GROUP BY w.variant, w.settings, o.topic, o.scenario_id, s.round_ms
),
found AS (
  SELECT
    topic,
    variant,
    settings,
    count(*) AS cases,
    count_if(lost > 0) AS cases_with_loss,
    sum(lost) AS acked_lost,
    max(lost) AS most_lost,
    round(sum(unwritable * round_ms) / 1000, 1) AS unwritable_seconds,
    round(sum(leaderless * round_ms) / 1000, 1) AS unavailable_seconds,
    round(sum(under_min_isr * round_ms) / 1000, 1) AS under_min_isr_seconds
  FROM sums
  GROUP BY topic, variant, settings
),
beaten AS (
  SELECT DISTINCT c.topic, c.variant, c.settings
  FROM found c
  JOIN found o ON o.topic = c.topic
  WHERE o.acked_lost <= c.acked_lost
    AND o.unwritable_seconds <= c.unwritable_seconds
    AND (o.acked_lost < c.acked_lost OR o.unwritable_seconds < c.unwritable_seconds)
)
SELECT
  f.topic,
  f.variant,
  f.settings,
  f.cases,
  f.cases_with_loss,
  f.acked_lost,
  f.most_lost,
  f.unwritable_seconds,
  f.unavailable_seconds,
  f.under_min_isr_seconds,
  b.topic IS NULL AS on_frontier
FROM found f
LEFT JOIN beaten b ON b.topic = f.topic AND b.variant = f.variant AND b.settings = f.settings
ORDER BY f.topic, f.variant, f.settings
