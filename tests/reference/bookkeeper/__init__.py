"""BookKeeper in plain Python, written from `docs/bookkeeper_rounds.md`: ledgers, recovery, repair, and topics made of them."""
