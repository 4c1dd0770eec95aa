"""Checks of what a scenario starts with, each row by itself: what a partition, a log or a remote segment can be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.errors import listing, quoted
from emulator.scenario.initial_others import REPLICA_ALLOWED, pairs
from emulator.scenario.rows import Rows
from emulator.scenario.shapes import SEGMENT_STATES
from emulator.scenario.topics import Layout

OFFSET_ORDER: Sequence[tuple[str, str]] = (
    ("log_start_offset", "local_log_start_offset"),
    ("local_log_start_offset", "leo"),
    ("log_start_offset", "hw"),
    ("hw", "leo"),
    ("flushed_offset", "leo"),
)


def check_keys(rows: Rows, layout: Layout) -> np.ndarray:
    """Returns the layout's row number of each (topic, partition); raises InputError for one that does not exist."""
    rows.check_member("topic", list(layout.first), "topic", listing(layout.first))
    firsts = np.array([*layout.first.values(), len(layout.replicas)], np.int64)
    limits = dict(zip(layout.first, np.diff(firsts).tolist(), strict=True))
    rows.check_range("partition", 0)
    rows.check_partition(rows.check_topics(limits))
    return layout.keys(rows.table.column("topic"), rows.table.column("partition"))


def check_partition_rows(rows: Rows, layout: Layout) -> None:
    """Raises InputError for the first row whose leader, ISR or ELR is not one the partition can have."""
    keys = check_keys(rows, layout)
    leaders = rows.table.column("leader")
    led = pc.greater_equal(pc.fill_null(leaders, -1), 0).to_numpy()
    holds = layout.holds(keys, pc.fill_null(leaders, -1).to_numpy())
    rows.refuse(pa.array(led & ~holds), "leader", "broker {value} holds no replica", f"-1 or {REPLICA_ALLOWED}")
    for column in ("isr", "elr"):
        _check_members(rows, layout, keys, column)
    isr, elr = (rows.table.column(name).combine_chunks() for name in ("isr", "elr"))
    members, parents = isr.flatten().to_numpy(), pc.list_parent_indices(isr).to_numpy()
    has_leader = np.zeros(len(isr), bool)
    has_leader[parents[members == pc.fill_null(leaders, -1).to_numpy()[parents]]] = True
    lacks = led & pc.is_valid(isr).to_numpy(zero_copy_only=False) & ~has_leader
    if lacks.any():
        row = int(lacks.argmax())
        problem = f"{quoted(isr[row].as_py())} lacks the leader, broker {leaders[row].as_py()}"
        raise rows.error(row, "isr", problem, "a list with the leader")
    eligible, of = elr.flatten().to_numpy(), pc.list_parent_indices(elr).to_numpy()
    both = np.flatnonzero(np.isin(pairs(of, eligible), pairs(parents, members)))
    if len(both):
        row = int(of[both[0]])
        problem = f"broker {min({*isr[row].as_py()} & {*elr[row].as_py()})} is in the ISR as well"
        raise rows.error(row, "elr", problem, "brokers outside the ISR")


def _check_members(rows: Rows, layout: Layout, keys: np.ndarray, column: str) -> None:
    lists = rows.table.column(column).combine_chunks()
    brokers, parents = lists.flatten().to_numpy(), pc.list_parent_indices(lists).to_numpy()
    strangers = ~layout.holds(keys[parents], brokers)
    if strangers.any():
        at = int(strangers.argmax())
        raise rows.error(int(parents[at]), column, f"broker {brokers[at]} holds no replica", REPLICA_ALLOWED)
    order = np.lexsort((brokers, parents))
    twice = (np.diff(parents[order]) == 0) & (np.diff(brokers[order]) == 0)
    if twice.any():
        at = int(order[int(twice.argmax())])
        raise rows.error(int(parents[at]), column, f"broker {brokers[at]} stands twice", "each broker once")


