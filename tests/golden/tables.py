"""Tables as the goldens have them: rows of plain values in a canonical order, and their text.

A golden is a file of JSON lines. The first has the table's columns with their types, and how many rows there are. Then come the
rows, each a list; of a large table instead digests: of all rows, of each column, and of each scenario's rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.types as pt

WHOLE = 400
"""Tables of so many rows are stored whole."""

MORE = {"events": 1200, "violations": 1200}
"""Those that tell most are stored whole with more."""

VOLATILE = {"runs": ("run_id", "started_at", "seconds", "versions", "scenario_path")}
"""Columns by table that differ from run to run: their cells are left out."""

LATER = {
    "runs": ("scenario_folder", "scenario_files", "shared_fetchers"),
    "scenarios": ("event_kinds",),
    "faults": ("power", "round_trip_ms", "moment"),
    "fault_rounds": ("power", "round_trip_ms", "moment"),
    "partitions": ("first_leader",),
    "outcomes": ("acked_unreadable", "acked_under_replicated", "sent_unacknowledged", "unacknowledged_lost", "given_up"),
    "lost": ("sent_unacknowledged", "unacknowledged_lost", "kind"),
    "ask_how_do_variants_compare": ("sent_unacknowledged", "unacknowledged_lost"),
    "ask_which_partitions_lost_records": ("kind", "unacknowledged_lost", "seconds"),
    "ask_which_broker_hurts_most": ("unacknowledged_lost",),
    "events": ("records",),
    "event_causes": ("records",),
    "ledgers": (
        *("acked_lost", "acked_unreadable", "acked_under_replicated"),
        *("offloaded_bytes", "offload_read_bytes", "reader_bytes", "reader_remote_bytes", "copy_errors", "given_up_bytes"),
    ),
    "tiering_partitions": ("offloaded_bytes", "offload_read_bytes", "reader_bytes"),
    "topics": ("acked_unreadable", "acked_under_replicated"),
    "ledger_clients": ("attempt_error",),
    "violations": ("kind",),
    "ask_which_invariants_were_violated": ("suspects",),
    "ask_which_protocols_broke_invariants": ("suspects",),
    "broker_rounds": (
        *("entries", "bytes_consumed", "disk_bytes_read", "bytes_uploaded", "bytes_downloaded", "bytes_waiting", "bytes_expired"),
        *("followers_held_rounds", "producers_held_rounds", "consumers_held_rounds", "uploads_held_rounds"),
    ),
    "ask_what_is_still_unhealthy": (
        *("acked_lost", "acked_unreadable", "acked_under_replicated"),
        *("leaderless_seconds", "under_replicated_seconds"),
    ),
}
"""Columns by table that came after the goldens were taken: they are left out."""

LATER_ROWS = {"broker_rounds": "entries"}
"""Tables whose rows with a value in this column came after them, likewise: those of bookies, which test_traffic.py is about."""

ADDED_UP = {"broker_rounds": {"bytes_in": "bytes_produced"}}
"""By table columns that had another's numbers in them when the goldens were taken, which is a column of its own since."""

LATER_TABLES = ("event_counts", "ledger_rounds", "bookie_rounds", "topic_rounds", "ledger_readers", "groups")
"""Tables that came after them, likewise."""

LATER_ANSWERS = (
    "sweep",
    "leaderless_stretches",
    "entry_rounds",
    "tiering_ledgers",
    "commit_latencies",
    "ask_which_case_is_worst",
    "ask_who_suffers_meanwhile",
    "ask_which_setting_suits_which_topic",
    "ask_which_readers_waited",
    "ask_when_was_each_topic_unavailable",
)
"""Views and questions that came after them, likewise: what they answer has tests of its own."""

LONG_TEXT = {"runs": ("scenario_text",)}
"""Columns whose text is kept as a digest: the scenario file stands beside the goldens."""

CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False)
"""Of what digests are of: a row, or a cell."""
A_LINE_EACH = json.JSONEncoder(ensure_ascii=False, separators=("\n", ": "))
"""The same of many cells at once, none of which has parts."""


@dataclass
class Table:
    """Columns with their types, and rows in canonical order."""

    columns: dict[str, str]
    rows: list[list[Any]]

    def sort(self) -> None:
        """Put the rows in order: by all columns, from the first on, nulls first."""
        keys = list(zip(*map(_in_order, zip(*self.rows, strict=True)), strict=True))
        self.rows[:] = [self.rows[at] for at in sorted(range(len(self.rows)), key=keys.__getitem__)]


