-- Tiering by partition: bytes at the end (local_bytes: all replicas together; remote_bytes; twice_bytes: remote, and on
-- brokers' disks too; unreferenced_bytes; only_remote_bytes and only_remote_records: what no member of the ISR has on its
-- disk), the same times rounds over the run (doubles: a fleet's sum is beyond BIGINT), requests to the remote storage,
-- and what is counted in outcomes anyway. Ledgers have theirs from tiering_ledgers, and offloaded_bytes, offload_read_bytes and
-- reader_bytes, which are null for partitions.
WITH remote AS (
  SELECT
    scenario_id,
    topic,
    partition,
    sum(stored_bytes) AS remote_bytes,
    sum(CAST(byte_rounds AS DOUBLE)) AS remote_byte_rounds,
    count_if(moved AND held_bytes > 0) AS copies,
    sum(parts) AS parts
  FROM remote_attempts
  GROUP BY scenario_id, topic, partition
),
twice AS (
  SELECT
    scenario_id,
    topic,
    partition,
    sum(twice_bytes) AS twice_bytes,
    sum(CAST(twice_byte_rounds AS DOUBLE)) AS twice_byte_rounds
  FROM held_twice
  GROUP BY scenario_id, topic, partition
),
unreferenced AS (
  SELECT scenario_id, topic, partition, sum(unreferenced_bytes) AS unreferenced_bytes
  FROM unreferenced_segments
  GROUP BY scenario_id, topic, partition
),
starts AS (
  SELECT
    scenario_id,
    topic,
    partition,
    sum(local_bytes) AS local_bytes,
    max(log_start_offset) FILTER (WHERE in_isr) AS log_start_offset,
    min(local_log_start_offset) FILTER (WHERE in_isr) AS local_log_start_offset
  FROM replicas
  GROUP BY scenario_id, topic, partition
),
-- Copies of the same records count once: the segments' share of the offsets is laid over their offsets.
only_remote AS (
  SELECT
    r.scenario_id,
    r.topic,
    r.partition,
    CAST(
      round(
        avg(r.bytes / (r.end_offset + 1 - r.base_offset)) * max(s.local_log_start_offset - s.log_start_offset)
      ) AS BIGINT
    ) AS only_remote_bytes
  FROM remote_segments r
  JOIN starts s ON s.scenario_id = r.scenario_id AND s.topic = r.topic AND s.partition = r.partition
  WHERE r.state = 'COPY_FINISHED' AND r.in_lineage
    AND r.base_offset < s.local_log_start_offset AND r.end_offset >= s.log_start_offset
  GROUP BY r.scenario_id, r.topic, r.partition
)
SELECT
  o.scenario_id,
  o.topic,
  o.partition,
  coalesce(s.local_bytes, g.local_bytes, 0) AS local_bytes,
  coalesce(r.remote_bytes, g.remote_bytes, 0) AS remote_bytes,
  coalesce(r.remote_byte_rounds, g.remote_byte_rounds, 0) AS remote_byte_rounds,
  coalesce(t.twice_bytes, g.twice_bytes, 0) AS twice_bytes,
  coalesce(t.twice_byte_rounds, g.twice_byte_rounds, 0) AS twice_byte_rounds,
  coalesce(u.unreferenced_bytes, 0) AS unreferenced_bytes,
  greatest(coalesce(s.local_log_start_offset - s.log_start_offset, g.only_remote_records, 0), 0) AS only_remote_records,
  coalesce(n.only_remote_bytes, g.only_remote_bytes, 0) AS only_remote_bytes,
  coalesce(r.copies * z.puts_per_copy + r.parts, g.put_requests, 0) AS put_requests,
  coalesce(o.aux_state_downloads, 0) * z.gets_per_aux_state
    + coalesce(c.remote_requests, g.remote_requests, 0) * z.gets_per_remote_read
    + coalesce(c.index_misses, 0) * z.gets_per_index_miss AS get_requests,
  coalesce(o.remote_list_requests, 0) AS list_requests,
  (coalesce(o.remote_delete_requests, 0) + coalesce(g.deletions, 0)) * z.deletes_per_segment AS delete_requests,
  coalesce(g.given_up_bytes, o.remote_copied_again_bytes, 0) AS copied_again_bytes,
  coalesce(g.copy_errors, o.remote_copy_errors, 0) AS copy_errors,
  coalesce(o.moved_to_tiered_storage, 0) AS moved_to_tiered_storage,
  coalesce(c.remote_bytes, g.reader_remote_bytes, 0) AS remote_read_bytes,
  coalesce(c.remote_requests, g.remote_requests, 0) AS remote_read_requests,
  coalesce(c.cross_rack_bytes, 0) AS cross_rack_read_bytes,
  o.acked_lost,
  o.committed_lost,
  o.refused,
  o.leaderless_rounds,
  o.replicated_bytes,
  g.offloaded_bytes,
  g.offload_read_bytes,
  g.reader_bytes
FROM outcomes o
CROSS JOIN sizing z
LEFT JOIN remote r ON r.scenario_id = o.scenario_id AND r.topic = o.topic AND r.partition = o.partition
LEFT JOIN twice t ON t.scenario_id = o.scenario_id AND t.topic = o.topic AND t.partition = o.partition
LEFT JOIN unreferenced u ON u.scenario_id = o.scenario_id AND u.topic = o.topic AND u.partition = o.partition
LEFT JOIN starts s ON s.scenario_id = o.scenario_id AND s.topic = o.topic AND s.partition = o.partition
LEFT JOIN only_remote n ON n.scenario_id = o.scenario_id AND n.topic = o.topic AND n.partition = o.partition
LEFT JOIN consumer_reads c ON c.scenario_id = o.scenario_id AND c.topic = o.topic AND c.partition = o.partition
LEFT JOIN tiering_ledgers g ON g.scenario_id = o.scenario_id AND g.topic = o.topic AND g.partition = o.partition
