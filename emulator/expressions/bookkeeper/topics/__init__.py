"""Topics that are lists of ledgers (docs/bookkeeper_rounds.md, Topics): one phase or helper a file."""
