-- The fleet over time, one row for each scenario and bucket of rounds. At its end: bytes on brokers' disks (local_bytes;
-- local_bytes_before: at its start, the first bucket's taken as its end's) and in remote storage (remote_bytes). During it:
-- bytes into brokers from producers and other brokers (bytes_in), out to other brokers (bytes_out; cross_rack_bytes_out:
-- to other racks) and out to remote storage (copied_bytes). Of ledgers these are bytes into bookies
-- and out of them; those that offloading reads are in bytes_out, and not in copied_bytes.
WITH buckets AS (
  SELECT
    scenario_id,
    from_round,
    to_round,
    sum(local_bytes) AS local_bytes,
    sum(bytes_in + coalesce(bytes_produced, 0)) AS bytes_in,
    sum(bytes_out) AS bytes_out,
    sum(coalesce(cross_rack_bytes_out, 0)) AS cross_rack_bytes_out
  FROM broker_rounds
  GROUP BY scenario_id, from_round, to_round
),
lengths AS (SELECT scenario_id, max(to_round - from_round) AS bucket_rounds FROM buckets GROUP BY scenario_id),
-- What comes and goes within each bucket.
steps AS (
  SELECT a.scenario_id, c.*
  FROM remote_attempts a
  LATERAL VIEW stack(
    2,
    a.from_round, a.held_bytes, IF(a.moved, a.held_bytes, 0L),
    a.to_round, IF(a.to_round < a.end_round, IF(a.state = 'DELETE_FINISHED', a.stored_bytes, 0L) - a.held_bytes, 0L), 0L
  ) c AS at, bytes, copied
  UNION ALL
  SELECT scenario_id, offloaded_round, offloaded_bytes, 0L FROM ledgers WHERE offloaded_bytes > 0
  UNION ALL
  SELECT scenario_id, deleted_round, -offloaded_bytes, 0L FROM ledgers WHERE offloaded_bytes > 0 AND deleted_round IS NOT NULL
),
changes AS (
  SELECT
    a.scenario_id,
    a.at DIV l.bucket_rounds * l.bucket_rounds AS from_round,
    sum(a.bytes) AS remote_bytes,
    sum(a.copied) AS copied_bytes
  FROM steps a
  JOIN lengths l ON l.scenario_id = a.scenario_id
  GROUP BY a.scenario_id, a.at DIV l.bucket_rounds * l.bucket_rounds
)
SELECT
  b.scenario_id,
  b.from_round,
  b.to_round,
  b.local_bytes,
  lag(b.local_bytes, 1, b.local_bytes) OVER in_time AS local_bytes_before,
  sum(coalesce(c.remote_bytes, 0)) OVER in_time AS remote_bytes,
  b.bytes_in,
  b.bytes_out,
  b.cross_rack_bytes_out,
  coalesce(c.copied_bytes, 0) AS copied_bytes,
  (b.to_round - b.from_round) * s.round_ms / 1000 AS seconds
FROM buckets b
JOIN scenarios s ON s.scenario_id = b.scenario_id
LEFT JOIN changes c ON c.scenario_id = b.scenario_id AND c.from_round = b.from_round
WINDOW in_time AS (PARTITION BY b.scenario_id ORDER BY b.from_round)
