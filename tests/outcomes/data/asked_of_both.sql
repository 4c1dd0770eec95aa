-- Asked of Spark and of DuckDB: where their rules, types, names or orders could differ. A line a query.
SELECT * FROM runs
SELECT TOPIC, Partition FROM outcomes ORDER BY 1, 2
SELECT o.topic, acked - acked_lost, acked * 2, acked / 7 FROM outcomes o ORDER BY o.scenario_id, o.topic, o.partition
SELECT count(*), count(topic), sum(acked), min(acked), max(acked), avg(acked) FROM outcomes
SELECT 1, 'x', 2L AS two, 1.5D AS d, 1e9 AS e, NULL AS n, true AS t
SELECT round(2.675D, 2) AS a, round(-2.5D) AS b, round(1e-7, 6) AS c, round(5e-7, 6) AS d, round(123456789.125D, 2) AS e, round(7, 1) AS f
SELECT topic, round(acked / 3, 2) AS r, ceil(acked / 7) AS c, floor(acked / 7) AS f, acked div 7 AS d, -acked % 7 AS m FROM outcomes ORDER BY acked, topic, scenario_id, partition
SELECT CAST(2.9D AS INT) AS a, CAST(-2.9D AS BIGINT) AS b, CAST(true AS INT) AS c, CAST(3 AS DOUBLE) AS d, CAST(7 AS STRING) AS e
SELECT topic, sum(acked) AS s, sum(acked) / count(*) AS q, avg(acked) AS a FROM outcomes GROUP BY 1 HAVING sum(acked) > 0 ORDER BY 1
SELECT scenario_id, percentile(acked, 0.5) AS p50, percentile(acked, 0.9) AS p90 FROM outcomes GROUP BY scenario_id ORDER BY 1
SELECT sqrt(2D) AS s, abs(-3) AS a, greatest(1, NULL, 3) AS g, least(NULL, 2) AS l, nullif(1, 1) AS n, 1 <=> NULL AS e
SELECT cause, kind FROM events ORDER BY cause, kind, scenario_id, topic, partition, round, broker LIMIT 5
SELECT cause, kind FROM events ORDER BY cause DESC, kind, scenario_id, topic, partition, round, broker LIMIT 5
SELECT count(DISTINCT cause, kind) AS n, count(cause) AS c FROM events
SELECT topic, acked, rank() OVER (PARTITION BY topic ORDER BY acked) AS r, lag(acked) OVER (ORDER BY topic, scenario_id, partition) AS l, count_if(acked > 0) OVER (ORDER BY topic, scenario_id, partition ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS n FROM outcomes ORDER BY topic, scenario_id, partition
SELECT kind, min_by(cause, round) AS first_cause, max_by(cause, round) AS last_cause FROM events WHERE topic = 'orders' AND partition = 0 AND scenario_id = 0 GROUP BY kind ORDER BY kind
SELECT concat(topic, ':', partition) AS p, concat('a', NULL) AS n, topic || '-' || partition AS d FROM partitions ORDER BY 1
SELECT concat_ws('/', topic, partition) AS p, upper(topic) AS u, length(topic) AS l FROM partitions ORDER BY 1, 2
SELECT 'it\'s' AS a, "double" AS b, 'tab\there' AS c, 'größer' AS d
SELECT 'a_b' LIKE 'a\\_b' AS a, 'axb' LIKE 'a\\_b' AS b, 'axb' LIKE 'a_b' AS c, NULL LIKE 'a' AS d
SELECT replicas, replicas[0] AS a, element_at(replicas, -1) AS b, try_element_at(replicas, 9) AS c, get(replicas, -1) AS d, size(replicas) AS n, array_contains(replicas, 1) AS h FROM partitions ORDER BY scenario_id, topic, partition
SELECT array_except(replicas, array(1)) AS a, array_intersect(replicas, array(1, 2)) AS b, array_position(replicas, 9) AS c FROM partitions ORDER BY scenario_id, topic, partition
SELECT array_sort(collect_set(kind)) AS k, size(collect_list(cause)) AS n FROM events
SELECT topic, array_sort(collect_list(partition) FILTER (WHERE acked_lost > 0)) AS lost FROM outcomes GROUP BY topic ORDER BY topic
SELECT scenario_id, overrides, to_json(overrides) AS j, overrides['no such'] AS n FROM scenarios ORDER BY 1
SELECT struct(1 AS a, array(struct(2 AS b)) AS c) AS s, named_struct('x', 1, 'y', 'z') AS n, map('k', 1) AS m
SELECT struct(topic, partition = 0, acked AS n) AS s FROM outcomes ORDER BY scenario_id, topic, partition
SELECT topic, r FROM partitions LATERAL VIEW explode(replicas) AS r ORDER BY scenario_id, topic, partition, r
SELECT explode(sequence(3, 1)) AS n
SELECT o.topic, i.* FROM outcomes o LATERAL VIEW stack(2, 'acked', acked, 'lost', acked_lost) i AS what, n ORDER BY o.scenario_id, o.topic, o.partition, what
WITH a AS (SELECT topic, acked FROM outcomes) SELECT topic, max(acked) AS m FROM a GROUP BY topic ORDER BY topic
SELECT topic FROM outcomes UNION SELECT kind FROM events ORDER BY 1
SELECT DISTINCT topic FROM outcomes WHERE topic IN (SELECT topic FROM events) ORDER BY topic
SELECT topic, partition FROM outcomes LEFT ANTI JOIN lost USING (scenario_id, topic, partition) ORDER BY 1, 2
SELECT topic FROM outcomes o WHERE EXISTS (SELECT 1 FROM events e WHERE e.topic = o.topic AND e.kind = 'acked_lost') ORDER BY 1
SELECT CASE WHEN acked > 1000 THEN 'much' ELSE 'little' END AS how, IF(acked_lost > 0, 1, 0) AS l FROM outcomes ORDER BY acked, 2
FROM outcomes SELECT topic, acked ORDER BY acked, topic
SELECT a.topic, b.topic, a.acked FROM outcomes a JOIN outcomes b USING (scenario_id, partition) ORDER BY 1, 2, 3
SELECT * EXCEPT (scenario_text, run_id) FROM runs
SELECT `topics.orders.config.unclean.leader.election.enable` FROM scenarios ORDER BY scenario_id
SELECT item, price FROM prices ORDER BY item, price LIMIT 3;
SELECT cause, topic, count_if(kind = 'isr_shrink') AS n FROM events GROUP BY ALL ORDER BY ALL
SELECT s.name, o.topic, o.acked FROM outcomes o JOIN scenarios s USING (scenario_id) ORDER BY ALL
SELECT str_to_map(t, ', ', ' = ') AS m FROM VALUES ('a = 1, b = 2 = 3'), ('a'), (''), ('a = '), (NULL) AS v(t)
