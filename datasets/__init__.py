"""Readers of users' tables and real clusters' files, and generators of placements."""
