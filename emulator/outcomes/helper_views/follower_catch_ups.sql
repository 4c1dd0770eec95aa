-- What it took to bring a replica into the ISR: stretches from when it left (left_round; null: it was not in it before)
-- to when it joined (joined_round; null: not until the end). It has been catching up since runs_from: when it left, or
-- was unfenced after that; null: not told, as of a replica that a reassignment added. is_new: it had nothing before, or
-- began behind remote storage. It had its log up to from_offset then, and up to to_offset when it joined: bytes is what
-- lies between, with records of the partition's mean size; null: not told. A replica that a reassignment took away before
-- it joined has no row; one that is in no stretch and not in the ISR at the end, as one that a reassignment adds, has a row
-- without rounds and bytes.
WITH told AS (
  SELECT
    *,
    count_if(kind = 'isr_expand') OVER (
      PARTITION BY scenario_id, topic, partition, broker
      ORDER BY round, kind = 'isr_expand', kind = 'aux_state_built'
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS stretch
  FROM events
  WHERE kind IN ('isr_shrink', 'log_damaged', 'unfenced', 'truncate', 'aux_state_built', 'isr_expand')
),
stretches AS (
  SELECT
    scenario_id,
    topic,
    partition,
    broker,
    max(round) FILTER (WHERE kind = 'isr_shrink') AS left_round,
    max(round) FILTER (WHERE kind = 'isr_expand') AS joined_round,
    max(round) FILTER (WHERE kind = 'unfenced') AS unfenced_round,
    min_by(cause, round) FILTER (WHERE kind = 'isr_shrink') AS cause,
    count_if(kind = 'aux_state_built') > 0 AS built_aux_state,
    count_if(kind = 'log_damaged' AND to_offset = 0) > 0 AS came_back_empty,
    -- What it began with: the last that was told of its log's end.
    max_by(to_offset, struct(round, kind = 'aux_state_built', kind = 'truncate')) FILTER (WHERE kind IN ('isr_shrink', 'log_damaged', 'truncate', 'aux_state_built')) AS from_offset,
    max(from_offset) FILTER (WHERE kind = 'isr_expand') AS first_offset,
    max(to_offset) FILTER (WHERE kind = 'isr_expand') AS to_offset
  FROM told
  GROUP BY scenario_id, topic, partition, broker, stretch
),
record_sizes AS (
  SELECT scenario_id, topic, partition, sum(local_bytes) / sum(leo - local_log_start_offset) AS record_bytes
  FROM replicas
  WHERE leo > local_log_start_offset
  GROUP BY scenario_id, topic, partition
),
judged AS (
  SELECT
    s.* EXCEPT (from_offset, first_offset, unfenced_round, came_back_empty),
    CASE
      WHEN left_round IS NOT NULL THEN greatest(left_round, coalesce(unfenced_round, left_round))
    END AS runs_from,
    built_aux_state OR came_back_empty OR left_round IS NULL AS is_new,
    IF(left_round IS NULL AND NOT built_aux_state, coalesce(first_offset, from_offset), from_offset) AS from_offset
  FROM stretches s
  WHERE
    joined_round IS NOT NULL
    OR ((left_round IS NOT NULL OR built_aux_state) AND EXISTS (
      SELECT 1 FROM replicas r
      WHERE r.scenario_id = s.scenario_id AND r.topic = s.topic AND r.partition = s.partition AND r.broker = s.broker
    ))
)
SELECT
  j.scenario_id,
  j.topic,
  j.partition,
  j.broker,
  j.left_round,
  j.runs_from,
  j.joined_round,
  j.joined_round - j.runs_from AS rounds,
  j.is_new,
  j.built_aux_state,
  j.from_offset,
  j.to_offset,
  CAST(
    round(IF(j.to_offset < j.from_offset, 0, j.to_offset - j.from_offset) * r.record_bytes) AS BIGINT
  ) AS bytes,
  j.cause
FROM judged j
LEFT JOIN record_sizes r ON r.scenario_id = j.scenario_id AND r.topic = j.topic AND r.partition = j.partition
UNION ALL
SELECT r.scenario_id, r.topic, r.partition, r.broker, NULL, NULL, NULL, NULL, true, false, NULL, NULL, NULL, NULL
FROM replicas r
LEFT ANTI JOIN stretches s
  ON s.scenario_id = r.scenario_id AND s.topic = r.topic AND s.partition = r.partition AND s.broker = r.broker
LEFT ANTI JOIN ledgers l ON l.scenario_id = r.scenario_id AND l.topic = r.topic AND l.partition = r.partition
WHERE NOT r.in_isr
