"""Consumers in plain Python, written from `docs/consumer_rounds.md`: readers on top of the tiered reference."""
