-- Every event with the fault behind it; fault columns are null where no fault was.
SELECT
  e.*,
  f.kind AS fault_kind,
  f.broker AS fault_broker,
  f.rack AS fault_rack,
  f.name AS fault_name,
  f.from_round AS fault_from_round,
  f.to_round AS fault_to_round
FROM events e
LEFT JOIN faults f ON f.scenario_id = e.scenario_id AND f.fault_id = e.cause
