-- How far does the loss of each broker, rack or link reach?
--
-- The blast radius in partitions, the worst first: unavailable ones have no in-sync replica left, unwritable ones fewer than
-- min.insync.replicas, lost_with_next would lose records with their next failure; leaderless ones need an election. A link is
-- one between a leader and its follower, which leaves the ISR when it is cut.
-- Kafka's: graphs leave ledgers out.
SELECT
  scenario_id, struck, broker, peer, rack, leaderless, unavailable, unwritable, under_replicated, lost_with_next
FROM blast_radius
ORDER BY scenario_id, unavailable DESC, unwritable DESC, lost_with_next DESC, under_replicated DESC, struck, broker, peer, rack
