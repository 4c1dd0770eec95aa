-- How do the variants of the scenario compare?
--
-- One row for each scenario, base first, summed over all its partitions. leaderless and under_min_isr are
-- partition-seconds: one partition leaderless for a second counts 1. What a setting gains in one column it often pays
-- in another: less lost against more refused or longer leaderless. Records sent with acks=0 are acknowledged to nobody, and counted in
-- sent_unacknowledged and unacknowledged_lost. Of ledgers leaderless is unwritable, elections are ensemble changes,
-- and what only Kafka has is 0.
SELECT
  s.name AS scenario,
  s.protocol,
  to_json(s.overrides) AS overrides,
  sum(o.appended) AS appended,
  sum(o.acked) AS acked,
  sum(o.acked_lost) AS acked_lost,
  sum(o.committed_lost) AS committed_lost,
  count_if(o.acked_lost > 0) AS partitions_with_loss,
  sum(o.refused) AS refused,
  round(sum(o.leaderless_rounds) * s.round_ms / 1000, 1) AS leaderless_seconds,
  round(max(o.leaderless_rounds) * s.round_ms / 1000, 1) AS longest_leaderless_seconds,
  round(sum(o.under_min_isr_rounds) * s.round_ms / 1000, 1) AS under_min_isr_seconds,
  sum(o.elections) AS elections,
  sum(o.unclean_elections) AS unclean_elections,
  sum(o.truncated) AS truncated,
  sum(o.replicated_bytes) AS replicated_bytes,
  sum(o.sent_unacknowledged) AS sent_unacknowledged,
  sum(o.unacknowledged_lost) AS unacknowledged_lost
FROM scenarios s
JOIN outcomes o ON o.scenario_id = s.scenario_id
GROUP BY s.scenario_id, s.name, s.protocol, s.overrides, s.round_ms
ORDER BY s.scenario_id
