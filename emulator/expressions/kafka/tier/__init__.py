"""Tiered storage in SQL text: docs/tiered_rounds.md. Ends of remote segments are inclusive, everywhere else exclusive."""
