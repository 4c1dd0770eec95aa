-- When was how much of each topic without a leader?
--
-- The run in slices, at most 60 of them, of a length that reads well; only those in which partitions of the topic had no leader that
-- clients reach (view leaderless_stretches). partitions: how many of them once in the slice; leaderless_seconds: over all of them;
-- share_available: of the time of all the topic's partitions in the slice, how much they had a leader. Kafka's and groups'.
WITH run AS (
  SELECT
    s.scenario_id,
    max(s.name) AS name,
    max(s.rounds) AS rounds,
    max(s.round_ms) / 1000 AS round_seconds,
    min(l.seconds) AS slice_seconds
  FROM scenarios s
  JOIN (VALUES (1), (5), (10), (30), (60), (300), (600), (1800), (3600), (21600), (86400), (604800), (31536000)) AS l (seconds)
    ON l.seconds >= s.rounds * s.round_ms / 60000
  GROUP BY s.scenario_id
),
slices AS (
  SELECT
    g.scenario_id,
    g.topic,
    g.partition,
    g.from_round * r.round_seconds AS from_seconds,
    g.to_round * r.round_seconds AS to_seconds,
    r.slice_seconds,
    r.rounds * r.round_seconds AS run_seconds,
    explode(
      sequence(
        CAST(floor(g.from_round * r.round_seconds / r.slice_seconds) AS BIGINT),
        CAST(ceil(g.to_round * r.round_seconds / r.slice_seconds) AS BIGINT) - 1
      )
    ) AS slice
  FROM leaderless_stretches g
  JOIN run r ON r.scenario_id = g.scenario_id
),
sums AS (
  SELECT
    scenario_id,
    topic,
    slice * slice_seconds AS slice_from,
    least((slice + 1) * slice_seconds, max(run_seconds)) AS slice_to,
    count(DISTINCT partition) AS partitions,
    sum(least(to_seconds, (slice + 1) * slice_seconds) - greatest(from_seconds, slice * slice_seconds)) AS leaderless_seconds
  FROM slices
  GROUP BY scenario_id, topic, slice, slice_seconds
)
SELECT
  r.name AS scenario,
  s.topic,
  CAST(s.slice_from AS DOUBLE) AS from_seconds,
  s.slice_to AS to_seconds,
  s.partitions,
  a.partitions AS of_partitions,
  round(s.leaderless_seconds, 1) AS leaderless_seconds,
  round(1 - s.leaderless_seconds / (a.partitions * (s.slice_to - s.slice_from)), 4) AS share_available
FROM sums s
JOIN run r ON r.scenario_id = s.scenario_id
JOIN topic_availability a ON a.scenario_id = s.scenario_id AND a.topic = s.topic
ORDER BY s.scenario_id, s.topic, s.slice_from
