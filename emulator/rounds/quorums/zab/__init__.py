"""Rounds of `zab`: discovery, synchronization, broadcast (docs/zab_rounds.md)."""
