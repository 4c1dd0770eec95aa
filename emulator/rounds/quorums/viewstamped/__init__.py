"""Rounds of `viewstamped`: view changes and recovery without disks (docs/viewstamped_rounds.md)."""
