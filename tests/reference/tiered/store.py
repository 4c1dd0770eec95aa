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
    """What the copies of one broker share beside its threads: the quota over a window of 11 samples of 1 s (KIP-956)."""

    def __init__(self) -> None:
        self._begun: list[tuple[int, int, int]] = []

    def may_begin(self, quota_bytes_per_second: int | None, round_: int, round_ms: int) -> bool:
        """Whether the broker's rate in the window is not above its quota."""
        if quota_bytes_per_second is None:
            return True
        window_rounds = max(1, QUOTA_WINDOW_MS // round_ms)
        copied = sum(size for _, size, at in self._begun if round_ - at < window_rounds)
        return copied * 1000 <= quota_bytes_per_second * window_rounds * round_ms

    def begin(self, owner: int, size_bytes: int, round_: int) -> None:
        """A segment begins: all of its bytes count now."""
        self._begun.append((owner, size_bytes, round_))

    def last_begin(self, owner: int) -> int | None:
        """When the owner's last segment began."""
        return max((at for one, _, at in self._begun if one == owner), default=None)


QUOTA_WINDOW_MS = 11_000
