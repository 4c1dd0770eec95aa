-- Which brokers must not fail together?
--
-- Copysets of a graph (emulator graph), the hundred of each scenario and kind whose failure hits most partitions: loses says
-- whether their joint failure takes all replicas (data) or leaves fewer than min.insync.replicas (writes). racks 1 means that
-- one rack's failure does it. of is how many copysets of the kind there are; the fewer, the rarer k failures at random hold one.
-- Kafka's: graphs leave ledgers out.
SELECT scenario_id, loses, brokers, racks, partitions, of
FROM (
  SELECT
    *,
    count(*) OVER (PARTITION BY scenario_id, loses) AS of,
    row_number() OVER (PARTITION BY scenario_id, loses ORDER BY partitions DESC, racks, brokers) AS nth
  FROM copysets
)
WHERE nth <= 100
ORDER BY scenario_id, loses, nth
