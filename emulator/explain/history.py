"""The rows of a partition by round and broker, and what follows from them without asking the engine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from emulator.explain.ledger_rows import LedgerRows
from emulator.explain.rows import PartitionRows, Row

DEAD_KINDS = frozenset({"broker_crash", "power_loss", "disk_loss", "controlled_shutdown", "rack_loss"})
ELECTIONS = ("election", "unclean_election")


@dataclass(frozen=True)
class FaultInForce:
    """A fault and the brokers of the partition in whose margin it stands; none: the controller's."""

    row: Row
    brokers: tuple[int, ...]

    @property
    def ends(self) -> int | None:
        """First round after it; None: until the end."""
        to_round: int | None = self.row["to_round"]
        return to_round

    @property
    def starts(self) -> int:
        """First round of it: what began before round 0 begins there."""
        return max(int(self.row["from_round"]), 0)

    def holds(self, round_: int) -> bool:
        """Whether it is in force in a round."""
        return self.starts <= round_ and (self.ends is None or round_ < self.ends)


def by_round(rows: Sequence[Row]) -> dict[int, list[Row]]:
    """Rows by their round; those of none, as violations of the end, are left out."""
    found: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        if row["round"] is not None:
            found[row["round"]].append(row)
    return found


class RoundsTold:
    """What is known of rounds of whatever a story is told of: what happened, and which faults were in force."""

    def __init__(self, rows: PartitionRows | LedgerRows) -> None:
        self.columns = rows.columns
        self.events, self.violations = by_round(rows.events), by_round(rows.violations)
        racks = {row["broker"]: row["rack"] for row in rows.brokers}
        self.faults = [FaultInForce(row, brokers_of(row, self.columns, racks)) for row in rows.faults]

    def faulty(self, round_: int) -> frozenset[int]:
        """Brokers, or bookies, with a fault in force; an entry of -1 is none of the columns, as the controller."""
        return frozenset(b for fault in self.faults if fault.holds(round_) for b in fault.brokers or (-1,))


class History(RoundsTold):
    """Looks up what is known of a round and a broker."""

    def __init__(self, rows: PartitionRows) -> None:
        super().__init__(rows)
        self.rows = rows
        self.states: dict[tuple[int, int], Row] = {(row["round"], row["broker"]): row for row in rows.trace}
        self.controllers: dict[int, Row] = {row["round"]: row for row in rows.controllers}
        self._leaders = self._leaders_by_epoch()

    def leader_of(self, epoch: int) -> int | None:
        """The broker that led an epoch; None if nobody did, or nobody knows."""
        return self._leaders.get(epoch)

    def events_of(self, round_: int, broker: int, *kinds: str) -> list[Row]:
        """What happened to a broker in a round, of the given kinds."""
        return [e for e in self.events.get(round_, ()) if e["broker"] == broker and e["kind"] in kinds]

    def restarted(self, round_: int, broker: int) -> bool:
        """Whether the broker came back in this round."""
        before, now = self.states.get((round_ - 1, broker)), self.states.get((round_, broker))
        return before is not None and now is not None and before["role"] == "offline" != now["role"]

    def leo_at_start(self, round_: int, broker: int) -> int | None:
        """The log end that a traced replica begins a round with, after damage; None: nobody knows."""
        for event in self.events_of(round_, broker, "log_damaged"):
            return int(event["to_offset"])
        if self.restarted(round_, broker) and self.rows.scenario["protocol"] == "kafka-high-watermark":
            for event in self.events_of(round_, broker, "truncate"):  # it cuts its log as it starts
                return int(event["to_offset"])
        before = self.states.get((round_ - 1, broker))
        if before is not None:
            return int(before["leo"])
        return 0 if round_ - 1 in self.controllers else None  # a new replica starts empty

    def dead(self, round_: int) -> frozenset[int]:
        """Brokers that a fault keeps down."""
        dead = (fault for fault in self.faults if fault.row["kind"] in DEAD_KINDS and fault.holds(round_))
        return frozenset(b for fault in dead for b in fault.brokers)

    def _leaders_by_epoch(self) -> dict[int, int]:
        leaders = {row["leader_epoch"]: row["leader"] for row in self.rows.controllers if row["leader"] >= 0}
        elections = {e["leader_epoch"]: e["broker"] for e in self.rows.events if e["kind"] in ELECTIONS}
        return {**leaders, **elections}


def brokers_of(fault: Row, columns: tuple[int, ...], racks: Mapping[int, str | None]) -> tuple[int, ...]:
    """The brokers of a story in whose margin a fault stands."""
    if fault["rack"] is not None:
        return tuple(broker for broker in columns if racks.get(broker) == fault["rack"])
    return tuple(broker for broker in columns if broker in (fault["broker"], fault["peer"]))
