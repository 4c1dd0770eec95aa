"""Topics that are lists of ledgers (docs/bookkeeper_rounds.md, Topics and Offloading)."""
