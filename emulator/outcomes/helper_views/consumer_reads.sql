-- What consumers read of each partition: bytes by where they came from and to other racks, requests for remote records,
-- and how many of these had to fetch a segment's indexes first.
SELECT
  scenario_id,
  topic,
  partition,
  sum(page_cache_bytes) AS page_cache_bytes,
  sum(disk_bytes) AS disk_bytes,
  sum(remote_bytes) AS remote_bytes,
  sum(remote_requests) AS remote_requests,
  sum(index_misses) AS index_misses,
  sum(cross_rack_bytes) AS cross_rack_bytes
FROM consumer_groups
GROUP BY scenario_id, topic, partition
