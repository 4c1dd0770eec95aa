-- A row for each case of a run's sweeps, or for each scenario of a run without any: what was varied, and what it came to,
-- summed over partitions. on_frontier: no other case with the same fault and seed is as good in acked_lost,
-- unwritable_seconds and month_cost, and better in one of them. What is refused costs nothing there. setting: settings by
-- what is set ("acks", "orders: min.insync.replicas"), null where no setting is swept.
WITH chosen AS (
  SELECT
    scenario_id,
    name AS scenario,
    round_ms,
    coalesce(translate(overrides['sweep.variant'], '"', ''), 'base') AS variant,
    coalesce(translate(overrides['sweep.fault'], '"', ''), '') AS fault,
    coalesce(translate(overrides['sweep.settings'], '"', ''), '') AS settings,
    coalesce(overrides['sweep.seed'], '') AS seed,
    overrides['sweep.variant'] IS NOT NULL AS is_case
  FROM scenarios
),
kinds AS (SELECT count_if(is_case) AS cases FROM chosen),
costs AS (SELECT scenario_id, sum(cost_per_month) AS month_cost FROM tiering_cost_items GROUP BY scenario_id),
sums AS (
  SELECT
    scenario_id,
    sum(acked) AS acked,
    sum(acked_lost) AS acked_lost,
    count_if(acked_lost > 0) AS partitions_with_loss,
    sum(refused) AS refused,
    sum(unwritable_rounds) AS unwritable_rounds,
    sum(leaderless_rounds) AS leaderless_rounds,
    sum(under_min_isr_rounds) AS under_min_isr_rounds,
    sum(replicated_bytes) AS replicated_bytes,
    sum(remote_copy_bytes) AS remote_copy_bytes,
    sum(unacknowledged_lost) AS unacknowledged_lost
  FROM outcomes
  GROUP BY scenario_id
),
cases AS (
  SELECT
    c.scenario_id,
    c.scenario,
    c.variant,
    c.fault,
    c.settings,
    c.seed,
    s.acked,
    s.acked_lost,
    s.partitions_with_loss,
    s.refused,
    round(s.unwritable_rounds * c.round_ms / 1000, 1) AS unwritable_seconds,
    round(s.leaderless_rounds * c.round_ms / 1000, 1) AS unavailable_seconds,
    round(s.under_min_isr_rounds * c.round_ms / 1000, 1) AS under_min_isr_seconds,
    round(coalesce(m.month_cost, 0), 2) AS month_cost,
    s.replicated_bytes,
    s.remote_copy_bytes,
    s.unacknowledged_lost
  FROM chosen c
  JOIN sums s ON s.scenario_id = c.scenario_id
  CROSS JOIN kinds k
  LEFT JOIN costs m ON m.scenario_id = c.scenario_id
  WHERE c.is_case OR k.cases = 0
),
-- With all that a case is held against beside it: a join of cases with themselves is more than Spark's optimizer can plan.
compared AS (
  SELECT
    cases.*,
    collect_list(struct(acked_lost, unwritable_seconds, month_cost)) OVER (PARTITION BY fault, seed) AS others
  FROM cases
),
rated AS (
  SELECT
    c.scenario_id,
    c.scenario,
    c.variant,
    c.fault,
    c.settings,
    c.seed,
    c.acked,
    c.acked_lost,
    c.partitions_with_loss,
    c.refused,
    c.unwritable_seconds,
    c.unavailable_seconds,
    c.under_min_isr_seconds,
    c.month_cost,
    c.replicated_bytes,
    c.remote_copy_bytes,
    max(
      CASE
        WHEN o.acked_lost <= c.acked_lost AND o.unwritable_seconds <= c.unwritable_seconds AND o.month_cost <= c.month_cost
          AND (o.acked_lost < c.acked_lost OR o.unwritable_seconds < c.unwritable_seconds OR o.month_cost < c.month_cost)
        THEN 1
        ELSE 0
      END
    ) = 0 AS on_frontier,
    c.unacknowledged_lost
  FROM compared c
  LATERAL VIEW explode(c.others) r AS o
  GROUP BY ALL
)
SELECT
  *,
  CASE WHEN settings != '' THEN str_to_map(settings, ', ', ' = ') END AS setting
FROM rated
