"""The page of queries (docs/kafka_queries.md), made of the verbs' own source: `emulator explain-round kafka`."""
