"""BookKeeper's round as phases over the state of ledgers (docs/bookkeeper_rounds.md)."""
