-- How long were the partitions of each topic without a leader, and under min.insync.replicas?
--
-- p50, p99 and max are over the topic's partitions. Without a leader nobody reads or writes; under
-- min.insync.replicas acks=all writers are refused. A p50 of 0 with a high max is a few partitions hit hard; a high
-- p50 is the whole topic. Of ledgers and their topics leaderless rounds are those in which nothing could be written.
SELECT
  s.name AS scenario,
  a.topic,
  a.partitions,
  a.partitions_once_leaderless,
  a.leaderless_rounds_p50,
  a.leaderless_rounds_p99,
  a.leaderless_rounds_max,
  round(a.leaderless_rounds_p50 * s.round_ms / 1000, 1) AS leaderless_seconds_p50,
  round(a.leaderless_rounds_p99 * s.round_ms / 1000, 1) AS leaderless_seconds_p99,
  round(a.leaderless_rounds_max * s.round_ms / 1000, 1) AS leaderless_seconds_max,
  a.under_min_isr_rounds_p50,
  a.under_min_isr_rounds_p99,
  a.under_min_isr_rounds_max,
  round(a.under_min_isr_rounds_p50 * s.round_ms / 1000, 1) AS under_min_isr_seconds_p50,
  round(a.under_min_isr_rounds_p99 * s.round_ms / 1000, 1) AS under_min_isr_seconds_p99,
  round(a.under_min_isr_rounds_max * s.round_ms / 1000, 1) AS under_min_isr_seconds_max
FROM topic_availability a
JOIN scenarios s ON s.scenario_id = a.scenario_id
ORDER BY a.scenario_id, a.leaderless_rounds_max DESC, a.topic
