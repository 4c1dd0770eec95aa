"""What clients send and administrators command, as tables; and the topics that it is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pyarrow as pa

from emulator.scenario import Scenario
from emulator.scenario.globs import parse_partitions
from emulator.scenario.rates import records_a_round

WORKLOAD = pa.schema(
    [("workload_id", pa.int32()), ("number", pa.int32()), ("from_round", pa.int32()), ("to_round", pa.int32())]
    + [("records", pa.int64()), ("record_bytes", pa.int64()), ("acked_on_append", pa.bool_())]
    + [("unacknowledged", pa.bool_())]
    + [("rate_records", pa.int64()), ("rate_rounds", pa.int64()), ("since", pa.int32())]
)
"""A batch of `records` in every round. `rate_records` in `rate_rounds`, `since` when: null, or they say a round's records."""

OF_RATES = ("rate_records", "rate_rounds", "since")
"""What no verb asks for where no rate is given."""
COMMANDS = pa.schema([("pid", pa.int64()), ("command_round", pa.int32()), ("broker", pa.int32()), ("place", pa.int32())])
DELETIONS = pa.schema([("pid", pa.int64()), ("command_round", pa.int32()), ("offset", pa.int64())])
ELECTIONS = pa.schema([("pid", pa.int64()), ("command_round", pa.int32())])


PARTITIONS_A_SCENARIO = 1_000_000_000
"""A partition's `pid` is scenario_id * this + its number over the scenario's topics."""


@dataclass
class Place:
    """The partitions of one topic of a scenario: `pid` of partition p is first_pid + p."""

    scenario: Scenario
    topic_id: int
    name: str
    first_pid: int
    assignment: np.ndarray
    config: Mapping[str, Any]
    workload_id: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    acked_on_append: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    """Whether the first workload row of a partition asks for no more than its leader."""
    unacknowledged: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    """Whether it asks for nothing."""
    keeps_segments: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    """Whether a segment of a partition may be deleted in the run."""


def workloads(places: list[Place]) -> tuple[pa.Table, list[tuple[int, int]]]:
    """Rows of workloads, numbered in the order in which they append in a round; and from which round on how many at most do.

    Partitions that are sent the same have one workload_id, which their place is told.
    """
    numbers: dict[tuple[Any, ...], int] = {}
    for place in places:
        rows = [r for r in place.scenario.workload.to_pylist() if fnmatchcase(place.name, r["topic"])]
        matches = np.ones((len(place.assignment), len(rows)), bool)
        for at, row in enumerate(rows):
            if row["partitions"] is not None:
                matches[:, at] = False
                for first, last in parse_partitions(row["partitions"]):
                    matches[first : last + 1, at] = True
        sets, of_partition = np.unique(matches, axis=0, return_inverse=True)
        round_ms = place.scenario.round_ms
        keys = [tuple(_batch(row, round_ms) for row, is_sent in zip(rows, chosen, strict=True) if is_sent) for chosen in sets]
        ids = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int32)
        acked = np.array([bool(key) and key[0][4] for key in keys], bool)
        unacknowledged = np.array([bool(key) and key[0][5] for key in keys], bool)
        group = of_partition.reshape(-1)
        place.workload_id, place.acked_on_append, place.unacknowledged = ids[group], acked[group], unacknowledged[group]
    table: list[dict[str, Any]] = []
    most: dict[int, int] = {}
    for key, workload_id in numbers.items():
        due = [row for row in key if row[2] > 0 or row[6] is not None]
        edges = sorted({edge for row in due for edge in row[:2]})
        for start, end in zip(edges, edges[1:], strict=False):
            now = [row for row in due if row[0] <= start < row[1]]
            for number, (_, _, *batch) in enumerate(now):
                values = (workload_id, number, start, end, *batch)
                table.append(dict(zip(WORKLOAD.names, values, strict=True)))
    for edge in sorted({row["from_round"] for row in table} | {row["to_round"] for row in table}):
        most[edge] = max((row["number"] + 1 for row in table if row["from_round"] <= edge < row["to_round"]), default=0)
    return pa.Table.from_pylist(table, WORKLOAD), sorted(most.items())


def _batch(row: Mapping[str, Any], round_ms: int) -> tuple[Any, ...]:
    rate: tuple[int | None, ...] = (None, None, None)
    if row["records_per_second"] is not None:
        records = records_a_round(row["records_per_second"], round_ms)
        rate = (records.numerator, records.denominator, row["from_round"])
    own = tuple(row[name] for name in ("from_round", "to_round", "records_per_round", "record_bytes"))
    return (*own, row["acks"] != "all", row["acks"] == "0", *rate)


def commands_of(places: list[Place]) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Reassignments (a row for each replica of the target, of several in a round the last), deletions, elections."""
    moves: dict[tuple[int, int], tuple[int, ...]] = {}
    deletions, elections = [], set()
    for place in places:
        for command in place.scenario.commands:
            if command.topic is None or not fnmatchcase(place.name, command.topic):
                continue
            partitions = range(len(place.assignment)) if command.partition is None else [command.partition]
            for pid in (place.first_pid + p for p in partitions if p < len(place.assignment)):
                if command.kind == "reassign":
                    moves[pid, command.round] = command.replicas or ()
                elif command.kind == "delete_records":
                    deletions.append({"pid": pid, "command_round": command.round, "offset": command.offset})
                elif command.kind == "preferred_leader_election":
                    elections.add((pid, command.round))
    rows = [
        {"pid": pid, "command_round": round_, "broker": broker, "place": at}
        for (pid, round_), brokers in moves.items()
        for at, broker in enumerate(brokers)
    ]
    asked = [dict(zip(ELECTIONS.names, row, strict=True)) for row in sorted(elections)]
    tables = ((rows, COMMANDS), (deletions, DELETIONS), (asked, ELECTIONS))
    first, second, third = (pa.Table.from_pylist(table, schema) for table, schema in tables)
    return first, second, third
