"""Where records come from: the page cache's share of a log, remote segments, and the index cache of a broker."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from ..leading import records_by
from ..log import Log, bytes_of
from ..tiered.metadata import RemoteSegment

Case = Mapping[str, Any]


def page_cache_shares(cases: Sequence[Case], number: int) -> dict[int, int | None]:
    """Bytes of each broker's page cache for the partition `number` of those simulated together, None: all it likes.

    In proportion to what the workload appends in the whole run, equally where it appends nothing.
    """
    whole: int | None = cases[number].get("page_cache_bytes")
    if whole is None:
        return dict.fromkeys(cases[number]["brokers"])
    shares: dict[int, int | None] = {}
    for broker in cases[number]["brokers"]:
        there = [at for at, case in enumerate(cases) if broker in case["replicas"] or at == number]
        written = [_workload_bytes(cases[at]) for at in there]
        own = there.index(number)
        shares[broker] = whole * written[own] // sum(written) if sum(written) > 0 else whole // len(there)
    return shares


def _workload_bytes(case: Case) -> int:
    total = 0
    for row in case.get("workload") or ():
        to_round = row.get("to_round")
        rounds = min(case["rounds"], case["rounds"] if to_round is None else to_round) - row["from_round"]
        rounds = max(0, rounds)
        per_second = row.get("records_per_second")
        records = rounds * row["records_per_round"] if per_second is None else records_by(per_second, rounds * case["round_ms"])
        total += records * row["record_bytes"]
    return total


def is_in_page_cache(log: Log, position: int, share_bytes: int | None, cold_below: int) -> bool:
    """Tell whether a read at `position` finds it in memory: what follows it in the log fits into the share."""
    if position < cold_below:
        return False
    return share_bytes is None or bytes_of(log.slice(position, log.leo)) <= share_bytes


def remote_bytes(segment: RemoteSegment, from_offset: int, to_offset: int) -> int:
    """Bytes of a segment's records in [from_offset, to_offset), each of the mean size."""
    records = segment.end_offset - segment.base_offset + 1
    ends = [segment.size_bytes * (offset - segment.base_offset) // records for offset in (from_offset, to_offset)]
    return ends[1] - ends[0]


class IndexCache:
    """The segments whose indexes a broker keeps, the least recently used first (RemoteIndexCache)."""

    def __init__(self) -> None:
        self.entries: OrderedDict[tuple[int, int], int] = OrderedDict()

    def use(self, key: tuple[int, int], size_bytes: int, limit_bytes: int) -> bool:
        """Look a segment's indexes up, and keep them. Returns whether they were there."""
        hit = key in self.entries
        self.entries[key] = size_bytes
        self.entries.move_to_end(key)
        self.shrink(limit_bytes)
        return hit

    def shrink(self, limit_bytes: int) -> None:
        """Only so much is kept."""
        while sum(self.entries.values()) > limit_bytes:
            self.entries.popitem(last=False)

    def touch(self, key: tuple[int, int]) -> None:
        """A segment is read without a look into its indexes: if they are here, they are used as if there was one."""
        if key in self.entries:
            self.entries.move_to_end(key)

    def drop(self, partition: int | None = None) -> None:
        """Forget a partition's segments, or all of them."""
        for key in [key for key in self.entries if partition in (None, key[0])]:
            del self.entries[key]
