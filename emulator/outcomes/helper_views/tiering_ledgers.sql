-- Tiering of ledgers, by partition (of a topic that is a list: all its ledgers together): bytes as in tiering_partitions, of bookies
-- with all copies, of remote storage while it has a ledger whole; requests to it (a reader's GETs bring 1 MiB each,
-- managedLedgerOffloadReadBufferSizeInBytes); offloaded_bytes: of ledgers that came to be there, offload_read_bytes: read for that,
-- reader_bytes: read by readers, both from bookies; copy_errors, given_up_bytes: of copies that failed.
SELECT
  l.scenario_id,
  l.topic,
  l.partition,
  sum(coalesce(b.bytes, 0)) AS local_bytes,
  sum(l.remote_bytes) AS remote_bytes,
  sum(CAST(l.offloaded_bytes AS DOUBLE) * (coalesce(l.deleted_round, s.rounds) - coalesce(l.offloaded_round, s.rounds)))
    AS remote_byte_rounds,
  sum(IF(l.deleted_from_bookies_round IS NULL, l.remote_bytes, 0)) AS twice_bytes,
  sum(
    CAST(l.offloaded_bytes AS DOUBLE)
      * (coalesce(l.deleted_from_bookies_round, l.deleted_round, s.rounds) - coalesce(l.offloaded_round, s.rounds))
  ) AS twice_byte_rounds,
  sum(IF(l.deleted_from_bookies_round IS NOT NULL, l.remote_bytes, 0)) AS only_remote_bytes,
  sum(IF(l.deleted_from_bookies_round IS NOT NULL AND l.remote_bytes > 0, l.last_entry + 1, 0)) AS only_remote_records,
  sum(
    IF(
      l.offload_started_round IS NOT NULL AND l.offloaded_bytes > 0,
      z.puts_per_copy + CAST(ceil(l.offloaded_bytes / z.part_bytes) AS BIGINT),
      0
    )
  ) AS put_requests,
  sum(CAST(ceil(l.reader_remote_bytes / 1048576) AS BIGINT)) AS remote_requests,
  count_if(l.offloaded_bytes > 0 AND l.deleted_round IS NOT NULL) AS deletions,
  sum(l.reader_remote_bytes) AS reader_remote_bytes,
  sum(IF(l.offload_started_round IS NOT NULL, l.offloaded_bytes, 0)) AS offloaded_bytes,
  sum(l.offload_read_bytes) AS offload_read_bytes,
  sum(l.reader_bytes) AS reader_bytes,
  sum(l.copy_errors) AS copy_errors,
  sum(l.given_up_bytes) AS given_up_bytes
FROM ledgers l
JOIN scenarios s ON s.scenario_id = l.scenario_id
CROSS JOIN sizing z
LEFT JOIN (
  SELECT scenario_id, topic, partition, ledger, sum(bytes) AS bytes
  FROM bookies
  GROUP BY scenario_id, topic, partition, ledger
) b ON b.scenario_id = l.scenario_id AND b.topic = l.topic AND b.partition = l.partition AND b.ledger = l.ledger
GROUP BY l.scenario_id, l.topic, l.partition
