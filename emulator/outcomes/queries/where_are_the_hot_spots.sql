-- Where are the hot spots: which brokers do the others fetch most from?
--
-- bytes_out is what a broker served to other brokers in the run, per_cent its share of all, times_mean how often it has the mean of
-- brokers; without a run these are empty, and leads and followers (how many brokers follow it in some partition) tell. Kafka's: bookies
-- are fetched from by clients only.
SELECT
  scenario_id,
  broker,
  rack,
  replicas,
  leads,
  followers,
  bytes_out,
  bytes_in,
  round(100 * bytes_out / sum(bytes_out) OVER w, 2) AS per_cent,
  round(bytes_out / avg(bytes_out) OVER w, 2) AS times_mean
FROM hot_spots
WINDOW w AS (PARTITION BY scenario_id)
ORDER BY scenario_id, bytes_out DESC, leads DESC, followers DESC, broker
