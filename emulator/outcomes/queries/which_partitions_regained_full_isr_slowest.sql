-- Which partitions took longest to get their full ISR back, and after what?
--
-- One row for each stretch with members missing, the longest 50. regained_in_round null: still missing at the end,
-- counted until then. Long stretches after short faults mean that followers catch up slowly. Kafka's: ledgers have no ISR.
SELECT
  s.name AS scenario,
  r.topic,
  r.partition,
  r.from_round AS shrunk_in_round,
  r.to_round AS regained_in_round,
  r.rounds,
  round(r.rounds * s.round_ms / 1000, 1) AS seconds,
  r.most_lacking AS members_missing,
  f.kind AS fault_kind,
  coalesce(concat('broker ', f.broker), concat('rack ', f.rack)) AS fault_on,
  f.to_round - f.from_round AS fault_rounds
FROM isr_recoveries r
JOIN scenarios s ON s.scenario_id = r.scenario_id
LEFT JOIN faults f ON f.scenario_id = r.scenario_id AND f.fault_id = r.cause
ORDER BY r.rounds DESC, r.scenario_id, r.topic, r.partition, r.from_round
LIMIT 50
