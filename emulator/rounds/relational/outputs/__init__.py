"""From the rounds that were played to the tables of a run."""
