"""Kafka's replication round: the phases, each a function DataFrame -> DataFrame (docs/kafka_rounds.md)."""
