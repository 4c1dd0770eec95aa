-- Who suffers while a broker's network or disk is full: producers, consumers, followers, or copies to remote storage?
--
-- A row for each broker that held somebody back, or was held back, the longest first. By party in how many seconds it got less
-- than it asked for (producers, consumers and copies of the broker itself; followers on it, whichever broker was full), and
-- the bytes that it got in the time buckets of these (produced, consumed, fetched, uploaded). waiting_bytes: the most that
-- producers had waiting for the broker at the end of a bucket; expired_bytes: what they gave up after two minutes
-- (delivery.timeout.ms). in_full_seconds, out_full_seconds, disk_full_seconds, throttled_seconds: what it was that was full;
-- where none was, on the broker itself or on one that its followers fetch from (which then has a row, too), producers and
-- consumers have quotas (producer_byte_rate, consumer_byte_rate), or followers fetchers that are too slow (num.replica.fetchers;
-- runs.shared_fetchers).
-- Kafka's: bookies have no budgets, what slow_disk and slow_link let through is of each ledger by itself.
WITH held AS (
  SELECT
    b.*,
    s.name AS scenario,
    s.round_ms / 1000 AS round_seconds,
    greatest(producers_held_rounds, consumers_held_rounds, followers_held_rounds, uploads_held_rounds) AS held_rounds
  FROM broker_rounds b
  JOIN scenarios s ON s.scenario_id = b.scenario_id
)
SELECT
  scenario,
  broker,
  concat(min(from_round), '-', max(to_round) - 1) AS rounds,
  round(sum(producers_held_rounds * round_seconds), 1) AS producers_held_seconds,
  round(sum(consumers_held_rounds * round_seconds), 1) AS consumers_held_seconds,
  round(sum(followers_held_rounds * round_seconds), 1) AS followers_held_seconds,
  round(sum(uploads_held_rounds * round_seconds), 1) AS uploads_held_seconds,
  sum(bytes_produced) AS produced_bytes,
  sum(bytes_consumed) AS consumed_bytes,
  sum(bytes_in) AS fetched_bytes,
  sum(bytes_uploaded) AS uploaded_bytes,
  max(bytes_waiting) AS waiting_bytes,
  sum(bytes_expired) AS expired_bytes,
  round(sum(network_in_saturated_rounds * round_seconds), 1) AS in_full_seconds,
  round(sum(network_out_saturated_rounds * round_seconds), 1) AS out_full_seconds,
  round(sum(disk_saturated_rounds * round_seconds), 1) AS disk_full_seconds,
  round(sum(throttled_rounds * round_seconds), 1) AS throttled_seconds
FROM held
WHERE
  held_rounds > 0
  OR bytes_waiting > 0
  OR bytes_expired > 0
  OR network_in_saturated_rounds + network_out_saturated_rounds + disk_saturated_rounds + throttled_rounds > 0
GROUP BY scenario_id, scenario, broker
ORDER BY scenario_id, sum(held_rounds) DESC, broker
