-- Which brokers share most partitions with each other?
--
-- Communities of a graph, largest first: brokers joined by pairs that share more partitions than two standard deviations above an
-- even spread. partitions is how many have all replicas within. A cluster placed at random is communities of one broker each, or
-- few of more; the copysets of a community fall together when it does, as with racks 1.
-- Kafka's: graphs leave ledgers out.
SELECT scenario_id, community, size(brokers) AS members, brokers, racks, partitions
FROM communities
ORDER BY scenario_id, members DESC, community
