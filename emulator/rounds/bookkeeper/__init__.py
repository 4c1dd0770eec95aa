"""BookKeeper's rounds as compiled functions over records (docs/bookkeeper_rounds.md)."""
