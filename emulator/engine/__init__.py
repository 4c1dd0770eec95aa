"""The engine around compiled rounds: blocks of partitions, jobs, tables (docs/architecture.md)."""
