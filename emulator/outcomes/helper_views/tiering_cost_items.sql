-- What a scenario costs, item by item, at the price table's prices: quantity (in the price's unit) times price is cost,
-- for the hours of the run; cost_per_month scales it to a month. Items of brokers have a broker, items of partitions a
-- topic and partition, instances neither: brokers_needed of tiering_fleets for the whole run. Disks are paid for at their
-- peak and with the room that is to stay free, whether used or not.
WITH times AS (
  SELECT scenario_id, name AS scenario, rounds, rounds * CAST(round_ms AS DOUBLE) / 3600000 AS hours FROM scenarios
),
amounts AS (
  SELECT
    f.scenario_id,
    CAST(NULL AS STRING) AS topic,
    CAST(NULL AS INT) AS partition,
    CAST(NULL AS INT) AS broker,
    'broker instances' AS item,
    'instance' AS kind,
    CAST(f.brokers_needed * f.hours AS DOUBLE) AS amount
  FROM tiering_fleets f
  UNION ALL
  SELECT b.scenario_id, NULL, NULL, b.broker, i.*
  FROM tiering_brokers b
  JOIN times t ON t.scenario_id = b.scenario_id
  CROSS JOIN sizing z
  LATERAL VIEW stack(
    2,
    'local volumes', 'volume', CAST(b.local_bytes_peak / z.disk_used_share * t.hours AS DOUBLE),
    'cross-rack replication', 'cross_rack', CAST(b.cross_rack_bytes_out AS DOUBLE)
  ) i AS item, kind, amount
  UNION ALL
  SELECT p.scenario_id, p.topic, p.partition, NULL, i.*
  FROM tiering_partitions p
  JOIN times t ON t.scenario_id = p.scenario_id
  LATERAL VIEW stack(
    6,
    'remote storage', 'object_storage', CAST(p.remote_byte_rounds * (t.hours / t.rounds) AS DOUBLE),
    'PUT requests', 'put', CAST(p.put_requests AS DOUBLE),
    'GET requests', 'get', CAST(p.get_requests AS DOUBLE),
    'LIST requests', 'list', CAST(p.list_requests AS DOUBLE),
    'DELETE requests', 'delete', CAST(p.delete_requests AS DOUBLE),
    'cross-rack reads', 'cross_rack', CAST(p.cross_rack_read_bytes AS DOUBLE)
  ) i AS item, kind, amount
)
SELECT
  a.scenario_id,
  t.scenario,
  a.item,
  a.topic,
  a.partition,
  a.broker,
  a.amount / p.unit_size AS quantity,
  p.unit,
  p.item AS priced_as,
  p.price,
  a.amount / p.unit_size * p.price AS cost,
  a.amount / p.unit_size * p.price * z.month_hours / t.hours AS cost_per_month,
  p.currency
FROM amounts a
JOIN prices p ON p.used AND p.kind = a.kind
JOIN times t ON t.scenario_id = a.scenario_id
CROSS JOIN sizing z
WHERE a.amount > 0
