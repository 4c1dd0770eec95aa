-- Do high watermarks follow from members' log ends, and the ends of epochs from the leader's epoch cache?
--
-- Of runs with --state-at: a row for each replica at the end of each of its rounds; what differs comes first, and nothing
-- should. hw_by_members is the least log end that the leader elected last knows of the maximal ISR, its own included (0 for one
-- that it has not heard), hw_of_run the high watermark that it has. They are not compared (hw_verdict says why) where the rule
-- has it otherwise: a leader that was not ready in the round advances nothing; nor does one whose ISR is smaller than
-- min.insync.replicas (KIP-966); and since a high watermark never falls, it may be above a member that lost records or was not
-- heard yet. end_by_cache is where the leader's cache ends the replica's last epoch, or the largest one below it, by a window
-- over its entries (OffsetsForLeaderEpoch), end_of_run what the run's leader answers; no answer: its cache has nothing to say. Kafka's.
WITH members AS (
  SELECT
    scenario_id,
    round,
    topic,
    partition,
    min(IF(broker = last_leader, leo, coalesce(remote_leo, 0))) FILTER (WHERE in_maximal_isr) AS hw_by_members,
    max(hw) FILTER (WHERE broker = last_leader) AS hw_of_run,
    count_if(in_isr) < any_value(min_isr) AS is_below_min_isr
  FROM replica_states
  GROUP BY scenario_id, round, topic, partition
),
entries AS (
  SELECT
    scenario_id,
    round,
    topic,
    partition,
    entry.epoch,
    entry.start_offset,
    row_number() OVER cache AS number,
    lead(entry.epoch) OVER cache AS next_epoch,
    coalesce(lead(entry.start_offset) OVER cache, leo) AS end_offset
  FROM (SELECT *, explode(epochs) AS entry FROM replica_states WHERE broker = last_leader)
  WINDOW cache AS (PARTITION BY scenario_id, round, topic, partition ORDER BY entry.epoch)
),
replicas_there AS (
  SELECT *, get(epochs, size(epochs) - 1).epoch AS last_epoch FROM replica_states
),
found AS (
  SELECT
    r.scenario_id,
    r.round,
    r.topic,
    r.partition,
    r.last_leader AS leader,
    m.hw_by_members,
    m.hw_of_run,
    CASE
      WHEN m.hw_of_run IS NULL OR m.hw_by_members IS NULL THEN 'leader not ready'
      WHEN m.hw_by_members = m.hw_of_run THEN 'equal'
      WHEN m.is_below_min_isr THEN 'below min.insync.replicas'
      WHEN m.hw_by_members < m.hw_of_run THEN 'never falls'
      ELSE 'differs'
    END AS hw_verdict,
    r.broker,
    r.last_epoch,
    -- Below the first entry the answer is the epoch asked about, and where the first one starts.
    IF(e.epoch > r.last_epoch, r.last_epoch, e.epoch) AS epoch_by_cache,
    IF(e.epoch > r.last_epoch, e.start_offset, e.end_offset) AS end_by_cache,
    r.leader_end_epoch AS epoch_of_run,
    r.leader_end_offset AS end_of_run
  FROM replicas_there r
  JOIN members m
    ON m.scenario_id = r.scenario_id AND m.round = r.round AND m.topic = r.topic AND m.partition = r.partition
  LEFT JOIN entries e
    ON e.scenario_id = r.scenario_id AND e.round = r.round AND e.topic = r.topic AND e.partition = r.partition
    AND (
      e.epoch = r.last_epoch
      OR (e.epoch < r.last_epoch AND e.next_epoch > r.last_epoch)
      OR (e.epoch > r.last_epoch AND e.number = 1)
    )
)
SELECT
  s.name AS scenario,
  f.* EXCEPT (scenario_id),
  CASE
    WHEN f.hw_of_run IS NULL THEN 'leader not a replica'
    WHEN f.epoch_by_cache IS NULL AND f.epoch_of_run IS NULL THEN 'no answer'
    WHEN f.epoch_by_cache <=> f.epoch_of_run AND f.end_by_cache <=> f.end_of_run THEN 'equal'
    ELSE 'differs'
  END AS end_verdict
FROM found f
JOIN scenarios s ON s.scenario_id = f.scenario_id
ORDER BY f.hw_verdict != 'differs' AND end_verdict != 'differs', f.scenario_id, f.round, f.topic, f.partition, f.broker
