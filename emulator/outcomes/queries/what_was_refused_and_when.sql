-- How much was refused for lack of in-sync replicas, when, and for which topics?
--
-- Records of acks=all producers answered with NOT_ENOUGH_REPLICAS, topic by topic in slices of 100 rounds. What is
-- refused on and on counts in the slice in which that begins; first_round and last_begins say when it first and last
-- began there. Refused records are not retried here.
-- share_of_offered: of all the topic was sent in the whole run, how much was refused in this slice. Kafka's: what the writer of a ledger
-- was refused is in the table ledgers.
WITH offered AS (
  SELECT scenario_id, topic, sum(appended + refused) AS records FROM outcomes GROUP BY scenario_id, topic
),
refusals AS (
  SELECT
    scenario_id,
    topic,
    floor(round / 100) * 100 AS slice_from_round,
    count(DISTINCT partition) AS partitions,
    min(round) AS first_round,
    max(round) AS last_begins,
    sum(to_offset - from_offset) AS refused
  FROM events
  WHERE kind = 'refused'
  GROUP BY scenario_id, topic, floor(round / 100)
)
SELECT
  s.name AS scenario,
  r.topic,
  r.slice_from_round,
  r.partitions,
  r.first_round,
  r.last_begins,
  round(r.first_round * s.round_ms / 1000, 1) AS first_seconds,
  r.refused,
  round(r.refused / nullif(o.records, 0), 4) AS share_of_offered
FROM refusals r
JOIN scenarios s ON s.scenario_id = r.scenario_id
JOIN offered o ON o.scenario_id = r.scenario_id AND o.topic = r.topic
ORDER BY r.scenario_id, r.topic, r.slice_from_round
