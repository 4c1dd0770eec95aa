-- How likely is it that k brokers that fail at once, or a rack, take data with them or stop writes?
--
-- One row for each number of failures: any so many brokers, each choice as likely, or (struck racks) any one rack. percent is
-- the chance in per cent that all replicas of some partition (loses data), or more than its min.insync.replicas lets it spare
-- (loses writes), are among them; low and high bound it at 95 % confidence where it was drawn, and equal it where it is exact.
-- Kafka's: graphs leave ledgers out.
SELECT
  scenario_id,
  loses,
  struck,
  failures,
  copysets,
  round(100 * probability, 4) AS percent,
  round(100 * low, 4) AS low,
  round(100 * high, 4) AS high
FROM copyset_chances
ORDER BY scenario_id, loses, struck, failures
