"""Compiled rounds of groups that commit by quorums: `quorum` and `raft` (docs/quorum_rounds.md)."""