def check_replica_rows(rows: Rows, layout: Layout) -> None:
    """Raises InputError for the first row of no replica there is, or whose offsets or epochs contradict each other."""
    keys = check_keys(rows, layout)
    brokers = rows.table.column("broker")
    rows.refuse(pa.array(~layout.holds(keys, brokers.to_numpy())), "broker", "broker {value} holds no replica",
                REPLICA_ALLOWED)  # fmt: skip
    check_logs(rows)


def check_logs(rows: Rows) -> None:
    """Raises InputError for the first row whose offsets, epochs or segments contradict each other."""
    for low, high in OFFSET_ORDER:
        lows, highs = rows.table.column(low), rows.table.column(high)
        column = "leo" if low == "local_log_start_offset" else high if high == "hw" else low
        words = f"{low} <= {high}"
        rows.refuse(pc.greater(lows, highs), column, f"{{value}}: {low} is above {high}", words)
    check_epochs(rows, "leo")
    _check_segment_bases(rows)


def check_epochs(rows: Rows, end: str | None) -> None:
    """Raises InputError for the first epoch cache that does not rise in both columns, or goes beyond column `end`."""
    caches = rows.table.column("epochs").combine_chunks()
    entries, parents = caches.flatten(), pc.list_parent_indices(caches).to_numpy()
    epochs, starts = entries.field("epoch").to_numpy(), entries.field("start_offset").to_numpy()
    same = parents[1:] == parents[:-1]
    falling = np.zeros(len(parents), bool)
    falling[1:] = same & ((epochs[1:] <= epochs[:-1]) | (starts[1:] <= starts[:-1]))
    for bad, problem in (
        (falling, "{value}: epochs or start offsets do not rise"),
        ((epochs < 0) | (starts < 0), "{value}: an epoch or start offset is negative"),
        (
            starts > rows.table.column(end).to_numpy()[parents] if end else falling,
            "{value}: an epoch starts beyond leo",
        ),
    ):
        mask = np.zeros(len(caches), bool)
        mask[parents[bad]] = True
        row = int(mask.argmax()) if mask.any() else -1
        if row >= 0:
            shown = [[entry["epoch"], entry["start_offset"]] for entry in caches[row].as_py()]
            allowed = "[epoch, start offset] pairs, both strictly increasing, from 0 to leo"
            raise rows.error(row, "epochs", problem.format(value=quoted(shown)), allowed)


def _check_segment_bases(rows: Rows) -> None:
    lists = rows.table.column("segments").combine_chunks()
    parents = pc.list_parent_indices(lists).to_numpy()
    if not len(parents):
        return
    start, leo = (rows.table.column(name).to_numpy() for name in ("local_log_start_offset", "leo"))
    bases = pc.fill_null(lists.flatten(), -1).to_numpy()
    falls = (bases < 0) | np.append(False, (parents[1:] == parents[:-1]) & (bases[1:] <= bases[:-1]))
    outside = (bases < start[parents]) | (bases > leo[parents])
    if (falls | outside).any():
        row = int(parents[(falls | outside).argmax()])
        problem = "bases do not rise" if falls[parents == row].any() else "a base is outside of the local log"
        shown = f"{lists[row].as_py()}: {problem}"
        raise rows.error(row, "segments", shown, f"offsets from {start[row]} to {leo[row]} that rise")


def check_segment_rows(rows: Rows, layout: Layout) -> None:
    """Raises InputError for the first remote segment of no partition there is, or that is none."""
    check_keys(rows, layout)
    for column in ("base_offset", "bytes"):
        rows.check_range(column, 0)
    rows.check_member("state", SEGMENT_STATES, "state", listing(SEGMENT_STATES))
    base, end = rows.table.column("base_offset"), rows.table.column("end_offset")
    rows.refuse(pc.less(end, base), "end_offset", "{value} is below base_offset", "base_offset or more, it is inclusive")
    check_epochs(rows, None)
