-- Where the bytes of each ledger are at the end: on bookies, with all their copies, in remote storage, and on bookies of what is there, too.
SELECT
  l.scenario_id,
  l.topic,
  l.partition,
  l.ledger,
  coalesce(b.bytes, 0) AS local_bytes,
  l.remote_bytes,
  IF(l.remote_bytes > 0, coalesce(b.bytes, 0), 0) AS held_twice_bytes
FROM ledgers l
LEFT JOIN (
  SELECT scenario_id, topic, partition, ledger, sum(bytes) AS bytes
  FROM bookies
  GROUP BY scenario_id, topic, partition, ledger
) b USING (scenario_id, topic, partition, ledger)
