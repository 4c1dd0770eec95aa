"""Brokers' network, disk, copier threads and copy quotas, shared out between partitions at quota edges."""

from emulator.bandwidth.quotas import Quotas, has_edges

__all__ = ["Quotas", "has_edges"]
