"""What the tables of a run hold of one partition, or ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from emulator.scenario.protocols import GROUP_PROTOCOLS

Row = Mapping[str, Any]


class StoryRows(Protocol):
    """What every story is told from: rows of tables that name it, and the columns of its drawing."""

    @property
    def scenario(self) -> Row:
        """Its row of `scenarios`."""

    @property
    def topic(self) -> str:
        """Its topic."""

    @property
    def partition(self) -> int:
        """The number within the topic."""

    @property
    def name(self) -> str:
        """What a page calls it."""

    @property
    def columns(self) -> tuple[int, ...]:
        """What has a column of its own, by number."""

    @property
    def faults(self) -> Sequence[Row]:
        """Those that concern it."""

    @property
    def violations(self) -> Sequence[Row]:
        """What it violated."""

    @property
    def brokers(self) -> Sequence[Row]:
        """Rows of `brokers` of those that are columns."""


@dataclass(frozen=True)
class PartitionRows:
    """The rows of one partition in one scenario, each table's by column name (docs/tables.md).

    `scenario`: its row of `scenarios`; `replicas`: broker ids in replica-list order at the end; `outcome`: its row of
    `outcomes`; `ends`: rows of `replicas`; `faults`: those that concern the partition or one of its brokers;
    `trace`, `controllers`: rows of `trace` and `trace_partitions`, with `log_epoch`, the last epoch of the replica's
    cache. They may start later than round 0 and be empty; the other tables are whole.
    """

    scenario: Row
    topic: str
    partition: int
    replicas: Sequence[int]
    outcome: Row
    ends: Sequence[Row] = ()
    leader_epochs: Sequence[Row] = ()
    brokers: Sequence[Row] = ()
    faults: Sequence[Row] = ()
    events: Sequence[Row] = ()
    violations: Sequence[Row] = ()
    trace: Sequence[Row] = field(default=(), repr=False)
    controllers: Sequence[Row] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        """What a page calls it."""
        return f"{self.topic}:{self.partition}"

    @property
    def first_leader(self) -> int | None:
        """Who leads from the start by its protocol: a group's first server; None: the rows don't tell of any other."""
        return self.replicas[0] if self.scenario["protocol"] in GROUP_PROTOCOLS else None

    @property
    def columns(self) -> tuple[int, ...]:
        """Every broker that ever held a replica, by id."""
        rows = (*self.ends, *self.trace, *self.events)
        return tuple(sorted({*self.replicas, *(row["broker"] for row in rows if row["broker"] is not None)}))
