-- How often did each topic elect leaders, clean and unclean?
--
-- Clean elections cost a short pause; unclean ones put a leader without all committed records in charge. Many
-- elections on one partition (most_on_one_partition) are a flapping broker or leadership moving to and fro. Of ledgers, which have no
-- leaders, it is ensemble changes, all of them clean.
SELECT
  s.name AS scenario,
  o.topic,
  count(*) AS partitions,
  sum(o.elections) AS elections,
  sum(o.elections - o.unclean_elections) AS clean_elections,
  sum(o.unclean_elections) AS unclean_elections,
  count_if(o.elections > 0) AS partitions_with_elections,
  count_if(o.unclean_elections > 0) AS partitions_with_unclean,
  max(o.elections) AS most_on_one_partition
FROM outcomes o
JOIN scenarios s ON s.scenario_id = o.scenario_id
GROUP BY o.scenario_id, s.name, o.topic
ORDER BY o.scenario_id, elections DESC, o.topic
