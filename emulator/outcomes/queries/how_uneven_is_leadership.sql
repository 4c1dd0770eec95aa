-- How uneven is leadership over the brokers at the end?
--
-- preferred: partitions with the broker first in the replica list; led_elsewhere: those of them that another broker
-- leads or none does, and imbalance_percent their share (Kafka's rebalance acts above
-- leader.imbalance.per.broker.percentage, 10 by default). leads_over_mean: 1.0 is an even share of all leaders, 2.0
-- twice as many. Of Kafka's partitions: ledgers have no leader, and scenarios of ledgers only no rows.
WITH ends AS (
  SELECT o.scenario_id, o.leader, element_at(p.replicas, 1) AS preferred
  FROM outcomes o
  JOIN partitions p ON p.scenario_id = o.scenario_id AND p.topic = o.topic AND p.partition = o.partition
  JOIN scenarios s ON s.scenario_id = o.scenario_id
  WHERE s.protocol NOT LIKE 'bookkeeper%'
),
sides AS (
  SELECT scenario_id, preferred AS broker, 1 AS preferred, if(leader != preferred, 1, 0) AS led_elsewhere, 0 AS leads
  FROM ends
  UNION ALL
  SELECT scenario_id, leader, 0, 0, 1 FROM ends WHERE leader >= 0
  UNION ALL
  SELECT scenario_id, broker, 0, 0, 0 FROM brokers WHERE scenario_id IN (SELECT scenario_id FROM ends)
),
brokers_at_end AS (
  SELECT
    scenario_id, broker, sum(leads) AS leads, sum(preferred) AS preferred, sum(led_elsewhere) AS led_elsewhere
  FROM sides
  GROUP BY scenario_id, broker
)
SELECT
  s.name AS scenario,
  b.broker,
  b.leads,
  round(b.leads / nullif(avg(b.leads) OVER (PARTITION BY b.scenario_id), 0), 2) AS leads_over_mean,
  b.preferred,
  b.led_elsewhere,
  round(100 * b.led_elsewhere / nullif(b.preferred, 0), 1) AS imbalance_percent
FROM brokers_at_end b
JOIN scenarios s ON s.scenario_id = b.scenario_id
ORDER BY b.scenario_id, imbalance_percent DESC NULLS LAST, b.broker
