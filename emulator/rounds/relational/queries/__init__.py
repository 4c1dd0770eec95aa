"""Tables as queries, and what works them out: Spark or DuckDB. Nothing in here knows of Kafka."""
