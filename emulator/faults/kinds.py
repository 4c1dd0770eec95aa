"""The fault kinds: what each needs of a fault row, how strong it is, and how rows are read from a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import pyarrow as pa

from emulator.rounds.kafka.moments import MOMENTS, NOT_GIVEN

FAULT_SCHEMA: pa.Schema = pa.schema(
    [
        pa.field("kind", pa.string(), nullable=False),
        pa.field("from_round", pa.int64(), nullable=False),
        pa.field("to_round", pa.int64(), nullable=False),
        pa.field("broker", pa.int32()),
        pa.field("peer", pa.int32()),
        pa.field("direction", pa.string()),
        pa.field("rack", pa.string()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("bytes_per_second", pa.int64()),
        pa.field("name", pa.string()),
        pa.field("clients", pa.bool_()),
        pa.field("lag_rounds", pa.int32()),
        pa.field("from_offset", pa.int64()),
        pa.field("to_offset", pa.int64()),
        pa.field("power", pa.bool_()),
        pa.field("round_trip_ms", pa.float64()),
        pa.field("moment", pa.float64()),
    ]
)
"""Columns of a fault table: `[from_round, to_round)` and what the kind needs; the row index is the fault_id."""

SLOWNESS = ("bytes_per_second", "round_trip_ms")
"""What a slow_link says, one of both at least."""

DIRECTIONS: tuple[str, ...] = ("both", "out", "in")


@dataclass(frozen=True, slots=True)
class FaultKind:
    """What one kind of fault is: its meaning, its rank (lower is stronger) and the columns it takes."""

    meaning: str
    rank: int
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


DISK_LOSS_RANK, POWER_LOSS_RANK, CRASH_RANK, SHUTDOWN_RANK, PAUSE_RANK, ISOLATION_RANK = range(6)
LINK_CUT_RANK, SLOW_RANK, STALE_METADATA_RANK, CONTROLLER_LOSS_RANK, NO_BROKER_RANK = range(6, 11)

_OF_PARTITIONS = ("topic", "partition")
_OF_ENTRIES = (*_OF_PARTITIONS, "from_offset", "to_offset")

FAULT_KINDS: Mapping[str, FaultKind] = MappingProxyType(
    {
        "disk_loss": FaultKind("the broker dies and comes back empty", DISK_LOSS_RANK, ("broker",), ("moment",)),
        "power_loss": FaultKind("the broker dies; what was not flushed is gone", POWER_LOSS_RANK, ("broker",), ("moment",)),
        "broker_crash": FaultKind("the process dies; the page cache survives", CRASH_RANK, ("broker",), ("moment",)),
        "rack_loss": FaultKind(
            "broker_crash of every broker of the rack, with power = true power_loss", CRASH_RANK, ("rack",), ("power", "moment")
        ),
        "controlled_shutdown": FaultKind("the broker stops cleanly", SHUTDOWN_RANK, ("broker",)),
        "broker_pause": FaultKind("GC, SIGSTOP: a zombie when it wakes", PAUSE_RANK, ("broker",)),
        "isolation": FaultKind(
            "cut off from all brokers and the controller, from clients too with clients = true",
            ISOLATION_RANK,
            ("broker",),
            ("clients",),
        ),
        "rack_isolation": FaultKind(
            "the network around the rack is cut: isolation of each of its brokers, which still reach each other",
            ISOLATION_RANK,
            ("rack",),
            ("clients",),
        ),
        "link_cut": FaultKind("messages between two brokers are dropped", LINK_CUT_RANK, ("broker", "peer"), ("direction",)),
        "slow_link": FaultKind(
            "the link between two brokers (without peer: all links of the broker) is slow, or its round trip long",
            SLOW_RANK,
            ("broker",),
            ("bytes_per_second", "round_trip_ms", "peer", "direction"),
        ),
        "slow_disk": FaultKind("the broker's disk is slow", SLOW_RANK, ("broker", "bytes_per_second")),
        "stale_metadata": FaultKind(
            "the broker (every broker without one) learns nothing new of the partitions, or lag_rounds late",
            STALE_METADATA_RANK,
            (),
            ("broker", *_OF_PARTITIONS, "lag_rounds"),
        ),
        "controller_loss": FaultKind("the whole cluster is without a controller", CONTROLLER_LOSS_RANK),
        "remote_storage_outage": FaultKind("the remote store is away", NO_BROKER_RANK, (), _OF_PARTITIONS),
        "slow_remote_storage": FaultKind(
            "the remote store takes no more bytes of one copy", NO_BROKER_RANK, ("bytes_per_second",), _OF_PARTITIONS
        ),
        "remote_metadata_lag": FaultKind(
            "the broker (every broker without one) reads remote metadata lag_rounds late, or not at all",
            NO_BROKER_RANK,
            (),
            ("broker", "lag_rounds"),
        ),
        "open_transaction": FaultKind("pins the last stable offset", NO_BROKER_RANK, (), _OF_PARTITIONS),
        "client_crash": FaultKind("a ledger's writer stops without closing it", NO_BROKER_RANK, (), _OF_PARTITIONS),
        "drop_adds": FaultKind("adds of these entries to this bookie are lost", NO_BROKER_RANK, ("broker",), _OF_ENTRIES),
        "delay_adds": FaultKind(
            "adds of these entries to this bookie arrive only after the interval", NO_BROKER_RANK, ("broker",), _OF_ENTRIES
        ),
        "metadata_store_outage": FaultKind("the ledgers' metadata store is away", NO_BROKER_RANK),
        "slow_bookie": FaultKind("the bookie answers ledgers' clients lag_rounds late", SLOW_RANK, ("broker", "lag_rounds")),
    }
)
"""Every kind by name. Rank orders causes; the kinds of one rank tie, and then the first row is the cause."""

LEDGER_KINDS: tuple[str, ...] = ("client_crash", "drop_adds", "delay_adds", "metadata_store_outage", "slow_bookie")
"""Kinds that only ledgers know."""

BROKER_STATE_KINDS: tuple[str, ...] = (
    "broker_crash",
    "power_loss",
    "disk_loss",
    "controlled_shutdown",
    "broker_pause",
    "isolation",
)
"""Kinds that take one broker down or out of sight and need no more than its id."""

RACK_KINDS: tuple[str, ...] = ("rack_loss", "rack_isolation")
"""Kinds that strike every broker of a rack."""


class FaultRow(NamedTuple):
    """One row of a fault table, its interval cut to the run's rounds; `moment` in MOMENTS of its first one, or NOT_GIVEN."""

    fault_id: int
    kind: str
    rank: int
    from_round: int
    to_round: int
    broker: int | None
    peer: int | None
    direction: str
    rack: str | None
    topic: str | None
    partition: int | None
    bytes_per_second: int | None
    clients: bool
    lag_rounds: int | None
    from_offset: int | None = None
    to_offset: int | None = None
    power: bool = False
    round_trip_ms: float | None = None
    moment: int = NOT_GIVEN

    @property
    def of_broker(self) -> str:
        """What it is for each broker that it strikes: a rack without power is a power_loss of its brokers."""
        if self.kind == "rack_isolation":
            return "isolation"
        return "power_loss" if self.kind == "rack_loss" and self.power else self.kind


