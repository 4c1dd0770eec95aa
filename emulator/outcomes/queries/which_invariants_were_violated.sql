-- Which invariants were violated, in which scenario?
--
-- One row for each scenario and invariant; a scenario that kept all of them has one row with none. partitions is how many
-- partitions violated it, share their share of the scenario's, first the earliest case as topic:partition and round, with
-- its witness. suspects is how many partitions have rows of kind suspect of it, which count as no violation. The table
-- invariants says what each of them means. Put a protocol and its mutants into one file to see what a guard is for.
WITH sizes AS (
  SELECT scenario_id, count(*) AS all_partitions FROM outcomes GROUP BY scenario_id
),
broken AS (
  SELECT
    scenario_id,
    invariant,
    count(DISTINCT CASE WHEN kind != 'suspect' THEN struct(topic, partition) END) AS partitions,
    count(DISTINCT CASE WHEN kind = 'suspect' THEN struct(topic, partition) END) AS suspects,
    min_by(struct(topic, partition, round, witness), struct(kind = 'suspect', round, topic, partition, witness)) AS first
  FROM violations
  GROUP BY scenario_id, invariant
)
SELECT
  s.name AS scenario,
  s.protocol,
  coalesce(b.invariant, 'none') AS invariant,
  coalesce(b.partitions, 0) AS partitions,
  round(coalesce(b.partitions, 0) / n.all_partitions, 6) AS share,
  concat(b.first.topic, ':', b.first.partition, ' round ', b.first.round) AS first,
  b.first.witness,
  coalesce(b.suspects, 0) AS suspects
FROM scenarios s
JOIN sizes n ON n.scenario_id = s.scenario_id
LEFT JOIN broken b ON b.scenario_id = s.scenario_id
ORDER BY s.scenario_id, b.invariant
