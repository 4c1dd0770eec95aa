"""A Kafka round written literally: normalised tables, joins and groupings, a verb of the protocol a function.

It is written from docs/kafka_rounds.md for readers, not for speed, and shares no code with the engine; `tests/engine_state.py`
turns the engine's state into its tables and back.
"""
