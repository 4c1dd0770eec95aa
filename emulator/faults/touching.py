"""Which faults of a scenario touch which broker, and what each of them acts on there (timeline.py)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from emulator.faults.kinds import ISOLATION_RANK, RACK_KINDS, FaultRow, microseconds
from emulator.faults.steps import Interval

StalePartition = tuple[str | None, int | None, int | None]  # (topic glob, partition, lag_rounds), null for all or no news
Cause = tuple[int, int]  # (rank, fault_id): the least is the strongest, then the first row

_Link = tuple[Interval[int], Interval[tuple[int, int]] | None, Interval[tuple[int, int]] | None]
"""Of messages to a broker: that they are cut, their bytes per second, a fetch's microseconds; None where nothing is said."""


@dataclass(slots=True)
class Touching:
    """The faults that touch one broker, by what they act on; `own`: dead, pause and isolation faults."""

    own: list[Interval[FaultRow]] = field(default_factory=list)
    cuts: list[Interval[int]] = field(default_factory=list)
    slow: list[Interval[tuple[int, int]]] = field(default_factory=list)
    far: list[Interval[tuple[int, int]]] = field(default_factory=list)
    disk: list[Interval[int]] = field(default_factory=list)
    stale: list[Interval[StalePartition]] = field(default_factory=list)
    causes: list[Interval[Cause]] = field(default_factory=list)

    def add_link(self, kind: str, link: _Link) -> None:
        """What a link_cut or slow_link makes of this broker's messages to another."""
        cut, slow, far = link
        if kind == "link_cut":
            self.cuts.append(cut)
            return
        if slow is not None:
            self.slow.append(slow)
        if far is not None:
            self.far.append(far)


UNTOUCHED = Touching()


@dataclass(slots=True)
class Grouped:
    """All faults of a scenario: by broker, of those that some touch, of every broker, of the controller (fault_id)."""

    brokers: Mapping[int, str | None]
    of_broker: defaultdict[int, Touching] = field(default_factory=lambda: defaultdict(Touching))
    everywhere: Touching = field(default_factory=Touching)
    controller_loss: list[Interval[int]] = field(default_factory=list)

    def touching(self, broker: int | None, row: FaultRow) -> Touching:
        """The group of the broker (none: of every broker), with the row noted as a cause there."""
        group = self.everywhere if broker is None else self.of_broker[broker]
        group.causes.append((row.from_round, row.to_round, (row.rank, row.fault_id)))
        return group


def grouped_faults(rows: Iterable[FaultRow], brokers: Sequence[tuple[int, str | None]]) -> Grouped:
    """All faults of a scenario by what they touch; `brokers`: (id, rack). Raises ValueError for an unknown broker or peer."""
    of_rack: defaultdict[str, list[int]] = defaultdict(list)
    for broker, rack in brokers:
        if rack is not None:
            of_rack[str(rack)].append(broker)
    grouped = Grouped(dict(brokers))
    for row in rows:
        for end in (row.broker, row.peer):
            if end is not None and end not in grouped.brokers:
                raise ValueError(f"fault {row.fault_id}: {row.kind} names broker {end}, which does not exist")
        _place(grouped, row, of_rack)
    return grouped


def _place(grouped: Grouped, row: FaultRow, of_rack: Mapping[str, Sequence[int]]) -> None:
    start, end = row.from_round, row.to_round
    if row.rank <= ISOLATION_RANK:
        for broker in of_rack.get(str(row.rack), ()) if row.kind in RACK_KINDS else (row.broker,):
            grouped.touching(broker, row).own.append((start, end, row))
    elif row.kind in ("link_cut", "slow_link"):
        _place_link(grouped, row)
    elif row.kind == "slow_disk" and row.bytes_per_second is not None:
        grouped.touching(row.broker, row).disk.append((start, end, row.bytes_per_second))
    elif row.kind == "stale_metadata":
        grouped.touching(row.broker, row).stale.append((start, end, (row.topic, row.partition, row.lag_rounds)))
    elif row.kind == "controller_loss":
        grouped.controller_loss.append((start, end, row.fault_id))


def _place_link(grouped: Grouped, row: FaultRow) -> None:
    """Notes the row at both ends of each of its links, and what it does at the sender.

    What all peers have of a row is one object: a fault of all links of all brokers notes millions.
    """
    peers = [peer for peer in ((row.peer,) if row.peer is not None else grouped.brokers) if peer != row.broker]
    if row.broker is None or not peers:
        return
    own = grouped.touching(row.broker, row)
    cause = own.causes[-1]
    towards = _link_to(row, row.broker)
    for peer in peers:
        at_peer = grouped.of_broker[peer]
        at_peer.causes.append(cause)
        if row.direction in ("out", "both"):
            own.add_link(row.kind, _link_to(row, peer))
        if row.direction in ("in", "both"):
            at_peer.add_link(row.kind, towards)


def _link_to(row: FaultRow, receiver: int) -> _Link:
    start, end = row.from_round, row.to_round
    slow = None if row.bytes_per_second is None else (start, end, (receiver, row.bytes_per_second))
    far = None if row.round_trip_ms is None else (start, end, (receiver, microseconds(row.round_trip_ms)))
    return (start, end, receiver), slow, far
