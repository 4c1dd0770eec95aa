"""Rounds of `quorum`: A servers commit, an elector compares V logs."""