def _in_order(cells: Sequence[Any]) -> Sequence[Any]:
    """What the cells of a column are ordered by."""
    if _is_nested(cells):
        return [(False, "") if cell is None else (True, json.dumps(cell, sort_keys=True)) for cell in cells]
    return [(False, 0) if cell is None else (True, cell) for cell in cells] if None in cells else cells


def _is_nested(cells: Sequence[Any]) -> bool:
    return not {list, dict}.isdisjoint(map(type, cells))


def _kind(of: pa.DataType) -> str:
    """A type without the names that writers give to the parts of lists and maps, and without what may be null."""
    if pt.is_list(of):
        return f"list<{_kind(of.value_type)}>"
    if pt.is_map(of):
        return f"map<{_kind(of.key_type)}, {_kind(of.item_type)}>"
    if pt.is_timestamp(of):
        return "timestamp"
    if pt.is_struct(of):
        return f"struct<{', '.join(f'{field.name}: {_kind(field.type)}' for field in of)}>"
    return str(of)


def read_tables(folder: Path) -> dict[str, Table]:
    """Every table of a run, by its name."""
    paths = [path for path in sorted(folder.iterdir()) if path.is_dir() and path.name[0] not in "._"]
    return {path.name: read_table(path) for path in paths if path.name not in LATER_TABLES}


def read_table(path: Path) -> Table:
    """One table of a run."""
    return as_table(path.name, ds.dataset(path, format="parquet").to_table())


def as_table(name: str, found: pa.Table) -> Table:
    """A table as the goldens have it."""
    if name in LATER_ROWS and LATER_ROWS[name] in found.column_names:
        found = found.filter(pc.is_null(found.column(LATER_ROWS[name])))
    found = found.drop_columns([column for column in LATER.get(name, ()) if column in found.column_names])
    for column, other in ADDED_UP.get(name, {}).items():
        both = pc.add(found.column(column), found.column(other))
        found = found.set_column(found.column_names.index(column), column, both).drop_columns([other])
    values = []
    for field in found.schema:
        cells = found.column(field.name).to_pylist()
        if pt.is_map(field.type):
            cells = [None if cell is None else dict(cell) for cell in cells]
        if field.name in VOLATILE.get(name, ()):
            cells = [None] * len(cells)
        if field.name in LONG_TEXT.get(name, ()):
            cells = [_sha256([CANONICAL.encode(cell)]) for cell in cells]
        values.append(cells)
    table = Table({field.name: _kind(field.type) for field in found.schema}, [list(row) for row in zip(*values, strict=True)])
    table.sort()
    return table


def golden_lines(name: str, table: Table) -> list[str]:
    """The table as the lines of its golden."""
    head = {"rows": len(table.rows), "columns": table.columns}
    if len(table.rows) <= MORE.get(name, WHOLE):
        return [_json(head), *map(_json, table.rows)]
    texts = list(map(CANONICAL.encode, table.rows))
    of_columns = zip(table.columns, zip(*table.rows, strict=True), strict=True)
    lines = [head, {"all": _sha256(texts)}, *({"column": name, "sha256": _sha256(_texts(cells))} for name, cells in of_columns)]
    if "scenario_id" in table.columns:
        at = list(table.columns).index("scenario_id")
        by_scenario: dict[int, list[str]] = {}
        for row, text in zip(table.rows, texts, strict=True):
            by_scenario.setdefault(row[at], []).append(text)
        lines += [{"scenario_id": n, "rows": len(own), "sha256": _sha256(own)} for n, own in sorted(by_scenario.items())]
    return [_json(line) for line in lines]


def whole_lines(table: Table) -> list[str]:
    """Every row of a table of any size, as text to compare with another run's."""
    return [_json(list(table.columns)), *map(_json, table.rows)]


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=not isinstance(value, dict), ensure_ascii=False, separators=(",", ":"))


def _texts(cells: Sequence[Any]) -> list[str]:
    """Each cell of a column as its digest has it; those of plain numbers and texts by one call."""
    return list(map(CANONICAL.encode, cells)) if _is_nested(cells) else A_LINE_EACH.encode(cells)[1:-1].split("\n")


def _sha256(texts: Iterable[str]) -> str:
    return hashlib.sha256("".join(f"{text}\n" for text in texts).encode()).hexdigest()
