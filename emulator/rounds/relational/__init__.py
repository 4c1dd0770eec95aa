"""The Kafka round in Spark's own terms: tables, joins, aggregations and window functions, a verb of the protocol a function.

It is written from docs/kafka_rounds.md for readers; `kafka_round.VERBS` is the protocol in its order. Fetching is a join of
replicas with replicas (`fetching.request_fetch`), the high watermark a group_by (`leading.advance_high_watermark`), the lookup
of an epoch's end a window (`logs.epoch_ends`), a fault a row that is joined in (`inputs`).
"""
