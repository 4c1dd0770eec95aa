-- What would unclean leader election cost in records, and save in time without a leader?
--
-- Compares base with each variant, topic by topic, where they differ in unclean elections: `unclean` is the scenario
-- with more of them, `clean` the other. lost_more: acknowledged records lost on top; saved_seconds: partition-seconds
-- without a leader less; lost_per_saved_second puts a price on it. Needs a variant that differs in
-- unclean.leader.election.enable. Kafka's: ledgers have no leaders.
WITH topics AS (
  SELECT
    o.scenario_id,
    s.name AS scenario,
    o.topic,
    sum(o.unclean_elections) AS unclean_elections,
    sum(o.acked_lost) AS acked_lost,
    sum(o.leaderless_rounds) * max(s.round_ms) / 1000 AS leaderless_seconds,
    sum(o.acked) AS acked
  FROM outcomes o
  JOIN scenarios s ON s.scenario_id = o.scenario_id
  GROUP BY o.scenario_id, s.name, o.topic
)
SELECT
  u.topic,
  u.scenario AS unclean,
  c.scenario AS clean,
  u.unclean_elections,
  u.acked_lost AS acked_lost_unclean,
  c.acked_lost AS acked_lost_clean,
  u.acked_lost - c.acked_lost AS lost_more,
  round(u.leaderless_seconds, 1) AS leaderless_seconds_unclean,
  round(c.leaderless_seconds, 1) AS leaderless_seconds_clean,
  round(c.leaderless_seconds - u.leaderless_seconds, 1) AS saved_seconds,
  u.acked - c.acked AS acked_more,
  CASE
    WHEN c.leaderless_seconds > u.leaderless_seconds
    THEN round((u.acked_lost - c.acked_lost) / (c.leaderless_seconds - u.leaderless_seconds), 2)
  END AS lost_per_saved_second
FROM topics u
JOIN topics c ON c.topic = u.topic AND c.unclean_elections < u.unclean_elections
WHERE u.scenario_id = 0 OR c.scenario_id = 0
ORDER BY lost_more DESC, u.topic, u.scenario_id, c.scenario_id
