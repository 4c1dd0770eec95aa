"""Rounds of `hdfs-journal`: one writer, its segments on a majority of journal nodes (docs/hdfs_journal_rounds.md)."""
