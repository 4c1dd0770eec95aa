"""Tiered storage in plain Python, written from `docs/tiered_rounds.md`: the Kafka reference with a second tier under it."""
