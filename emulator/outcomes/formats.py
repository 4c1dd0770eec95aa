"""Rows as text: an aligned table for the eye, CSV and JSON lines for programs."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import chain, islice
from typing import Any, TextIO

from emulator.errors import both_ends

FORMATS = ("table", "csv", "json")
LONGEST_TABLE_CELL_CHARS = 100
# Column widths come from the first rows, so that a long answer need not be held in memory.
ROWS_MEASURED = 1000

RowValues = Sequence[Any]


def write_answer(columns: Sequence[str], rows: Iterable[RowValues], form: str, out: TextIO) -> None:
    """Writes an answer as `table`, `csv` (with a header line) or `json` (one object a line).

    Raises `ValueError` for another `form`, and whatever `rows` raises while it is read.
    """
    if form == "table":
        lines = _table_lines(columns, rows)
    elif form == "csv":
        _write_csv(columns, rows, out)
        return
    elif form == "json":
        lines = _json_lines(columns, rows)
    else:
        raise ValueError(f"format {form!r}; allowed: {', '.join(FORMATS)}")
    out.writelines(line + "\n" for line in lines)


def write_turned(columns: Sequence[str], rows: Iterable[RowValues], out: TextIO) -> None:
    """Writes an answer of few rows and many columns as a table turned over: a line for each column, a column for each row."""
    lines = list(zip(*([_cell(value) for value in row] for row in [columns, *rows]), strict=True))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, tuple("-" * width for width in widths))
    for name, *cells in lines:
        padded = [name.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))]
        out.write("  ".join(padded).rstrip() + "\n")
    if len(widths) == 1:
        out.write("(no rows)\n")


def _table_lines(columns: Sequence[str], rows: Iterable[RowValues]) -> Iterator[str]:
    """Aligns numbers right and the rest left; null is an empty cell, a long cell is cut in its middle."""
    remaining = iter(rows)
    first = list(islice(remaining, ROWS_MEASURED))
    cells = [[_cell(value) for value in row] for row in first]
    titles = [_cell(column) for column in columns]
    widths = [max(map(len, column)) for column in zip(titles, *cells, strict=True)]
    right = [_is_numeric([row[i] for row in first]) for i in range(len(columns))]

    def aligned(texts: Sequence[str]) -> str:
        padded = (t.rjust(w) if r else t.ljust(w) for t, w, r in zip(texts, widths, right, strict=True))
        return "  ".join(padded).rstrip()

    yield aligned(titles)
    yield "  ".join("-" * width for width in widths)
    if not first:
        yield "(no rows)"
    for row in cells:
        yield aligned(row)
    for values in remaining:
        yield aligned([_cell(value) for value in values])


def _write_csv(columns: Sequence[str], rows: Iterable[RowValues], out: TextIO) -> None:
    writer = csv.writer(out, lineterminator="\n")
    for row in chain([columns], rows):
        writer.writerow([_text(value) for value in row])


def _json_lines(columns: Sequence[str], rows: Iterable[RowValues]) -> Iterator[str]:
    names = _unique(columns)
    for row in rows:
        yield _json(dict(zip(names, row, strict=True)))


def _unique(columns: Sequence[str]) -> list[str]:
    """Numbers repeated column names, which an object cannot hold: a, a -> a, a_2."""
    names: list[str] = []
    for column in columns:
        name, count = column, 1
        while name in names:
            count += 1
            name = f"{column}_{count}"
        names.append(name)
    return names


def _cell(value: Any) -> str:
    return both_ends(_text(value), LONGEST_TABLE_CELL_CHARS)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | list | tuple | dict):
        return _json(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    plain = _encodable(value)
    return plain if isinstance(plain, str) else str(plain)


def _json(value: Any) -> str:
    return json.dumps(_encodable(value), ensure_ascii=False, allow_nan=False)


def _encodable(value: Any) -> Any:
    """Turns what JSON has no form for into what it has: dates as ISO 8601, NaN and infinities as their names."""
    if isinstance(value, dict):
        return {str(key): _encodable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(inner) for inner in value]
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return str(value)


def _is_numeric(values: Sequence[Any]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in known)
