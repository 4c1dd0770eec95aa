"""The Kafka round in Spark's own terms: tables, joins, aggregations and window functions, a verb of the protocol a function.

It is written from docs/kafka_rounds.md for readers. Read `kafka_round.py` first, the verbs in their order, and `tables.py`, what
they make of what; then in `verbs`:

* fetching is a join of replicas with replicas (`fetching.request_fetch`),
* the high watermark a group_by (`leading.advance_high_watermark`),
* the lookup of an epoch's end a window (`logs.epoch_ends`),
* a fault a row that is joined in (`tables.begin_round`).

`queries` works tables out, `inputs` makes them of scenarios, `outputs` makes a run's tables of them, `page` prints it all as
docs/kafka_queries.md. `play.py` plays round after round; `run.py` and `check.py` are the two commands.
"""
