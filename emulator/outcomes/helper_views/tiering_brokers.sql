-- Tiering by broker: bytes on its disk (mean over the run, peak and end, as at the ends of buckets of rounds) and bytes
-- that it served to brokers of other racks, and likewise of bookies.
SELECT
  scenario_id,
  broker,
  sum((local_bytes_before + local_bytes) / 2 * (to_round - from_round)) / sum(to_round - from_round) AS local_bytes_mean,
  max(local_bytes) AS local_bytes_peak,
  max_by(local_bytes, to_round) AS local_bytes_end,
  sum(coalesce(cross_rack_bytes_out, 0)) AS cross_rack_bytes_out
FROM (
  SELECT
    *,
    lag(local_bytes, 1, local_bytes) OVER (PARTITION BY scenario_id, broker ORDER BY from_round) AS local_bytes_before
  FROM broker_rounds
)
GROUP BY scenario_id, broker