def read_fault_rows(faults: pa.Table, rounds: int) -> list[FaultRow]:
    """Reads fault rows from a table, those that hold in some round of [0, rounds), in row order.

    `faults`: columns of FAULT_SCHEMA; a nullable column may be absent; a null to_round means until the end.
    Rows before round 0 begin at round 0. Raises ValueError for an unknown kind or direction and for a missing
    column value that the kind needs.
    """
    names = [field.name for field in FAULT_SCHEMA if field.name != "name"]
    absent = [None] * faults.num_rows
    given = {name for name, column in zip(faults.column_names, faults.columns, strict=True) if column.null_count < len(column)}
    columns = [faults.column(name).to_pylist() if name in given else absent for name in names]
    rows = []
    for fault_id, values in enumerate(zip(*columns, strict=True)):
        row = dict(zip(names, values, strict=True))
        _check_row(fault_id, row)
        from_round = max(row.pop("from_round"), 0)
        to_round = row.pop("to_round")
        to_round = rounds if to_round is None else min(to_round, rounds)
        if from_round >= to_round:
            continue
        row["direction"] = row["direction"] or "both"
        row["clients"], row["power"] = bool(row["clients"]), bool(row["power"])
        row["moment"] = _in_millionths(row["moment"])
        rank = POWER_LOSS_RANK if row["power"] else FAULT_KINDS[row["kind"]].rank
        rows.append(FaultRow(fault_id=fault_id, rank=rank, from_round=from_round, to_round=to_round, **row))
    return rows


def _in_millionths(moment: float | None) -> int:
    """A moment of the table, a fraction of a round and 1 for after the append, as FaultRow has it."""
    if moment is None:
        return NOT_GIVEN
    return MOMENTS if moment >= 1 else min(round(moment * MOMENTS), MOMENTS - 1)


def _check_row(fault_id: int, row: dict[str, object]) -> None:
    kind = FAULT_KINDS.get(str(row["kind"]))
    if kind is None:
        raise ValueError(f"fault {fault_id}: unknown kind {row['kind']!r}; allowed: {', '.join(FAULT_KINDS)}")
    missing = [name for name in ("from_round", *kind.required) if row[name] is None]
    if missing:
        raise ValueError(f"fault {fault_id}: {row['kind']} needs {', '.join(missing)}")
    if row["kind"] == "slow_link" and all(row[name] is None for name in SLOWNESS):
        raise ValueError(f"fault {fault_id}: slow_link needs {' or '.join(SLOWNESS)}")
    if row["direction"] is not None and row["direction"] not in DIRECTIONS:
        allowed = ", ".join(DIRECTIONS)
        raise ValueError(f"fault {fault_id}: unknown direction {row['direction']!r}; allowed: {allowed}")


def microseconds(ms: float) -> int:
    """Milliseconds as whole microseconds, the nearest."""
    return round(ms * 1000)
