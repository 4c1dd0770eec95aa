"""The remote store in a round, as its faults leave it: whether it is there, and how many bytes it takes or gives."""

from __future__ import annotations

from collections.abc import Iterable

from emulator.faults.kinds import FaultRow

STORE_FAULTS = ("remote_storage_outage", "slow_remote_storage")


def store_is_up(now: Iterable[FaultRow]) -> bool:
    """Whether it is there. `now`: the faults in force."""
    return not any(fault.kind == "remote_storage_outage" for fault in now)


def store_bytes(bytes_per_second: int | None, now: Iterable[FaultRow], round_ms: int, most: int) -> int | None:
    """Bytes of a round at the store's own rate or that of a fault, whichever is less; None: any number.

    `most`: what is more is never met, and would overflow when added to.
    """
    slow = [fault.bytes_per_second for fault in now if fault.kind == "slow_remote_storage"]
    rates = [rate for rate in (bytes_per_second, *slow) if rate is not None]
    return min(most, min(rates) * round_ms // 1000) if rates else None
