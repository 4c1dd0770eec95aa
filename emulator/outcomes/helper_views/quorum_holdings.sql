-- What each broker has of a partition at the end, and each bookie of a ledger: records on its own disk, and their bytes.
SELECT scenario_id, topic, partition, broker, leo - local_log_start_offset AS records, local_bytes AS bytes
FROM replicas
UNION ALL
SELECT scenario_id, topic, partition, broker, entries AS records, bytes
FROM bookies
