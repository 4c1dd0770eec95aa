-- Which bookies have which entry of a traced ledger, at the end of each of its rounds.
SELECT
  h.scenario_id,
  h.topic,
  h.partition,
  h.ledger,
  h.round,
  h.entry,
  array_sort(collect_set(h.broker)) AS bookies
FROM (
  SELECT
    scenario_id, topic, partition, ledger, round, broker, run.ensemble_index AS place,
    explode(sequence(run.from_entry, run.to_entry - 1)) AS entry
  FROM (SELECT *, explode(held) AS run FROM bookie_rounds)
) h
JOIN ledgers l
  ON l.scenario_id = h.scenario_id AND l.topic = h.topic AND l.partition = h.partition AND l.ledger = h.ledger
-- (place - entry) mod E < Qw: the index gets the entry.
WHERE (h.place + h.entry * (l.ensemble_size - 1)) % l.ensemble_size < l.write_quorum
GROUP BY h.scenario_id, h.topic, h.partition, h.ledger, h.round, h.entry
