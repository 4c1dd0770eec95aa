"""What the faults say of the remote store and its metadata, and how fast a copy goes.

Faults: remote_storage_outage, slow_remote_storage (bytes_per_second), remote_metadata_lag (lag_rounds; absent: nothing
gets through; broker: of this one only), open_transaction.

Choices where docs/tiered_rounds.md is silent:

* Of several rates the smallest holds. A rate of 0 is no outage: a copy waits and does not fail.
* rate * round_ms / 1000 is rounded down; what a finished copy leaves of a round's bytes is for the next one of the task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..broker_status import covers

Fault = Mapping[str, Any]


def store_is_up(faults: Sequence[Fault], round_: int) -> bool:
    """Tell whether the remote store answers in `round_`."""
    return not any(fault["kind"] == "remote_storage_outage" and covers(fault, round_) for fault in faults)


def copy_bytes(rate: int | None, faults: Sequence[Fault], round_: int, round_ms: int) -> int | None:
    """Bytes that one copy task can move in `round_`, None: as many as it likes."""
    slow = [
        int(fault["bytes_per_second"]) for fault in faults if fault["kind"] == "slow_remote_storage" and covers(fault, round_)
    ]
    rates = slow if rate is None else [rate, *slow]
    return min(rates) * round_ms // 1000 if rates else None


def known_before(lag_rounds: int, faults: Sequence[Fault], broker: int, round_: int) -> int | None:
    """A broker knows what others wrote in rounds before this one; None: it learns nothing in `round_`."""
    lags: list[int] = [lag_rounds]
    for fault in faults:
        concerns = fault["kind"] == "remote_metadata_lag" and fault.get("broker") in (None, broker)
        if concerns and covers(fault, round_):
            if fault.get("lag_rounds") is None:
                return None
            lags.append(int(fault["lag_rounds"]))
    return round_ - max(lags)


class CopyBudget:
    """What the copy tasks of one broker share: threads, and the quota over a window of 11 samples of 1 s (KIP-956)."""

    def __init__(self) -> None:
        self.copying: set[int] = set()
        self._copied: list[tuple[int, int]] = []

    def may_start(self, owner: int, threads: int, quota_bytes_per_second: int | None, round_: int, round_ms: int) -> bool:
        """Whether a task gets, or has, a thread, and the broker's rate in the window is not above its quota."""
        if owner not in self.copying and len(self.copying) >= threads:
            return False
        if quota_bytes_per_second is None:
            return True
        window_rounds = max(1, QUOTA_WINDOW_MS // round_ms)
        self._copied = [(at, size) for at, size in self._copied if round_ - at < window_rounds]
        return sum(size for _, size in self._copied) * 1000 <= quota_bytes_per_second * window_rounds * round_ms

    def start(self, owner: int, size_bytes: int, round_: int) -> None:
        """A segment begins: all of its bytes count now."""
        self.copying.add(owner)
        self._copied.append((round_, size_bytes))

    def end(self, owner: int) -> None:
        """The task gives its thread back."""
        self.copying.discard(owner)


QUOTA_WINDOW_MS = 11_000
