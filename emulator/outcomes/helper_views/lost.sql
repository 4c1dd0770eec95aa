-- Partitions and ledgers that miss acknowledged records at the end, or records sent with acks=0, one row for each event that lost
-- some (null without one); kind says which. lost_at_event can sum to more than acked_lost and unacknowledged_lost: records lost at one
-- election can come back at the next. new_leader is of a ledger the bookie that had the last copies.
SELECT
  o.scenario_id,
  o.topic,
  o.partition,
  o.acked,
  o.acked_lost,
  e.round,
  e.from_offset,
  e.to_offset,
  coalesce(e.records, e.to_offset - e.from_offset) AS lost_at_event,
  e.broker AS new_leader,
  e.leader_epoch,
  e.fault_kind,
  e.fault_broker,
  e.fault_rack,
  e.fault_name,
  e.fault_from_round,
  e.fault_to_round,
  o.sent_unacknowledged,
  o.unacknowledged_lost,
  e.kind
FROM outcomes o
LEFT JOIN event_causes e
  ON e.scenario_id = o.scenario_id AND e.topic = o.topic AND e.partition = o.partition AND (
    (o.acked_lost > 0 AND e.kind = 'acked_lost') OR (o.unacknowledged_lost > 0 AND e.kind = 'unacknowledged_lost')
  )
WHERE o.acked_lost > 0 OR o.unacknowledged_lost > 0
