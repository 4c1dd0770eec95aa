"""A cluster's failure domains as a drawing: brokers by rack on a circle, lines where they share, the worst sets marked."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from emulator.errors import InputError
from emulator.graphs.picture_layout import Layout, width_of
from emulator.graphs.picture_parts import (
    SET_COLOURS,
    broker_dots,
    legend,
    legend_lines,
    rack_blocks,
    shared_lines,
    worst_marks,
)
from emulator.graphs.placed import Placed
from emulator.graphs.worst_sets import worst_sets
from emulator.storage.written_file import writing

_SUFFIXES = (".svg", ".html")


def refuse_other_formats(path: str) -> None:
    """Raises InputError for a file that is neither SVG nor HTML."""
    if not path.endswith(_SUFFIXES):
        raise InputError(f"--picture: {path} is of no known format; allowed: a file that ends in {' or '.join(_SUFFIXES)}")


def write_picture(clusters: Sequence[Placed], names: Sequence[str], path: str) -> None:
    """Writes the drawings of clusters, one below the other: as a page, or the first one as SVG.

    `names`: of their scenarios. Raises InputError if the file cannot be written.
    """
    text = svg(clusters[0], names[0])
    if path.endswith(".html"):
        parts = [f"<h2>{escape(name)}</h2>\n{svg(each, name)}" for each, name in zip(clusters, names, strict=True)]
        title = "Which brokers must not fail together"
        style = "<style>body { font: 15px system-ui, sans-serif; margin: 1.5rem; }</style>"
        head = f'<meta charset="utf-8"><title>{title}</title>\n{style}'
        body = "\n".join([f"<h1>{title}</h1>", *parts])
        text = f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n<body>\n{body}\n</body>\n</html>\n'
    with writing("--picture", path):
        Path(path).write_text(text, "utf-8")


def svg(cluster: Placed, name: str) -> str:
    """Returns the drawing as an <svg> element."""
    layout = Layout(cluster)
    found = worst_sets(cluster, len(SET_COLOURS))
    words = legend_lines(layout, found, name)
    shapes = [
        *rack_blocks(layout),
        *shared_lines(layout),
        *worst_marks(layout, found.worst),
        *broker_dots(layout, found.worst),
        *legend(layout, words),
    ]
    height = round(2 * layout.middle)
    width = height + round(max(width_of(text) for text, *_ in words)) + 40
    inner = "\n".join(shapes)
    label = escape(f"Failure domains of {name}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" font-family="DejaVu Sans, Helvetica, Arial, sans-serif">\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{inner}\n</svg>\n'
    )
