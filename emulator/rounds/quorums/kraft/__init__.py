"""Rounds of `kraft`: followers fetch (docs/kraft_rounds.md)."""
