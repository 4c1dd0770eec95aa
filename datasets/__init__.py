"""Bundled example inputs, and generators of scenario files; run from a checkout, not installed."""
