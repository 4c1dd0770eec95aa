-- Finished copies with the rounds [from_round, twice_to_round) in which the records lay on brokers' disks too: until the
-- first replica deleted them there, or the copy was deleted. twice_byte_rounds: bytes times rounds; twice_bytes: of a copy
-- that is still held twice at the end.
WITH told AS (
  SELECT
    *,
    -- By some replica: all below this offset, or below a higher one.
    min(deleted_round) OVER (
      PARTITION BY scenario_id, topic, partition
      ORDER BY offset DESC
      RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS first_deleted_round,
    -- Where the disks began before anything was deleted from them.
    min(deleted_from) OVER (PARTITION BY scenario_id, topic, partition) AS first_deleted_offset
  FROM (
    SELECT
      scenario_id, topic, partition, segment, end_offset + 1 AS offset, CAST(NULL AS INT) AS deleted_round,
      CAST(NULL AS BIGINT) AS deleted_from, from_round, to_round, end_round, bytes, stored_bytes
    FROM remote_attempts
    WHERE finished
    UNION ALL
    SELECT scenario_id, topic, partition, NULL, to_offset, round, from_offset, NULL, NULL, NULL, NULL, NULL
    FROM events
    WHERE kind = 'local_delete'
  )
),
local_starts AS (
  SELECT scenario_id, topic, partition, min(local_log_start_offset) AS first_local_offset
  FROM replicas
  WHERE in_isr
  GROUP BY scenario_id, topic, partition
),
spans AS (
  SELECT
    t.*,
    greatest(
      t.from_round,
      least(
        t.to_round,
        CASE
          -- It was on no disk when the run began.
          WHEN coalesce(t.first_deleted_offset, l.first_local_offset) >= t.offset THEN 0
          WHEN t.first_deleted_round IS NOT NULL THEN t.first_deleted_round
          ELSE t.end_round
        END
      )
    ) AS twice_to_round
  FROM told t
  LEFT JOIN local_starts l ON l.scenario_id = t.scenario_id AND l.topic = t.topic AND l.partition = t.partition
  WHERE t.segment IS NOT NULL
)
SELECT
  scenario_id,
  topic,
  partition,
  segment,
  from_round,
  twice_to_round,
  bytes * (twice_to_round - from_round) AS twice_byte_rounds,
  IF(twice_to_round = end_round, stored_bytes, 0) AS twice_bytes
FROM spans
