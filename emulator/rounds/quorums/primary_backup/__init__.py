"""Rounds of `primary-backup-sync` and `-async`."""
