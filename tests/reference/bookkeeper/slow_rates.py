"""Slow links and disks: how much of what clients send a bookie takes in a round (docs/bookkeeper_rounds.md, step 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.reference.broker_status import covers

from .settings import Settings

Fault = Mapping[str, Any]


@dataclass
class Slowness:
    """What the bookies of a ledger may still take: bytes by bookie, and those at which adds wait."""

    sizes: list[int]
    left: dict[int, int] = field(default_factory=dict)
    waiting: set[int] = field(default_factory=set)
    faults: dict[int, int | None] = field(default_factory=dict)

    def kept(self, bookie: int) -> int:
        """What a bookie was given and didn't use while something waited."""
        return self.left.get(bookie, 0) if bookie in self.waiting else 0

    def begin(self, bookie: int, limit: tuple[int, int] | None, share: int | None = None) -> None:
        """A round of a bookie that is heard. `limit`: (bytes, fault) or None; `share`: of a budget, with what is kept."""
        room = None if limit is None else self.kept(bookie) + limit[0]
        self.waiting.discard(bookie)
        self.left.pop(bookie, None)
        self.faults[bookie] = None if limit is None else limit[1]
        rooms = [one for one in (room, share) if one is not None]
        if rooms:
            self.left[bookie] = min(rooms)

    def keeps_back(self, bookie: int, entry: int) -> bool:
        """Whether an add has to wait; else the bookie takes it."""
        if bookie not in self.left:
            return False
        if bookie in self.waiting or self.sizes[entry] > self.left[bookie]:
            self.waiting.add(bookie)
            return True
        self.left[bookie] -= self.sizes[entry]
        return False


def sizes_of(case: Mapping[str, Any]) -> list[int]:
    """Bytes of each entry that the application will ever hand over, in its order."""
    sizes: list[int] = []
    for now in range(case["rounds"]):
        due = [(row["records_per_round"], row.get("record_bytes", 1000)) for row in case.get("workload", []) if covers(row, now)]
        count = sum(records for records, _ in due)
        sizes += [sum(records * size for records, size in due) // count] * count if count else []
    return sizes


def limit_of(bookie: int, faults: Sequence[Fault], settings: Settings, now: int, round_ms: int) -> tuple[int, int] | None:
    """The tightest of the slow faults in force, as (bytes a round, fault); a disk only where adds wait for it."""
    found = []
    for fault in faults:
        if fault.get("broker") != bookie or not covers(fault, now) or fault.get("bytes_per_second") is None:
            continue
        is_disk = fault["kind"] == "slow_disk" and settings.journal_synced
        to_it = fault.get("peer") is None and fault.get("direction") != "out"
        is_link = fault["kind"] == "slow_link" and to_it
        if is_disk or is_link:
            found.append((max(1, fault["bytes_per_second"] * round_ms // 1000), is_link, fault["fault_id"]))
    return (min(found)[0], min(found)[2]) if found else None
