-- Which case of a sweep is worst, and which are on the frontier?
--
-- The view sweep, a row for each case: those that lost most first, then those that were not writable for longest.
-- unacknowledged_lost: records sent with acks=0, of which nobody was told that they are safe; on_frontier leaves them out.
SELECT
  scenario,
  acked_lost,
  partitions_with_loss,
  unwritable_seconds,
  unavailable_seconds,
  under_min_isr_seconds,
  month_cost,
  on_frontier,
  unacknowledged_lost
FROM sweep
ORDER BY acked_lost DESC, unwritable_seconds DESC, unavailable_seconds DESC, scenario_id
