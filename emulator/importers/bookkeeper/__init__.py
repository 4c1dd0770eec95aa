"""Readers of what BookKeeper's and Pulsar's tools print of a cluster's ledgers."""

from emulator.importers.bookkeeper.import_ledgers import import_bookkeeper

__all__ = ["import_bookkeeper"]
