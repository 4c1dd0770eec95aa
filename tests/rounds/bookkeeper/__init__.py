"""Rules of BookKeeper as compiled rounds, without Spark."""
