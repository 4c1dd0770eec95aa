-- Which case of a sweep is worst, and which are on the frontier?
--
-- The view sweep, a row for each case: those that lost most first, then those that were not writable for longest.
SELECT
  scenario,
  acked_lost,
  partitions_with_loss,
  unwritable_seconds,
  unavailable_seconds,
  under_min_isr_seconds,
  month_cost,
  on_frontier
FROM sweep
ORDER BY acked_lost DESC, unwritable_seconds DESC, unavailable_seconds DESC, scenario_id
