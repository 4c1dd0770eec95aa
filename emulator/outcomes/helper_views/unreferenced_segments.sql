-- Attempts to copy a segment that left bytes in remote storage which nothing will read, at the end, with the reason. A
-- copy that the leader is making is not one of them.
SELECT
  r.scenario_id,
  r.topic,
  r.partition,
  r.segment,
  r.base_offset,
  r.end_offset,
  r.state,
  r.stored_bytes AS unreferenced_bytes,
  CASE r.state
    WHEN 'COPY_STARTED' THEN 'copy given up'
    WHEN 'DELETE_STARTED' THEN 'deletion not finished'
    WHEN 'DELETE_FINISHED' THEN 'left behind by a late copy'
    ELSE 'outside the lineage'
  END AS reason
FROM remote_segments r
LEFT JOIN outcomes o ON o.scenario_id = r.scenario_id AND o.topic = r.topic AND o.partition = r.partition
WHERE r.stored_bytes > 0
  AND NOT (r.state = 'COPY_FINISHED' AND r.in_lineage)
  AND NOT coalesce(r.state = 'COPY_STARTED' AND r.broker = o.leader AND r.leader_epoch = o.leader_epoch, false)
