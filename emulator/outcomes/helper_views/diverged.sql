-- Pairs of replicas whose logs differ below both their high watermarks at the end: what LogMatching forbids.
-- One row for each such range of offsets, from_offset to to_offset - 1, with the epoch that each of the two has there.
WITH runs AS (
  SELECT
    r.scenario_id,
    r.topic,
    r.partition,
    r.broker,
    r.hw,
    e.epoch,
    greatest(e.start_offset, r.log_start_offset) AS from_offset,
    least(coalesce(e.end_offset, r.leo), r.hw) AS to_offset
  FROM replicas r
  JOIN leader_epochs e
    ON e.scenario_id = r.scenario_id AND e.topic = r.topic AND e.partition = r.partition AND e.broker = r.broker
)
SELECT
  a.scenario_id,
  a.topic,
  a.partition,
  a.broker,
  b.broker AS other_broker,
  greatest(a.from_offset, b.from_offset) AS from_offset,
  least(a.to_offset, b.to_offset) AS to_offset,
  a.epoch,
  b.epoch AS other_epoch
FROM runs a
JOIN runs b
  ON b.scenario_id = a.scenario_id AND b.topic = a.topic AND b.partition = a.partition AND b.broker > a.broker
WHERE a.epoch != b.epoch AND greatest(a.from_offset, b.from_offset) < least(a.to_offset, b.to_offset)
