"""A cluster's failure domains as a drawing: brokers by rack on a circle, chords where they share, the worst sets marked."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import cos, pi, sin
from pathlib import Path
from typing import NamedTuple

import numpy as np

from emulator.errors import InputError
from emulator.graphs.communities import shared_partitions
from emulator.graphs.failure_sets import DATA, failure_sets
from emulator.graphs.placed import Placed
from emulator.options import writing

RACK_COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#9d755d", "#72b7b2", "#eeca3b", "#888888")
SET_COLOURS = ("#c62828", "#6a1b9a", "#00695c")
MOST_CHORDS = 600
"""The strongest are drawn: more cover each other."""
_MARGIN, _LEGEND_WIDTH, _RADIUS = 130, 400, 360
_RACK_GAP = 1.5  # between racks, in places of brokers
_SUFFIXES = (".svg", ".html")


class WorstSet(NamedTuple):
    """A copyset: places of its brokers, and how many partitions have all replicas there."""

    brokers: tuple[int, ...]
    partitions: int


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


def worst_sets(cluster: Placed) -> list[WorstSet]:
    """Returns the copysets whose failure loses most partitions, as many as there are colours for."""
    sets, counts = failure_sets(cluster)[DATA]
    order = np.argsort(-counts, kind="stable")[: len(SET_COLOURS)]
    return [WorstSet(tuple(b for b in sets[place].tolist() if b >= 0), int(counts[place])) for place in order]


def svg(cluster: Placed, name: str) -> str:
    """Returns the drawing as an <svg> element."""
    size = 2 * (_RADIUS + _MARGIN)
    angles = _angles(cluster)
    worst = worst_sets(cluster)
    inner = "\n".join(
        [*_chords(cluster, angles), *_marks(worst, angles), *_brokers(cluster, angles), *_legend(cluster, worst, name)]
    )
    label = escape(f"Failure domains of {name}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" width="{size + _LEGEND_WIDTH}" height="{size}"'
        f' viewBox="0 0 {size + _LEGEND_WIDTH} {size}" font-family="DejaVu Sans, Helvetica, Arial, sans-serif">\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{inner}\n</svg>\n'
    )


def _angles(cluster: Placed) -> list[float]:
    """By broker: where it stands on the circle; brokers of a rack are neighbours, with a gap between racks."""
    racks = cluster.rack_places
    order = np.argsort(racks, kind="stable").tolist()
    places, at = {}, 0.0
    for before, broker in zip([None, *order], order, strict=False):
        at += 0 if before is None else 1 if racks[before] == racks[broker] else 1 + _RACK_GAP
        places[broker] = at
    around = at + 1 + _RACK_GAP
    return [2 * pi * places[broker] / around - pi / 2 for broker in range(len(cluster.brokers))]


def _point(angle: float, radius: float) -> tuple[float, float]:
    middle = _RADIUS + _MARGIN
    return middle + radius * cos(angle), middle + radius * sin(angle)


def _chords(cluster: Placed, angles: Sequence[float]) -> list[str]:
    """Pairs that share partitions: the more, the wider and darker; bent towards the middle."""
    pairs, shared = shared_partitions(cluster)
    strongest = np.argsort(-shared, kind="stable")[:MOST_CHORDS][::-1]
    most = int(shared.max(initial=1))
    middle = _RADIUS + _MARGIN
    lines = []
    for place in strongest.tolist():
        (x1, y1), (x2, y2) = (_point(angles[broker], _RADIUS - 8) for broker in pairs[place].tolist())
        weight = int(shared[place]) / most
        width, opacity = 0.8 + 4 * weight**2 * min(1.0, 60 / len(strongest)), 0.15 + 0.35 * weight
        lines.append(
            f'<path d="M{x1:.1f} {y1:.1f}Q{middle} {middle} {x2:.1f} {y2:.1f}" fill="none" stroke="#607d8b"'
            f' stroke-width="{width:.2f}" stroke-opacity="{opacity:.2f}"/>'
        )
    return lines


def _marks(worst: Sequence[WorstSet], angles: Sequence[float]) -> list[str]:
    """The worst sets as polygons, the worst on top."""
    shapes = []
    for colour, found in reversed(list(zip(SET_COLOURS, worst, strict=False))):
        corners = " ".join(
            f"{x:.1f},{y:.1f}" for x, y in (_point(a, _RADIUS - 8) for a in sorted(angles[b] for b in found.brokers))
        )
        shapes.append(f'<polygon points="{corners}" fill="{colour}" fill-opacity="0.10" stroke="{colour}" stroke-width="2.5"/>')
        for broker in found.brokers:
            x, y = _point(angles[broker], _RADIUS)
            shapes.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_dot(len(angles)) + 4:.1f}" fill="{colour}"/>')
    return shapes


def _brokers(cluster: Placed, angles: Sequence[float]) -> list[str]:
    dot = _dot(len(angles))
    font = 14 if len(angles) <= 60 else 7
    shapes = []
    for broker, angle in enumerate(angles):
        x, y = _point(angle, _RADIUS)
        shapes.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{dot:.1f}" fill="{_colour(cluster, broker)}" stroke="#ffffff"/>')
        away = 14 if font >= 14 else 6
        shapes.append(_outwards(str(cluster.brokers[broker]), angle, _RADIUS + dot + away, font, "#24292f"))
    for place, rack in enumerate(cluster.rack_names):
        of_rack = [angles[broker] for broker in np.flatnonzero(cluster.rack_places == place).tolist()]
        middle = (min(of_rack) + max(of_rack)) / 2
        shapes.append(
            _outwards(f"rack {rack}", middle, _RADIUS + dot + 48, 15, RACK_COLOURS[place % len(RACK_COLOURS)], bold=True)
        )
    return shapes


def _outwards(text: str, angle: float, radius: float, font: float, colour: str, bold: bool = False) -> str:
    """Words that begin at a place on the circle and run outwards; on its left half they end there."""
    x, y = _point(angle, radius)
    turned, anchor = (angle * 180 / pi, "start") if cos(angle) >= 0 else (angle * 180 / pi + 180, "end")
    if font >= 14 and not bold:  # few brokers: upright is easier to read
        turned, anchor = 0.0, "start" if cos(angle) > 0.3 else "end" if cos(angle) < -0.3 else "middle"
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{font}" fill="{colour}" text-anchor="{anchor}"{weight}'
        f' transform="rotate({turned:.1f} {x:.1f} {y:.1f})" dy="{font * 0.35:.1f}">{escape(text)}</text>'
    )


def _legend(cluster: Placed, worst: Sequence[WorstSet], name: str) -> list[str]:
    x, y = 2 * (_RADIUS + _MARGIN), 60
    pairs, shared = shared_partitions(cluster)
    drawn = min(len(pairs), MOST_CHORDS)
    lines = [
        (f"Scenario {name}", "#24292f", True),
        (
            f"{len(cluster.brokers)} brokers, {len(cluster.rack_names)} racks, {len(cluster.replicas)} partitions",
            "#24292f",
            False,
        ),
        (f"lines: {drawn} of {len(pairs)} pairs that share partitions,", "#57606a", False),
        (f"the strongest, up to {int(shared.max(initial=0))} each", "#57606a", False),
        ("", "", False),
        ("Must not fail together", "#24292f", True),
    ]
    for colour, found in zip(SET_COLOURS, worst, strict=False):
        ids = ", ".join(str(cluster.brokers[broker]) for broker in found.brokers)
        lines.append((f"{ids}: lose {found.partitions} partition{'s' if found.partitions > 1 else ''}", colour, True))
    weights = {True: ' font-weight="bold"', False: ""}
    return [
        f'<text x="{x}" y="{y + 24 * row}" font-size="15" fill="{colour}"{weights[bold]}>{escape(text)}</text>'
        for row, (text, colour, bold) in enumerate(lines)
        if text
    ]


def _dot(brokers: int) -> float:
    return 11.0 if brokers <= 60 else 3.2


def _colour(cluster: Placed, broker: int) -> str:
    if cluster.racks[broker] is None:
        return RACK_COLOURS[-1]
    return RACK_COLOURS[int(cluster.rack_places[broker]) % len(RACK_COLOURS)]
