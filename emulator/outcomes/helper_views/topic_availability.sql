-- Rounds without a leader, under min.insync.replicas and under-replicated: over the partitions of each topic.
SELECT
  scenario_id,
  topic,
  count(*) AS partitions,
  count_if(leaderless_rounds > 0) AS partitions_once_leaderless,
  percentile(leaderless_rounds, 0.5) AS leaderless_rounds_p50,
  percentile(leaderless_rounds, 0.99) AS leaderless_rounds_p99,
  max(leaderless_rounds) AS leaderless_rounds_max,
  percentile(under_min_isr_rounds, 0.5) AS under_min_isr_rounds_p50,
  percentile(under_min_isr_rounds, 0.99) AS under_min_isr_rounds_p99,
  max(under_min_isr_rounds) AS under_min_isr_rounds_max,
  percentile(under_replicated_rounds, 0.5) AS under_replicated_rounds_p50,
  percentile(under_replicated_rounds, 0.99) AS under_replicated_rounds_p99,
  max(under_replicated_rounds) AS under_replicated_rounds_max
FROM outcomes
GROUP BY scenario_id, topic
