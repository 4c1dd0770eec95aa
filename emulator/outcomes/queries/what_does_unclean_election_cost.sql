-- What would unclean leader election cost in records, and save in time without a leader?
--
-- Compares two scenarios topic by topic, where they differ in unclean elections: `unclean` is the scenario with more of
-- them, `clean` the other. Cases of sweeps are paired where they are alike but for unclean.leader.election.enable: in
-- fault, seed, other settings and what else their variants change. Variants are paired with base, whatever else they
-- change. lost_more:
-- acknowledged records lost on top; saved_seconds: partition-seconds without a leader less; lost_per_saved_second puts a
-- price on it. Needs a variant, or a sweep, of unclean.leader.election.enable. Kafka's: ledgers have no leaders.
WITH chosen AS (
  SELECT
    scenario_id,
    name,
    round_ms,
    overrides['sweep.variant'] IS NOT NULL AS is_case,
    map_filter(
      overrides, (k, v) -> k NOT IN ('sweep.variant', 'sweep.settings') AND k NOT LIKE '%unclean.leader.election.enable'
    ) AS other_overrides,
    map_filter(
      str_to_map(coalesce(translate(overrides['sweep.settings'], '"', ''), ''), ', ', ' = '),
      (k, v) -> k != '' AND k NOT LIKE '%unclean.leader.election.enable'
    ) AS other_settings
  FROM scenarios
),
-- With all that a scenario has but for the key; a case without a counterpart among cases has base, or its variant.
alike AS (
  SELECT
    scenario_id,
    name,
    round_ms,
    is_case,
    to_json(other_overrides) || to_json(other_settings) AS others,
    count_if(is_case) OVER (PARTITION BY to_json(other_overrides), to_json(other_settings)) AS cases
  FROM chosen
),
topics AS (
  SELECT
    o.scenario_id,
    s.name AS scenario,
    s.is_case,
    s.others,
    s.cases,
    o.topic,
    sum(o.unclean_elections) AS unclean_elections,
    sum(o.acked_lost) AS acked_lost,
    sum(o.leaderless_rounds) * max(s.round_ms) / 1000 AS leaderless_seconds,
    sum(o.acked) AS acked
  FROM outcomes o
  JOIN alike s ON s.scenario_id = o.scenario_id
  GROUP BY o.scenario_id, s.name, s.is_case, s.others, s.cases, o.topic
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
WHERE u.others = c.others AND (u.is_case AND c.is_case OR u.cases = 1 AND (u.is_case OR c.is_case))
  OR NOT u.is_case AND NOT c.is_case AND (u.scenario_id = 0 OR c.scenario_id = 0)
ORDER BY lost_more DESC, u.topic, u.scenario_id, c.scenario_id
