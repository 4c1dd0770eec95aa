-- Which rare branches of the protocol did a traced run reach, and how often?
--
-- One row for each branch, those that nothing reached first: what the run cannot have tested. partitions: how many
-- partitions of all scenarios reached it; first: where it was reached earliest, to be looked at with
-- `emulator explain`. Needs `--trace`: only traced partitions count, and without any there are no rows. The rules are
-- in docs/kafka_rounds.md. Kafka's: ledgers have no such trace.
WITH branches AS (
  SELECT branch
  FROM VALUES
    -- logs and leader epochs
    ('diverging_epoch_answered'), ('log_above_leaders_end_cut'), ('log_cut_to_0'), ('log_cut_to_log_start'),
    ('log_cut_below_log_start'), ('epoch_cut_without_record'), ('epoch_without_record'),
    ('epoch_ended_without_record'), ('segment_rolled'), ('records_deleted'), ('follower_log_start_raised'),
    ('follower_reset_below_log_start'), ('log_damaged_by_power_loss'), ('log_emptied_by_disk_loss'),
    -- high watermarks
    ('follower_hw_fell_with_its_log'), ('follower_hw_fell_to_its_leaders'), ('hw_fell_at_restart'),
    ('hw_of_new_leader_below_old'), ('hw_held_under_min_isr'),
    -- the ISR
    ('isr_joined'), ('isr_joined_below_leaders_leo'), ('isr_shrunk_by_fencing'), ('isr_shrunk_by_lag'),
    ('isr_joined_and_shrunk_at_once'), ('last_isr_member_fenced_and_kept'), ('refused_for_min_isr'),
    -- elections
    ('leader_lost'), ('unclean_election'), ('preferred_election'), ('reassignment_kept_leader'),
    ('reassignment_moved_leader'), ('leader_elected_unable_to_hear'), ('late_leader_heard'),
    -- eligible leader replicas
    ('isr_empty'), ('elr_emptied_by_isr'), ('elr_left_after_unclean_restart'), ('elected_from_elr'),
    ('last_known_leader_elected'), ('recovered_in_several_rounds'), ('recovered_by_others_than_last_known'),
    -- zombies and late news
    ('zombie_appended'), ('isolated_leader_appended'), ('zombie_stepped_down'), ('superseded_leader_served'),
    ('late_news_heard'), ('late_leader_heard_late_news'), ('led_an_epoch_that_is_over'),
    -- losses and outages
    ('acked_lost'), ('committed_lost'), ('acked_lost_never_committed'), ('invariant_violated'),
    ('restarted_within_session'), ('broker_down_while_controller_lost'), ('leader_down_while_controller_lost')
    AS of_rounds (branch)
),
-- What is seen of one replica between the ends of two rounds.
of_replicas AS (
  SELECT
    scenario_id,
    topic,
    partition,
    round,
    map(
      'epoch_cut_without_record',
      role = 'follower' AND leo = before.leo AND coalesce(last_epoch.epoch, -1) < before.last_epoch.epoch,
      'epoch_without_record', role = 'leader' AND last_epoch.start_offset = leo,
      'epoch_ended_without_record',
      before.last_epoch.start_offset = before.leo AND last_epoch.start_offset = before.leo
        AND last_epoch.epoch > before.last_epoch.epoch,
      'follower_log_start_raised',
      role = 'follower' AND log_start_offset > before.log_start_offset AND log_start_offset <= before.leo,
      'follower_reset_below_log_start', role = 'follower' AND log_start_offset > before.leo,
      'follower_hw_fell_with_its_log',
      role = 'follower' AND before.role = 'follower' AND hw < before.hw AND leo < before.leo,
      'follower_hw_fell_to_its_leaders',
      role = 'follower' AND before.role = 'follower' AND hw < before.hw AND leo >= before.leo,
      -- Who restarts without another leader to fetch from has no other reason.
      'hw_fell_at_restart',
      role != 'offline' AND before.role = 'offline' AND hw < before.hw AND controller.leader IN (-1, broker),
      'leader_elected_unable_to_hear',
      controller.leader = broker AND controller.leader_epoch > controller.before.leader_epoch
        AND leader_epoch < controller.leader_epoch,
      'late_leader_heard',
      role = 'leader' AND leader_epoch = controller.leader_epoch AND leader_epoch > before.leader_epoch
        AND controller.before.leader = broker AND controller.before.leader_epoch = controller.leader_epoch,
      -- Somebody joined without an election, and who is still outside of the ISR is eligible no more.
      'elr_emptied_by_isr',
      array_contains(controller.before.elr, broker) AND NOT in_isr AND size(controller.elr) = 0
        AND NOT (before.role = 'offline' AND role != 'offline')
        AND size(controller.isr) > size(controller.before.isr)
        AND controller.leader_epoch = controller.before.leader_epoch,
      -- It restarted, and neither a new ISR nor an election emptied the ELR.
      'elr_left_after_unclean_restart',
      array_contains(controller.before.elr, broker) AND NOT in_isr AND NOT array_contains(controller.elr, broker)
        AND before.role = 'offline' AND role != 'offline'
        AND size(array_except(controller.isr, controller.before.isr)) = 0,
      -- It led at the end of the round before, and what it appended in this one the controller's leader does not know.
      'zombie_appended', before.role = 'leader' AND leo > before.leo AND controller.leader != broker,
      'zombie_stepped_down',
      role = 'follower' AND before.role = 'leader' AND before.leader_epoch < controller.before.leader_epoch,
      'superseded_leader_served',
      role = 'follower' AND before.role = 'follower' AND leo > before.leo AND log_start_offset <= before.leo
        AND before.leader_epoch < controller.leader_epoch AND controller.leader NOT IN (-1, broker),
      'led_an_epoch_that_is_over',
      role = 'leader' AND leader_epoch > before.leader_epoch AND leader_epoch < controller.leader_epoch
    ) AS reached
  FROM replica_rounds
  WHERE before IS NOT NULL
),
of_controllers AS (
  SELECT
    scenario_id,
    topic,
    partition,
    round,
    map(
      'isr_empty', size(controller.isr) = 0,
      'hw_of_new_leader_below_old',
      leader.hw < highest_hw AND controller.leader_epoch > controller.before.leader_epoch
    ) AS reached
  FROM leader_rounds
),
-- Events with what else happened in their round to the same broker and to the same partition.
happened AS (
  SELECT
    e.*,
    collect_set(kind) OVER (PARTITION BY scenario_id, topic, partition, round, broker) AS kinds_of_broker,
    collect_set(kind) OVER (PARTITION BY scenario_id, topic, partition, round) AS kinds_of_partition
  FROM events e
),
of_events AS (
  SELECT
    e.scenario_id,
    e.topic,
    e.partition,
    e.round,
    map(
      'log_cut_to_0', e.kind = 'truncate' AND e.to_offset = 0,
      'log_cut_to_log_start', e.kind = 'truncate' AND e.to_offset = r.before.log_start_offset,
      'log_cut_below_log_start', e.kind = 'truncate' AND e.to_offset < r.before.log_start_offset,
      'segment_rolled', e.kind = 'segment_roll',
      'records_deleted', e.kind = 'records_deleted',
      'isr_joined', e.kind = 'isr_expand',
      'isr_joined_below_leaders_leo', e.kind = 'isr_expand' AND r.remote_leo < l.leader.leo,
      'isr_shrunk_by_fencing', e.kind = 'isr_shrink' AND array_contains(e.kinds_of_broker, 'fenced'),
      -- The events tell of the fencing of those that were replicas from the start on.
      'isr_shrunk_by_lag',
      e.kind = 'isr_shrink' AND NOT array_contains(e.kinds_of_broker, 'fenced') AND f.broker IS NOT NULL,
      'isr_joined_and_shrunk_at_once',
      e.kind = 'isr_shrink' AND NOT array_contains(e.kinds_of_broker, 'fenced')
        AND array_contains(e.kinds_of_broker, 'isr_expand') AND f.broker IS NOT NULL,
      'last_isr_member_fenced_and_kept',
      e.kind = 'fenced' AND NOT array_contains(e.kinds_of_broker, 'isr_shrink')
        AND l.controller.isr = array(e.broker) AND array_contains(l.controller.before.isr, e.broker),
      'refused_for_min_isr', e.kind = 'refused',
      -- What is refused tells that the ISR is too small; all that the watermark waits for have more.
      'hw_held_under_min_isr',
      e.kind = 'refused' AND l.leader.broker = e.broker AND l.leader.leo > l.leader.before.leo
        AND l.leader.hw = l.leader.before.hw AND l.least_remote_leo > l.leader.hw,
      'leader_lost', e.kind = 'leader_lost',
      'unclean_election', e.kind = 'unclean_election',
      -- Nothing happened to the leader before.
      'preferred_election',
      e.kind = 'election' AND e.cause IS NULL AND l.controller.before.leader NOT IN (-1, e.broker)
        AND NOT array_contains(e.kinds_of_partition, 'reassignment_completed'),
      'reassignment_kept_leader', e.kind = 'reassignment_completed' AND l.controller.before.leader = e.broker,
      'reassignment_moved_leader',
      e.kind = 'reassignment_completed' AND l.controller.before.leader >= 0
        AND NOT array_contains(l.replicas, l.controller.before.leader)
        AND e.leader_epoch = l.controller.before.leader_epoch + 1,
      'elected_from_elr',
      e.kind = 'election' AND array_contains(l.controller.before.elr, e.broker)
        AND NOT array_contains(l.controller.before.isr, e.broker)
        AND NOT array_contains(e.kinds_of_broker, 'unclean_election'),
      -- Without a recovery strategy it leads in the round in which it is back; with one it is asked first.
      'last_known_leader_elected',
      e.kind = 'unclean_election' AND l.controller.before.last_known_elr = array(e.broker)
        AND size(l.controller.before.isr) = 0 AND size(array_except(l.controller.before.elr, array(e.broker))) = 0
        AND array_contains(e.kinds_of_broker, 'unfenced'),
      -- Only with a recovery strategy there are last known ones that did not lead last, and who is asked first does
      -- not lead in the round in which it is back. An aggressive one asks everybody, and whether ELR is empty or not.
      'recovered_in_several_rounds',
      e.kind = 'unclean_election' AND NOT array_contains(e.kinds_of_broker, 'unfenced')
        AND l.controller.before.leader = -1
        AND size(array_except(l.controller.before.last_known_elr, array(l.last_leader))) > 0,
      'recovered_by_others_than_last_known',
      e.kind = 'unclean_election' AND NOT array_contains(e.kinds_of_broker, 'unfenced')
        AND l.controller.before.leader = -1
        AND size(array_except(l.controller.before.last_known_elr, array(l.last_leader))) > 0
        AND (size(l.controller.before.elr) > 0
          OR NOT array_contains(l.controller.before.last_known_elr, e.broker)),
      'acked_lost', e.kind = 'acked_lost',
      'committed_lost', e.kind = 'committed_lost',
      'restarted_within_session',
      e.kind = 'fenced' AND array_contains(e.kinds_of_broker, 'unfenced') AND r.broker IS NOT NULL
    ) AS reached
  FROM happened e
  JOIN leader_rounds l
    ON l.scenario_id = e.scenario_id AND l.topic = e.topic AND l.partition = e.partition AND l.round = e.round
  LEFT JOIN replica_rounds r
    ON r.scenario_id = e.scenario_id AND r.topic = e.topic AND r.partition = e.partition AND r.round = e.round
      AND r.broker = e.broker
  LEFT JOIN trace f
    ON f.scenario_id = e.scenario_id AND f.topic = e.topic AND f.partition = e.partition AND f.round = 0
      AND f.broker = e.broker
),
-- A follower's last epoch against the last one of who led the epoch that it fetched in. (The older protocols ask.)
of_cuts AS (
  SELECT
    e.scenario_id,
    e.topic,
    e.partition,
    e.round,
    map(
      'diverging_epoch_answered', r.before.last_epoch.epoch <= l.last_epoch.epoch,
      'log_above_leaders_end_cut', coalesce(r.before.last_epoch.epoch > l.last_epoch.epoch, r.before IS NOT NULL)
    ) AS reached
  FROM events e
  JOIN scenarios s ON s.scenario_id = e.scenario_id AND s.protocol = 'kafka'
  JOIN replica_rounds r
    ON r.scenario_id = e.scenario_id AND r.topic = e.topic AND r.partition = e.partition AND r.round = e.round
      AND r.broker = e.broker
  JOIN replica_rounds l
    ON l.scenario_id = e.scenario_id AND l.topic = e.topic AND l.partition = e.partition AND l.round = e.round
      AND ((l.before.role = 'leader' AND l.before.leader_epoch = e.leader_epoch)
        OR (l.role = 'leader' AND l.leader_epoch = e.leader_epoch))
  WHERE e.kind = 'truncate'
),
-- Acknowledged records of a range that no range of lost committed ones reaches the end of.
of_losses AS (
  SELECT
    a.scenario_id, a.topic, a.partition, a.round, map('acked_lost_never_committed', true) AS reached
  FROM events a
  LEFT ANTI JOIN events c
    ON c.scenario_id = a.scenario_id AND c.topic = a.topic AND c.partition = a.partition AND c.round = a.round
      AND c.kind = 'committed_lost' AND c.leader_epoch = a.leader_epoch
      AND c.from_offset < a.to_offset AND c.to_offset >= a.to_offset
  WHERE a.kind = 'acked_lost'
),
of_violations AS (
  SELECT scenario_id, topic, partition, round, map('invariant_violated', true) AS reached FROM violations
  WHERE kind != 'suspect'
),
of_faults AS (
  SELECT
    r.scenario_id,
    r.topic,
    r.partition,
    r.round,
    map(
      'log_damaged_by_power_loss', f.kind = 'power_loss' AND r.round = f.from_round AND r.leo > 0 AND r.leo < r.before.leo,
      'log_emptied_by_disk_loss',
      f.kind = 'disk_loss' AND r.round = f.from_round AND r.leo = 0 AND r.before.leo > 0,
      'isolated_leader_appended',
      f.kind IN ('isolation', 'rack_isolation') AND r.before.role = 'leader' AND r.leo > r.before.leo,
      'broker_down_while_controller_lost', f.kind = 'controller_loss' AND r.role = 'offline',
      'leader_down_while_controller_lost',
      f.kind = 'controller_loss' AND r.role = 'offline' AND r.controller.leader = r.broker,
      'late_news_heard',
      f.kind = 'stale_metadata' AND f.lag_rounds IS NOT NULL AND r.leader_epoch > r.before.leader_epoch
        AND r.before.role != 'offline',
      'late_leader_heard_late_news',
      f.kind = 'stale_metadata' AND f.lag_rounds IS NOT NULL AND r.leader_epoch > r.before.leader_epoch
        AND r.role = 'leader' AND r.leader_epoch = r.controller.leader_epoch
        AND r.controller.before.leader = r.broker
        AND r.controller.before.leader_epoch = r.controller.leader_epoch
    ) AS reached
  FROM fault_rounds f
  JOIN replica_rounds r
    ON r.scenario_id = f.scenario_id AND r.broker = f.broker AND r.round = f.round
      AND (f.topic IS NULL OR r.topic LIKE translate(f.topic, '*?', '%_'))
      AND r.partition = coalesce(f.partition, r.partition)
),
seen AS (
  SELECT scenario_id, topic, partition, round, explode(map_keys(map_filter(reached, (branch, is_so) -> is_so))) AS branch
  FROM (
    SELECT * FROM of_replicas
    UNION ALL SELECT * FROM of_controllers
    UNION ALL SELECT * FROM of_events
    UNION ALL SELECT * FROM of_cuts
    UNION ALL SELECT * FROM of_losses
    UNION ALL SELECT * FROM of_violations
    UNION ALL SELECT * FROM of_faults
  )
),
counts AS (
  SELECT
    branch,
    count(DISTINCT scenario_id, topic, partition) AS partitions,
    min(struct(round, scenario_id, topic, partition)) AS first
  FROM seen
  LEFT SEMI JOIN trace_partitions USING (scenario_id, topic, partition)
  GROUP BY branch
)
SELECT
  b.branch,
  coalesce(c.partitions, 0) AS partitions,
  concat(s.name, '/', c.first.topic, ':', c.first.partition, ' round ', c.first.round) AS first
FROM branches b
FULL OUTER JOIN counts c ON c.branch = b.branch
LEFT JOIN scenarios s ON s.scenario_id = c.first.scenario_id
WHERE EXISTS (SELECT 1 FROM trace_partitions)
ORDER BY partitions, branch
