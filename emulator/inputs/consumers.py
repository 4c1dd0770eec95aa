"""Settings of consumers, and of what remote reads take at brokers."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.scenario import ConsumerRow, Scenario

MOST_RECORDS, MOST_BYTES = 2**40, 2**60
"""More of records or bytes in a round is never met, and would overflow when added to."""


def groups_of(rows: Sequence[ConsumerRow]) -> list[str]:
    """The groups of these rows, each once, in the order in which they come: that of `wants`."""
    return list(dict.fromkeys(row.group for row in rows))


def reads_per_thread(scenario: Scenario) -> int | None:
    """Remote reads that one thread of a broker makes in a round; None: they take no time."""
    read_ms = scenario.remote_storage.read_ms
    return max(1, scenario.round_ms // read_ms) if read_ms > 0 else None


def read_quota(bytes_per_second: int, round_ms: int) -> int:
    """Bytes that remote reads get in a round (KIP-956); without a quota more than they ever want."""
    return min(MOST_BYTES, bytes_per_second * round_ms // 1000)
