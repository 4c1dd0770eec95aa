-- Traced partitions at the end of every round: the replica that the controller has as leader (a struct; null without
-- one), all brokers that have a replica (replicas), the least that the leader knows of a replica that its high
-- watermark may wait for (least_remote_leo), and of all rounds before the last leader and the highest high watermark
-- that a leader had.
SELECT
  *,
  last_value(leader.broker) IGNORE NULLS OVER earlier AS last_leader,
  max(leader.hw) OVER earlier AS highest_hw
FROM (
  SELECT
    scenario_id,
    topic,
    partition,
    round,
    any_value(controller) AS controller,
    any_value(struct(broker, leader_epoch, leo, hw, before)) FILTER (WHERE broker = controller.leader) AS leader,
    collect_set(broker) AS replicas,
    min(IF(broker = controller.leader, leo, coalesce(remote_leo, 0)))
      FILTER (WHERE in_isr OR role != 'offline') AS least_remote_leo
  FROM replica_rounds
  GROUP BY scenario_id, topic, partition, round
)
WINDOW earlier AS (
  PARTITION BY scenario_id, topic, partition ORDER BY round ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
)
