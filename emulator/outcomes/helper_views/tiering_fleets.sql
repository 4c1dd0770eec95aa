-- How many brokers of the price table's kind each scenario needs: enough disk for the most bytes on disks, enough network
-- and disk throughput for the busiest bucket (means over buckets of rounds: shorter peaks are higher), and as many as the
-- replication factor. hours: length of the run. Consumers' reads count evenly over the run.
WITH reads AS (
  SELECT scenario_id, sum(page_cache_bytes + disk_bytes + remote_bytes) AS consumed_bytes
  FROM consumer_reads
  GROUP BY scenario_id
),
peaks AS (
  SELECT
    t.scenario_id,
    sum((t.local_bytes_before + t.local_bytes) / 2 * t.seconds) / sum(t.seconds) AS local_bytes_mean,
    max(t.local_bytes) AS local_bytes_peak,
    max(t.remote_bytes) AS remote_bytes_peak,
    max(t.bytes_in / t.seconds) AS peak_in_bytes_per_second,
    max((t.bytes_out + t.copied_bytes) / t.seconds) AS peak_out_bytes_per_second
  FROM tiering_rounds t
  GROUP BY t.scenario_id
),
replication AS (SELECT scenario_id, max(size(replicas)) AS replication_factor FROM partitions GROUP BY scenario_id),
needs AS (
  SELECT
    s.scenario_id,
    s.rounds * CAST(s.round_ms AS DOUBLE) / 3600000 AS hours,
    coalesce(p.local_bytes_mean, 0) AS local_bytes_mean,
    coalesce(p.local_bytes_peak, 0) AS local_bytes_peak,
    coalesce(p.remote_bytes_peak, 0) AS remote_bytes_peak,
    coalesce(p.peak_in_bytes_per_second, 0) AS peak_in_bytes_per_second,
    coalesce(p.peak_out_bytes_per_second, 0)
      + coalesce(c.consumed_bytes, 0) * 1000 / s.round_ms / s.rounds AS peak_out_bytes_per_second,
    coalesce(f.replication_factor, 0) AS replication_factor
  FROM scenarios s
  LEFT JOIN peaks p ON p.scenario_id = s.scenario_id
  LEFT JOIN reads c ON c.scenario_id = s.scenario_id
  LEFT JOIN replication f ON f.scenario_id = s.scenario_id
),
counts AS (
  SELECT
    n.*,
    CAST(ceil(n.local_bytes_peak / (z.disk_bytes * z.disk_used_share)) AS INT) AS brokers_for_storage,
    CAST(
      ceil(
        greatest(n.peak_in_bytes_per_second, n.peak_out_bytes_per_second)
          / (z.network_bytes_per_second * z.network_busy_share)
      ) AS INT
    ) AS brokers_for_network,
    CAST(ceil(n.peak_in_bytes_per_second / (z.disk_bytes_per_second * z.disk_busy_share)) AS INT) AS brokers_for_disks
  FROM needs n
  CROSS JOIN sizing z
)
SELECT
  *,
  greatest(brokers_for_storage, brokers_for_network, brokers_for_disks, replication_factor) AS brokers_needed,
  CASE greatest(brokers_for_storage, brokers_for_network, brokers_for_disks, replication_factor)
    WHEN brokers_for_storage THEN 'storage'
    WHEN brokers_for_network THEN 'network'
    WHEN brokers_for_disks THEN 'disk throughput'
    ELSE 'replication factor'
  END AS limited_by
FROM counts
