-- What the controller held of a traced partition at the end of every round, and at the end of the round before (a
-- struct of the same columns; null in the first round).
SELECT
  *,
  lag(struct(leader, leader_epoch, isr, elr, last_known_elr)) OVER (
    PARTITION BY scenario_id, topic, partition ORDER BY round
  ) AS before
FROM trace_partitions
