-- Which partitions lost acknowledged records, how many, and which fault did it in which rounds?
--
-- One row for each election that cost records, the worst partitions first. acked_lost: what the partition misses at
-- the end; lost_at_event: what this election dropped, offsets from_offset to to_offset - 1 (some may have come back
-- later). The fault columns say what took the old leader away; an unclean new_leader or acks=1 is the usual reason.
-- Records sent with acks=0 were acknowledged to nobody: unacknowledged_lost says how many of them are missing, and kind which of both
-- an election lost.
-- Ledgers: one row for each time that entries were lost, new_leader is the bookie that had the last copies (null: the ledger ends
-- below them), and lost_at_event of the entries from from_offset to to_offset - 1 are gone. fault_on: all bookies that lost some of
-- these in that round.
WITH lost_together AS (
  SELECT
    l.scenario_id,
    l.topic,
    l.partition,
    l.round,
    l.from_offset,
    concat('brokers ', array_join(array_sort(collect_set(CAST(e.broker AS STRING))), ', ')) AS brokers
  FROM lost l
  JOIN events e ON e.scenario_id = l.scenario_id AND e.topic = l.topic AND e.partition = l.partition AND e.round = l.round
  WHERE l.kind = 'acked_lost' AND e.kind = 'entries_lost' AND e.from_offset < l.to_offset AND e.to_offset > l.from_offset
  GROUP BY l.scenario_id, l.topic, l.partition, l.round, l.from_offset
  HAVING count(DISTINCT e.broker) > 1
)
SELECT
  s.name AS scenario,
  l.topic,
  l.partition,
  l.acked_lost,
  l.lost_at_event,
  l.round,
  round(l.round * s.round_ms / 1000, 1) AS seconds,
  l.from_offset,
  l.to_offset,
  l.new_leader,
  l.fault_kind,
  coalesce(t.brokers, concat('broker ', l.fault_broker), concat('rack ', l.fault_rack)) AS fault_on,
  l.fault_from_round,
  l.fault_to_round,
  l.kind,
  l.unacknowledged_lost
FROM lost l
JOIN scenarios s ON s.scenario_id = l.scenario_id
LEFT JOIN lost_together t
  ON t.scenario_id = l.scenario_id AND t.topic = l.topic AND t.partition = l.partition AND t.round = l.round
  AND t.from_offset = l.from_offset
ORDER BY l.acked_lost DESC, l.unacknowledged_lost DESC, l.scenario_id, l.topic, l.partition, l.round, l.from_offset
