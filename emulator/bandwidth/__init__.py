"""Brokers' network and disk, shared out between partitions at quota edges."""

from emulator.bandwidth.budgets import limits_bandwidth
from emulator.bandwidth.quotas import Quotas

__all__ = ["Quotas", "limits_bandwidth"]
