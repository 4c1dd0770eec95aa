-- Traced replicas at the end of every round, with the last entry of their leader-epoch cache (last_epoch), with what
-- they were at the end of the round before (a struct of the same columns; null in a replica's first round), and with
-- what the controller held (a struct of the columns of controller_rounds).
SELECT
  s.* EXCEPT (row_before),
  -- A replica that a reassignment dropped may come back later.
  IF(s.row_before.round = s.round - 1, s.row_before, NULL) AS before,
  struct(c.leader, c.leader_epoch, c.isr, c.elr, c.last_known_elr, c.before) AS controller
FROM (
  SELECT
    *,
    get(epochs, size(epochs) - 1) AS last_epoch,
    lag(struct(round, role, leader_epoch, log_start_offset, leo, hw, get(epochs, size(epochs) - 1) AS last_epoch)) OVER (
      PARTITION BY scenario_id, topic, partition, broker ORDER BY round
    ) AS row_before
  FROM trace
) s
JOIN controller_rounds c
  ON c.scenario_id = s.scenario_id AND c.topic = s.topic AND c.partition = s.partition AND c.round = s.round
