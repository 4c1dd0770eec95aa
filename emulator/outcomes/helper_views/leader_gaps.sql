-- What each loss of a leader cost in rounds: unnoticed_rounds until it was seen, vacant_rounds without a successor.
-- An isolated leader goes on serving the clients it reaches, so only faults that stop it count as unnoticed; none that was over
-- before it was elected.
WITH changes AS (
  SELECT
    e.*,
    lag(e.kind) OVER in_order AS previous_kind,
    lag(e.round, 1, 0) OVER in_order AS previous_round,
    lead(e.round) OVER in_order AS next_round
  FROM event_causes e
  WHERE e.kind IN ('election', 'unclean_election', 'leader_lost')
  WINDOW in_order AS (
    PARTITION BY e.scenario_id, e.topic, e.partition ORDER BY e.round, coalesce(e.leader_epoch, -1)
  )
)
SELECT
  c.scenario_id,
  c.topic,
  c.partition,
  c.round,
  c.kind,
  c.cause,
  CASE
    WHEN c.previous_kind = 'leader_lost' OR c.fault_to_round <= c.previous_round THEN 0
    WHEN c.fault_kind IN (
      'broker_crash', 'power_loss', 'disk_loss', 'controlled_shutdown', 'broker_pause', 'rack_loss'
    ) THEN greatest(0, c.round - greatest(c.fault_from_round, c.previous_round))
    ELSE 0
  END AS unnoticed_rounds,
  CASE WHEN c.kind = 'leader_lost' THEN coalesce(c.next_round, s.rounds) - c.round ELSE 0 END AS vacant_rounds
FROM changes c
JOIN scenarios s ON s.scenario_id = c.scenario_id
