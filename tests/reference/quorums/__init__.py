"""Quorums in plain Python, entry by entry, written from `docs/quorum_rounds.md`: `quorum` and `raft`."""
