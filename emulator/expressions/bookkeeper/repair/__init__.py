"""Copies for lost ones (docs/bookkeeper_rounds.md, Limbo and Repair): one phase or helper a file."""
