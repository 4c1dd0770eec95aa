-- Who believed in a leader that was superseded?
--
-- Chains of belief of traced partitions, by rounds: the first of a chain believes that the second leads, in the first of the
-- epochs, but the controller has leader by then. A chain of two is a follower of a zombie, whose fetches let it acknowledge
-- nothing with acks=all unless the ISR it knows is there; one of three follows a broker that follows another already. Kafka's: ledgers
-- have no leaders.
SELECT scenario_id, topic, partition, from_round, to_round, to_round - from_round AS rounds, chain, epochs, leader
FROM belief_chains
ORDER BY scenario_id, topic, partition, from_round, chain
