"""Pieces of the page: tables, lists and sections as HTML, and how numbers read in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from emulator.errors import both_ends
from emulator.progress import duration, size

Row = Mapping[str, Any]
LONGEST_CELL_CHARS = 120


@dataclass(frozen=True)
class Column:
    """A column of a table: its title, the name in the rows, how a value reads, and whether a bar behind it shows its size."""

    title: str
    name: str
    shown: Callable[[Any], str] | None = None
    bar: bool = False


def table(name: str, columns: Sequence[Column], rows: Sequence[Row]) -> str:
    """Returns a table that scrolls where it is too wide; each cell of a number has it whole in `data-value`.

    `name`: the table's id on the page.
    """
    largest = {c.name: max((row[c.name] or 0 for row in rows), default=0) for c in columns if c.bar}
    head = "".join(f"<th>{escape(column.title)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(_cell(c, row[c.name], largest.get(c.name, 0)) for c in columns)}</tr>\n" for row in rows)
    return f'<div class="wide"><table id="{name}"><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>'


def turned(name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Returns a table of few rows and many columns turned over: a line for each column of the answer."""
    lines = [[column.replace("_", " "), *values] for column, *values in zip(columns, *rows, strict=True)]
    titles, *rest = lines
    head = "".join(f"<th>{escape(str(title))}</th>" for title in titles)
    plain = Column("", "")
    body = "".join(
        f"<tr><th>{escape(str(first))}</th>{''.join(_cell(plain, v, 0) for v in values)}</tr>\n" for first, *values in rest
    )
    return f'<div class="wide"><table id="{name}"><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>'


def _cell(column: Column, value: Any, largest: float) -> str:
    if value is None:
        return "<td></td>"
    if isinstance(value, bool) or not isinstance(value, int | float):
        text = value if isinstance(value, str) else ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        return f"<td>{column.shown(value) if column.shown else escape(both_ends(text, LONGEST_CELL_CHARS))}</td>"
    text = escape(column.shown(value) if column.shown else number(value))
    size = f' style="--share:{100 * value / largest:.1f}%"' if largest > 0 else ""
    look = "n bar" if size else "n"
    return f'<td class="{look}" data-value="{value!r}"{size}>{text}</td>'


def section(name: str, title: str, *parts: str) -> str:
    """Returns a section of the page with its heading."""
    inner = "\n".join(part for part in parts if part)
    return f'<section id="{name}">\n<h2>{escape(title)}</h2>\n{inner}\n</section>'


def paragraph(text: str, look: str = "") -> str:
    """Returns a paragraph of plain text."""
    shown = f' class="{look}"' if look else ""
    return f"<p{shown}>{escape(text)}</p>"


def bullets(items: Iterable[str]) -> str:
    """Returns a list of plain texts; nothing for none."""
    entries = "".join(f"<li>{escape(item)}</li>\n" for item in items)
    return f"<ul>\n{entries}</ul>" if entries else ""


def inline(svg: str) -> str:
    """Returns an <svg> element without the address that names its kind: within a page it needs none."""
    return svg.replace(' xmlns="http://www.w3.org/2000/svg"', "", 1)


def number(value: float) -> str:
    """Returns a number as a person reads it.

    >>> number(1234567), number(0.25), number(2.0)
    ('1,234,567', '0.25', '2')
    """
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.6g}" if abs(value) < 1000 else f"{value:,.1f}"


def seconds(value: float) -> str:
    """Returns a time span, to the tenth of a second where that is seen.

    >>> seconds(0.5), seconds(32), seconds(330)
    ('0.5 s', '32 s', '5 min 30 s')
    """
    return f"{round(value, 1):g} s" if value < 60 else duration(value)


def rate(value: float) -> str:
    """Returns bytes a second in a decimal unit."""
    return f"{size(value)}/s"


def percent(value: float) -> str:
    """Returns a share in percent.

    >>> percent(0.25), percent(0.001234)
    ('25 %', '0.123 %')
    """
    return f"{100 * value:.3g} %"
