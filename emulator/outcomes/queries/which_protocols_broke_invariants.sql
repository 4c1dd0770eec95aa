-- Which protocols broke which invariants?
--
-- One row for each protocol and invariant, over all scenarios of the protocol; one that broke none has one row with none.
-- partitions is how many partitions violated it, of how many, first the earliest case as scenario topic:partition and round, with
-- its witness. suspects is how many partitions have rows of kind suspect of it, which count as no violation.
WITH sizes AS (
  SELECT s.protocol, count(*) AS all_partitions, min(s.scenario_id) AS at
  FROM outcomes o
  JOIN scenarios s ON s.scenario_id = o.scenario_id
  GROUP BY s.protocol
),
broken AS (
  SELECT
    s.protocol,
    v.invariant,
    count(DISTINCT CASE WHEN v.kind != 'suspect' THEN struct(v.scenario_id, v.topic, v.partition) END) AS partitions,
    count(DISTINCT CASE WHEN v.kind = 'suspect' THEN struct(v.scenario_id, v.topic, v.partition) END) AS suspects,
    min_by(
      struct(s.name, v.topic, v.partition, v.round, v.witness),
      struct(v.kind = 'suspect', v.round, v.scenario_id, v.topic, v.partition, v.witness)
    ) AS first
  FROM violations v
  JOIN scenarios s ON s.scenario_id = v.scenario_id
  GROUP BY s.protocol, v.invariant
)
SELECT
  n.protocol,
  coalesce(b.invariant, 'none') AS invariant,
  coalesce(b.partitions, 0) AS partitions,
  n.all_partitions AS `of`,
  concat(b.first.name, ' ', b.first.topic, ':', b.first.partition, ' round ', b.first.round) AS first,
  b.first.witness,
  coalesce(b.suspects, 0) AS suspects
FROM sizes n
LEFT JOIN broken b ON b.protocol = n.protocol
ORDER BY n.at, b.invariant
