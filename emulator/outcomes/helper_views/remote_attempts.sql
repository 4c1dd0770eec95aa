-- Attempts to copy a segment, with the rounds [from_round, to_round) at whose ends its held_bytes lay in remote storage
-- (of a copy that did not finish: what is left of it at the end) and byte_rounds, bytes times rounds. finished: it was
-- copied whole, in this run or before; moved: in this run; parts: PUT requests for its bytes.
WITH spans AS (
  SELECT
    r.* EXCEPT (epochs, checkpoint),
    s.rounds AS end_round,
    r.started_round IS NOT NULL AS moved,
    r.copied_round IS NOT NULL OR (r.started_round IS NULL AND r.state != 'COPY_STARTED') AS finished,
    IF(
      r.copied_round IS NOT NULL OR (r.started_round IS NULL AND r.state != 'COPY_STARTED'), r.bytes, r.stored_bytes
    ) AS held_bytes,
    greatest(coalesce(r.copied_round, r.started_round, 0), 0) AS from_round,
    coalesce(r.deleted_round, s.rounds) AS to_round
  FROM remote_segments r
  JOIN scenarios s ON s.scenario_id = r.scenario_id
)
SELECT
  p.*,
  held_bytes * greatest(to_round - from_round, 0)
    + IF(state = 'DELETE_FINISHED', stored_bytes * (end_round - to_round), 0) AS byte_rounds,
  IF(moved, ceil(held_bytes / z.part_bytes), 0) AS parts
FROM spans p
CROSS JOIN sizing z
