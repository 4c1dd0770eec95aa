-- Which broker carried how much replication traffic, and when was its peak?
--
-- mean and peak are MB/s (10^6 bytes) over time buckets; peak_in and peak_out name the rounds of the bucket they fell
-- into. A peak far above the mean, after a fault's end, is followers catching up; compare it with the network and
-- with replication throttles. in is fetched from leaders, out is served to followers. Of a bookie in is copies for
-- lost ones, out what replication workers and recoveries read; what clients add is neither.
WITH rates AS (
  SELECT
    b.scenario_id,
    s.name AS scenario,
    b.broker,
    concat(b.from_round, '-', b.to_round - 1) AS rounds,
    b.from_round,
    b.bytes_in,
    b.bytes_out,
    (b.to_round - b.from_round) * s.round_ms / 1000 AS seconds
  FROM broker_rounds b
  JOIN scenarios s ON s.scenario_id = b.scenario_id
)
SELECT
  scenario,
  broker,
  sum(bytes_in) AS bytes_in,
  sum(bytes_out) AS bytes_out,
  round(sum(bytes_in) / sum(seconds) / 1e6, 3) AS mean_in_mb_per_second,
  round(max(bytes_in / seconds) / 1e6, 3) AS peak_in_mb_per_second,
  max_by(rounds, struct(bytes_in / seconds, -from_round)) AS peak_in_rounds,
  round(sum(bytes_out) / sum(seconds) / 1e6, 3) AS mean_out_mb_per_second,
  round(max(bytes_out / seconds) / 1e6, 3) AS peak_out_mb_per_second,
  max_by(rounds, struct(bytes_out / seconds, -from_round)) AS peak_out_rounds
FROM rates
GROUP BY scenario_id, scenario, broker
ORDER BY scenario_id, greatest(peak_in_mb_per_second, peak_out_mb_per_second) DESC, broker
