"""Kafka's round (docs/kafka_rounds.md): one phase a file; `play_round` is the order of them."""
