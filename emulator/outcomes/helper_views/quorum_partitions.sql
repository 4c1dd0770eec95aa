-- What each partition's, or ledger's, quorum settings came to: copies of a record, answers that acknowledge it (of a partition: those
-- of all its ISR, min.insync.replicas at least), answers that are enough to fence its writer, requests that read all of it in batches of
-- 100 records (a bookie can answer for a batch only where each has every entry: E = Qw), brokers or bookies that joined it, and
-- bytes that moved to them for that. Bytes are with records of its mean size. The ledgers of a topic's list count together.
WITH of_ledgers AS (
  SELECT
    scenario_id,
    topic,
    partition,
    max(ensemble_size) AS ensemble_size,
    max(write_quorum) AS write_quorum,
    max(ack_quorum) AS ack_quorum,
    sum(writer_lac + 1) AS acked,
    sum(ensemble_changes) AS ensemble_changes,
    sum(adds_resent + entries_copied) AS entries_moved
  FROM ledgers
  GROUP BY scenario_id, topic, partition
),
stored AS (
  SELECT scenario_id, topic, partition, sum(bytes) / sum(records) AS record_bytes
  FROM quorum_holdings
  WHERE records > 0
  GROUP BY scenario_id, topic, partition
),
read_requests AS (
  SELECT
    f.scenario_id,
    f.topic,
    f.partition,
    sum(IF(l.ensemble_size = l.write_quorum, ceil(f.entries / 100), f.entries)) AS requests
  FROM (
    SELECT
      f.*,
      greatest(lead(f.first_entry, 1, l.writer_lac + 1) OVER (
        PARTITION BY f.scenario_id, f.topic, f.partition, f.ledger
        ORDER BY f.first_entry
      ) - f.first_entry, 0) AS entries
    FROM fragments f
    JOIN ledgers l
      ON l.scenario_id = f.scenario_id AND l.topic = f.topic AND l.partition = f.partition AND l.ledger = f.ledger
  ) f
  JOIN of_ledgers l ON l.scenario_id = f.scenario_id AND l.topic = f.topic AND l.partition = f.partition
  GROUP BY f.scenario_id, f.topic, f.partition
),
caught_up AS (
  SELECT scenario_id, topic, partition, count(joined_round) AS joins, sum(bytes) FILTER (WHERE joined_round IS NOT NULL) AS bytes
  FROM follower_catch_ups
  GROUP BY scenario_id, topic, partition
)
SELECT
  o.scenario_id,
  o.topic,
  o.partition,
  IF(
    l.write_quorum IS NULL,
    concat('RF ', size(p.replicas), ', min ISR ', p.min_isr),
    concat_ws('/', l.ensemble_size, l.write_quorum, l.ack_quorum)
  ) AS setting,
  IF(l.write_quorum IS NULL, size(p.replicas), l.write_quorum) AS copies,
  IF(l.write_quorum IS NULL, p.min_isr, l.ack_quorum) AS acks_needed,
  o.acked,
  o.refused,
  o.unwritable_rounds,
  o.unacked_rounds,
  o.acked_lost,
  IF(l.write_quorum IS NULL, 1, l.ensemble_size - l.ack_quorum + 1) AS answers_to_fence,
  IF(l.write_quorum IS NULL, o.hw, l.acked) AS readable,
  ceil(IF(l.write_quorum IS NULL, o.hw, l.acked) / 100) AS batches,
  IF(l.write_quorum IS NULL, ceil(o.hw / 100), coalesce(r.requests, 0)) AS read_requests,
  IF(l.write_quorum IS NULL, coalesce(c.joins, 0), l.ensemble_changes) AS joins,
  CAST(
    round(IF(l.write_quorum IS NULL, coalesce(c.bytes, 0), l.entries_moved * coalesce(s.record_bytes, 0))) AS BIGINT
  ) AS joined_bytes
FROM outcomes o
JOIN partitions p ON p.scenario_id = o.scenario_id AND p.topic = o.topic AND p.partition = o.partition
LEFT JOIN of_ledgers l ON l.scenario_id = o.scenario_id AND l.topic = o.topic AND l.partition = o.partition
LEFT JOIN stored s ON s.scenario_id = o.scenario_id AND s.topic = o.topic AND s.partition = o.partition
LEFT JOIN read_requests r ON r.scenario_id = o.scenario_id AND r.topic = o.topic AND r.partition = o.partition
LEFT JOIN caught_up c ON c.scenario_id = o.scenario_id AND c.topic = o.topic AND c.partition = o.partition
