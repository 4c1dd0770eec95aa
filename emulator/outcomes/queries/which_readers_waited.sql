-- Which readers of ledgers had to wait, or did not get all they asked for?
--
-- One row per reader (read_ledger, read_topic) that took more than its round, asked further bookies since earlier ones took too
-- long (asked_again, by entry), or lacks entries; the longest first. done_round and waited_rounds are null for one that is still
-- reading at the end. faults: those in force on bookies in between, of which. Kafka's groups: table consumer_groups.
WITH waited AS (
  SELECT
    r.*,
    s.name AS scenario,
    s.round_ms,
    coalesce(r.done_round, s.rounds) AS end_round
  FROM ledger_readers r
  JOIN scenarios s ON s.scenario_id = r.scenario_id
  WHERE r.done_round IS NULL OR r.done_round > r.started_round OR r.speculative > 0 OR r.entries_missing > 0
),
in_force AS (
  SELECT
    w.scenario_id,
    w.started_round,
    w.end_round,
    concat(f.kind, ' of ', array_join(array_sort(collect_set(CAST(f.broker AS STRING))), ' ')) AS fault
  FROM (SELECT DISTINCT scenario_id, started_round, end_round FROM waited) w
  JOIN faults f ON f.scenario_id = w.scenario_id
  WHERE f.broker IS NOT NULL AND f.from_round <= w.end_round AND (f.to_round IS NULL OR f.to_round > w.started_round)
  GROUP BY w.scenario_id, w.started_round, w.end_round, f.kind
),
behind AS (
  SELECT scenario_id, started_round, end_round, concat_ws(', ', array_sort(collect_set(fault))) AS faults
  FROM in_force
  GROUP BY scenario_id, started_round, end_round
)
SELECT
  w.scenario,
  w.topic,
  w.partition,
  w.ledger,
  w.number,
  w.started_round,
  w.done_round,
  w.done_round - w.started_round AS waited_rounds,
  (w.done_round - w.started_round) * w.round_ms / 1000 AS waited_seconds,
  w.entries,
  w.entries_read,
  w.entries_missing,
  w.speculative AS asked_again,
  w.error,
  b.faults
FROM waited w
LEFT JOIN behind b
  ON b.scenario_id = w.scenario_id AND b.started_round = w.started_round AND b.end_round = w.end_round
ORDER BY w.end_round - w.started_round DESC, w.scenario_id, w.topic, w.partition, w.ledger, w.number
