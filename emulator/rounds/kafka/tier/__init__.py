"""Tiered storage (KIP-405 and after) on Kafka's rounds: an optional part; docs/tiered_rounds.md."""
