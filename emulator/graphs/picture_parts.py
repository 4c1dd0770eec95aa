"""What the drawing of failure domains consists of, each as SVG elements with what it is as a tooltip."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import cos, pi, sin

import numpy as np

from emulator.graphs.communities import shared_partitions
from emulator.graphs.picture_layout import FONT, RADIUS, Layout, Rack, spread, width_of
from emulator.graphs.placed import Placed
from emulator.graphs.worst_sets import WorstSet, WorstSets

RACK_COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#9d755d", "#72b7b2", "#eeca3b", "#888888")
SET_COLOURS = ("#c62828", "#6a1b9a", "#00695c")
MOST_LINES = 150
"""The strongest are drawn: more cover each other."""
_INK, _GREY, _LINE = "#24292f", "#57606a", "#607d8b"


def rack_blocks(layout: Layout) -> list[str]:
    """A block behind the brokers of each rack, and its name outside; where there is no room for names they are tooltips."""
    shapes = []
    outer, inner = RADIUS + layout.band, RADIUS - layout.band
    between = np.diff([(rack.begin + rack.end) / 2 for rack in layout.racks])
    room = float(between.min(initial=2 * pi)) * layout.rack_radius
    upright = room >= max((width_of(f"rack {rack.name}") for rack in layout.racks), default=0)
    for place, rack in enumerate(layout.racks):
        (x1, y1), (x2, y2) = layout.point(rack.begin, outer), layout.point(rack.end, outer)
        (x3, y3), (x4, y4) = layout.point(rack.end, inner), layout.point(rack.begin, inner)
        large = int(rack.end - rack.begin > pi)
        colour = RACK_COLOURS[place % len(RACK_COLOURS)]
        path = f"M{x1:.1f} {y1:.1f}A{outer:.1f} {outer:.1f} 0 {large} 1 {x2:.1f} {y2:.1f}"
        path += f"L{x3:.1f} {y3:.1f}A{inner:.1f} {inner:.1f} 0 {large} 0 {x4:.1f} {y4:.1f}Z"
        title = f"rack {rack.name}: {_number(len(rack.members), 'broker')}"
        shapes.append(f'<path class="rack" d="{path}" fill="{colour}" fill-opacity="0.3">{_title(title)}</path>')
        if room >= FONT + 3:
            shapes.append(_rack_name(layout, rack, upright))
    return shapes


def _rack_name(layout: Layout, rack: Rack, upright: bool) -> str:
    angle = (rack.begin + rack.end) / 2
    x, y = layout.point(angle, layout.rack_radius)
    if upright:
        anchor, turned = "start" if cos(angle) > 0.3 else "end" if cos(angle) < -0.3 else "middle", 0.0
    else:
        anchor, turned = ("start", angle * 180 / pi) if cos(angle) >= 0 else ("end", angle * 180 / pi + 180)
    return _word(f"rack {rack.name}", x, y, _GREY, anchor, bold=True, turned=turned)


def shared_lines(layout: Layout) -> list[str]:
    """Pairs that share most partitions: the more, the wider and darker; those between two racks run together."""
    pairs, shared = shared_partitions(layout.cluster)
    strongest = np.argsort(-shared, kind="stable")[:MOST_LINES][::-1]
    most = int(shared.max(initial=1))
    ids = layout.cluster.brokers
    lines = []
    for place in strongest.tolist():
        one, other = pairs[place].tolist()
        (x1, y1), (x2, y2) = (layout.point(layout.angles[broker], RADIUS - layout.band) for broker in (one, other))
        (x3, y3), (x4, y4) = layout.hubs[one], layout.hubs[other]
        weight = int(shared[place]) / most
        width, opacity = 1 + 4 * weight**2 * min(1.0, 40 / len(strongest)), 0.2 + 0.3 * weight
        title = _title(f"{ids[one]} and {ids[other]}: {_number(int(shared[place]), 'partition')}")
        lines.append(
            f'<path class="shares" d="M{x1:.1f} {y1:.1f}C{x3:.1f} {y3:.1f} {x4:.1f} {y4:.1f} {x2:.1f} {y2:.1f}" fill="none"'
            f' stroke="{_LINE}" stroke-width="{width:.2f}" stroke-opacity="{opacity:.2f}">{title}</path>'
        )
    return lines


def worst_marks(layout: Layout, worst: Sequence[WorstSet]) -> list[str]:
    """The worst sets as polygons, the worst on top, and a ring for each around its brokers."""
    shapes = []
    for colour, found in reversed(list(zip(SET_COLOURS, worst, strict=False))):
        corners = " ".join(
            f"{x:.1f},{y:.1f}"
            for x, y in (layout.point(a, RADIUS - layout.band) for a in sorted(layout.angles[b] for b in found.brokers))
        )
        shapes.append(
            f'<polygon class="worst" points="{corners}" fill="{colour}" fill-opacity="0.06" stroke="{colour}"'
            f' stroke-width="2.5">{_title(_loses(layout.cluster, found))}</polygon>'
        )
    for broker in sorted({broker for found in worst for broker in found.brokers}):
        x, y = layout.point(layout.angles[broker], RADIUS)
        colours = [colour for colour, found in zip(SET_COLOURS, worst, strict=False) if broker in found.brokers]
        for ring, colour in reversed(list(enumerate(colours))):  # full circles, the outermost first: the inner ones cover it
            shapes.append(
                f'<circle class="ring" cx="{x:.1f}" cy="{y:.1f}" r="{layout.dot + 3 * (ring + 1):.1f}" fill="{colour}"/>'
            )
    return shapes


def broker_dots(layout: Layout, worst: Sequence[WorstSet]) -> list[str]:
    """Brokers, and the numbers of all of them if there is room, else of those in the worst sets."""
    cluster = layout.cluster
    held = np.bincount(cluster.replicas[cluster.replicas >= 0], minlength=len(cluster.brokers))
    shapes = []
    for broker, angle in enumerate(layout.angles):
        x, y = layout.point(angle, RADIUS)
        rack = "no rack" if cluster.racks[broker] is None else f"rack {cluster.racks[broker]}"
        title = f"broker {cluster.brokers[broker]}, {rack}, {_number(int(held[broker]), 'partition')}"
        shapes.append(
            f'<circle class="broker" cx="{x:.1f}" cy="{y:.1f}" r="{layout.dot:.1f}" fill="{_colour(cluster, broker)}"'
            f' stroke="#ffffff" stroke-width="{layout.dot / 8:.2f}">{_title(title)}</circle>'
        )
    return shapes + _numbers(layout, worst)


def _numbers(layout: Layout, worst: Sequence[WorstSet]) -> list[str]:
    marked = {broker for found in worst for broker in found.brokers}
    named = range(len(layout.angles)) if layout.all_numbered else marked
    ordered = sorted(named, key=lambda broker: layout.angles[broker])
    apart = 0.0 if layout.all_numbered else (layout.number_width + 4) / layout.number_radius
    shapes = []
    for broker, angle in zip(ordered, spread([layout.angles[broker] for broker in ordered], apart), strict=True):
        x, y = layout.point(angle, layout.number_radius)
        if not layout.all_numbered:  # the number may have been moved: a line leads to it
            word = (abs(cos(angle)) * width_of(str(layout.cluster.brokers[broker])) + abs(sin(angle)) * FONT) / 2
            x1, y1 = layout.point(layout.angles[broker], RADIUS + layout.dot)
            x2, y2 = layout.point(angle, layout.number_radius - word - 3)
            shapes.append(f'<path class="leads" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{_INK}"/>')
        shapes.append(_word(str(layout.cluster.brokers[broker]), x, y, _INK, "middle", bold=broker in marked))
    return shapes


def legend_lines(layout: Layout, found: WorstSets, name: str) -> list[tuple[str, str, bool, str]]:
    """Returns what the legend says: words, colour, bold, and the sample beside them."""
    cluster = layout.cluster
    pairs, shared = shared_partitions(cluster)
    size = f"{_number(len(cluster.brokers), 'broker')}, {_number(len(cluster.rack_names), 'rack')}"
    strongest = np.sort(shared)[::-1][:MOST_LINES]
    lines = [
        (f"Scenario {name}", _INK, True, ""),
        (f"{size}, {_number(len(cluster.replicas), 'partition')}", _INK, False, ""),
        ("", "", False, ""),
    ]
    if cluster.rack_names:
        lines.append(("rack: a block with its brokers", _GREY, False, "block"))
    if len(strongest):
        which = "all" if len(strongest) == len(pairs) else f"the {len(strongest)} strongest of {len(pairs)}"
        low, high = int(strongest[-1]), int(strongest[0])
        each = str(high) if low == high else f"{low} to {high}"
        lines.append((f"partitions that two share: {which},", _GREY, False, "line"))
        lines.append((f"{each} each", _GREY, False, "more"))
    if not layout.all_numbered:
        lines.append(("number of another broker: point at it", _GREY, False, ""))
    if found.worst:
        lines += [("", "", False, ""), ("Must not fail together", _INK, True, "")]
        colours = zip(SET_COLOURS, found.worst, strict=False)
        lines += [(_loses(cluster, each), colour, True, "set") for colour, each in colours]
        more = f"; {found.as_bad} more lose as many as the last" if found.as_bad else ""
        lines.append((f"of {_number(found.copysets, 'copyset')}{more}", _GREY, False, ""))
    return lines


def legend(layout: Layout, lines: Sequence[tuple[str, str, bool, str]]) -> list[str]:
    """The legend's words, with a sample of what each is about."""
    left, shapes = 2 * layout.middle, []
    for row, (text, colour, bold, sample) in enumerate(lines):
        y = 60 + 24 * row
        if sample == "block":
            shapes.append(f'<rect x="{left}" y="{y - 8}" width="24" height="16" fill="{RACK_COLOURS[0]}" fill-opacity="0.3"/>')
            shapes.append(f'<circle cx="{left + 12}" cy="{y}" r="5" fill="{RACK_COLOURS[0]}"/>')
        elif sample == "line":
            shapes.append(f'<path d="M{left} {y}h24" stroke="{_LINE}" stroke-width="2.5" stroke-opacity="0.5"/>')
        elif sample == "set":
            corners = f"{left + 2},{y + 7} {left + 22},{y + 7} {left + 12},{y - 8}"
            shapes.append(
                f'<polygon points="{corners}" fill="{colour}" fill-opacity="0.06" stroke="{colour}" stroke-width="2.5"/>'
            )
        if text:
            shapes.append(_word(text, left + (32 if sample else 0), y, colour, "start", bold))
    return shapes


def _loses(cluster: Placed, found: WorstSet) -> str:
    ids = ", ".join(str(cluster.brokers[broker]) for broker in found.brokers)
    return f"{ids}: lose {_number(found.partitions, 'partition')}"


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _title(text: str) -> str:
    return f"<title>{escape(text)}</title>"


def _word(text: str, x: float, y: float, colour: str, anchor: str, bold: bool = False, turned: float = 0.0) -> str:
    """Words whose height has its middle at y."""
    weight = ' font-weight="bold"' if bold else ""
    turn = f' transform="rotate({turned:.1f} {x:.1f} {y:.1f})"' if turned else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" dy="{FONT * 0.35:.1f}" font-size="{FONT}" fill="{colour}" text-anchor="{anchor}"'
        f"{weight}{turn}>{escape(text)}</text>"
    )


def _colour(cluster: Placed, broker: int) -> str:
    if cluster.racks[broker] is None:
        return RACK_COLOURS[-1]
    return RACK_COLOURS[int(cluster.rack_places[broker]) % len(RACK_COLOURS)]
