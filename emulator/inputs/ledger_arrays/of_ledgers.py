"""What comes from outside into single ledgers: workload, commands, adds that are dropped or held up, a writer's crash."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from emulator.faults.kinds import LEDGER_KINDS, FaultRow
from emulator.inputs.remote_store import STORE_FAULTS
from emulator.inputs.workload_rows import WorkloadRow, rows_by_member, rows_of_topic
from emulator.rounds.bookkeeper.constants import COMMAND_KINDS, DELAY_ADDS, DROP_ADDS, FOREVER, NO_LIMIT
from emulator.scenario.model import Command, Scenario, Topic

Spans = tuple[tuple[int, ...], ...]

ON_THE_WAY = {"drop_adds": DROP_ADDS, "delay_adds": DELAY_ADDS}


class Feed(NamedTuple):
    """Rows of records.WorkloadSpan, Command, OnTheWay, Crash and EntrySize.

    `rows`: the workload's; `of_remote_store`: faults of it.
    """

    workload: Spans
    commands: Spans
    on_the_way: Spans
    crashes: Spans
    sizes: Spans
    rows: tuple[WorkloadRow, ...]
    of_remote_store: tuple[FaultRow, ...]


def feeds_of_topic(
    scenario: Scenario, topic: Topic, faults: Sequence[FaultRow], place: dict[int, int]
) -> tuple[np.ndarray, list[Feed]]:
    """(by ledger of the topic the number of its feed, the feeds). `place`: of a bookie, by id."""
    own_faults = [f for f in faults if f.kind in (*LEDGER_KINDS, *STORE_FAULTS) and fnmatchcase(topic.name, f.topic or "*")]
    own_commands = [c for c in scenario.commands if c.topic is not None and fnmatchcase(topic.name, c.topic)]
    named = {f.partition for f in own_faults} | {c.partition for c in own_commands}
    rows = rows_of_topic(scenario, topic.name, topic.partitions)
    by_ledger = rows_by_member([(n, ranges) for n, (_, ranges) in enumerate(rows)], np.arange(topic.partitions))
    numbers: dict[tuple[tuple[int, ...], int], int] = {}
    of_ledger = np.empty(topic.partitions, np.int64)
    feeds: list[Feed] = []
    for ledger in range(topic.partitions):
        key = (tuple(by_ledger[ledger]), ledger if ledger in named else -1)
        if key not in numbers:
            numbers[key] = len(feeds)
            mine = [f for f in own_faults if f.partition in (None, ledger)]
            asked = [c for c in own_commands if c.partition in (None, ledger)]
            crashes = tuple(sorted((f.from_round, f.fault_id) for f in mine if f.kind == "client_crash"))
            own = tuple(rows[n][0] for n in by_ledger[ledger])
            feeds.append(
                Feed(
                    workload_spans(own, scenario.rounds),
                    command_rows(asked),
                    on_the_way(mine, place),
                    crashes,
                    entry_sizes(own, scenario.rounds),
                    own,
                    tuple(f for f in mine if f.kind in STORE_FAULTS),
                )
            )
        of_ledger[ledger] = numbers[key]
    return of_ledger, feeds


def workload_spans(rows: Sequence[WorkloadRow], rounds: int) -> Spans:
    """(first round, entries a round, adds in flight) of each stretch, from round 0 on; the last one is at FOREVER."""
    edges = sorted({0, *(edge for row in rows for edge in (row.from_round, row.to_round) if 0 <= edge < rounds)})
    spans: list[tuple[int, ...]] = []
    for edge in edges:
        now = [row for row in rows if row.from_round <= edge < row.to_round]
        in_flight = max((row.max_in_flight or 1 for row in now), default=NO_LIMIT)
        spans.append((edge, sum(row.records for row in now), in_flight))
    return (*spans, (FOREVER, 0, NO_LIMIT))


def entry_sizes(rows: Sequence[WorkloadRow], rounds: int) -> Spans:
    """(from_entry, to_entry, records of a round, bytes of a round) of stretches of entries that are alike.

    Entries get their numbers in the order in which the application hands them over, and a writer that refuses some sends none
    after them: so the workload alone says which entry has which size. Entries of several rows count with their mean size.
    """
    edges = sorted({edge for row in rows for edge in (row.from_round, min(row.to_round, rounds))})
    sizes: list[tuple[int, ...]] = []
    entries = 0
    for at, end in pairwise(edges):
        now = [row for row in rows if row.from_round <= at < row.to_round]
        records, size = sum(row.records for row in now), sum(row.records * row.record_bytes for row in now)
        if records > 0:
            sizes.append((entries, entries + records * (end - at), records, size))
            entries = sizes[-1][1]
    return tuple(sizes)


def command_rows(commands: Sequence[Command]) -> Spans:
    """(round, kind, retry) of each, by round and then in the file's order; the last one is at FOREVER."""
    known = [(c.round, COMMAND_KINDS.index(c.kind), int(c.retry is not False)) for c in commands if c.kind in COMMAND_KINDS]
    return (*sorted(known, key=lambda row: row[0]), (FOREVER, 0, 0))


def on_the_way(faults: Sequence[FaultRow], place: dict[int, int]) -> Spans:
    """Rows of records.OnTheWay."""
    return tuple(
        (
            ON_THE_WAY[fault.kind],
            place[fault.broker],
            fault.from_round,
            fault.to_round,
            fault.from_offset or 0,
            FOREVER if fault.to_offset is None else fault.to_offset,
            fault.fault_id,
        )
        for fault in faults
        if fault.kind in ON_THE_WAY and fault.broker in place
    )
