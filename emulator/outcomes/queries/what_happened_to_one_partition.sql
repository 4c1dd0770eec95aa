-- What happened to one partition, event by event?
--
-- Shows the partition that lost most acknowledged records (then the one longest without a leader); for another one
-- put its names into `chosen`. Read downwards: a fault, the ISR shrinking, the election and its epoch, what the new
-- leader lacked (acked_lost), the old one cutting its log when it came back (truncate: from its old log end to its
-- new one). Of a ledger: bookies that lost entries, adds that timed out and the ensemble changes after them, recoveries, repair.
WITH chosen AS (
  SELECT scenario_id, topic, partition
  FROM outcomes
  ORDER BY acked_lost DESC, leaderless_rounds DESC, elections DESC, scenario_id, topic, partition
  LIMIT 1
)
SELECT
  s.name AS scenario,
  e.topic,
  e.partition,
  e.round,
  round(e.round * s.round_ms / 1000, 1) AS seconds,
  e.kind,
  e.broker,
  e.leader_epoch,
  e.from_offset,
  e.to_offset,
  e.fault_kind,
  coalesce(concat('broker ', e.fault_broker), concat('rack ', e.fault_rack)) AS fault_on
FROM event_causes e
JOIN chosen c ON c.scenario_id = e.scenario_id AND c.topic = e.topic AND c.partition = e.partition
JOIN scenarios s ON s.scenario_id = e.scenario_id
ORDER BY
  e.round,
  array_position(
    array(
      'log_damaged', 'fenced', 'unfenced', 'isr_shrink', 'leader_lost', 'election', 'unclean_election', 'entries_lost', 'acked_lost',
      'unacknowledged_lost', 'committed_lost', 'truncate', 'isr_expand', 'limbo_entered', 'add_failed', 'ensemble_change', 'recovery_started', 'fence',
      'ledger_closed', 'underreplicated', 'copied', 'rereplicated', 'filled', 'limbo_left'
    ),
    e.kind
  ),
  e.leader_epoch,
  e.broker
