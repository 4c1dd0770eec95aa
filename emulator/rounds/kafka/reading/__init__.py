"""Consumer groups on compiled rounds, a phase a file (docs/consumer_rounds.md)."""
