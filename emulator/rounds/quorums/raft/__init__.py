"""Rounds of `raft`: terms, votes, a leader that tells its followers."""
