"""Compiled rounds of groups (docs/quorum_rounds.md): a folder a protocol, and here what they share."""
