"""The engine around compiled rounds: blocks of partitions, jobs, tables (docs/design_notes.md)."""
