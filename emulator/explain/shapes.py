"""The colours and shapes of a drawn story, as pieces of SVG."""

from __future__ import annotations

from emulator.explain.story import FOLLOWER, LEADER, OFFLINE, ZOMBIE

ROLE_STROKES = {
    LEADER: 'stroke="#1a7f37" stroke-width="5"',
    ZOMBIE: 'stroke="#8250df" stroke-width="5" stroke-dasharray="9 3"',
    FOLLOWER: 'stroke="#4f7cac" stroke-width="2.5"',
    OFFLINE: 'stroke="#9aa0a6" stroke-width="2.5" stroke-dasharray="2 4"',
}
ROLE_FILLS = {LEADER: "#dff3e4", ZOMBIE: "#eee5fb", FOLLOWER: "#e8eff7", OFFLINE: "#eceef0"}
ARROW_COLOURS = {"fetch": "#4f7cac", "answer": "#1a7f37", "exchange": "#8a949e", "lost": "#c62828"}
FAULT_COLOUR, LOSS_COLOUR, CUT_COLOUR, OTHER_COLOUR = "#e08700", "#c62828", "#b35900", "#5f6b76"
WORDS_COLOUR = "#24292f"
FAULT = "fault"
_SHAPES = {
    "election": ("diamond", "#1a7f37"),
    "unclean_election": ("diamond", LOSS_COLOUR),
    "leader_lost": ("diamond", "#9aa0a6"),
    "truncate": ("triangle", CUT_COLOUR),
    **dict.fromkeys(("acked_lost", "unacknowledged_lost", "committed_lost", "log_damaged"), ("cross", LOSS_COLOUR)),
    **dict.fromkeys(("fault", "fault_end"), ("square", FAULT_COLOUR)),
    "append": ("dot", "#1a7f37"),
}
_WORD_COLOURS = {
    **dict.fromkeys(("acked_lost", "unacknowledged_lost", "committed_lost", "log_damaged", "unclean_election"), LOSS_COLOUR),
    "truncate": CUT_COLOUR,
    **dict.fromkeys(("fault", "fault_end"), "#9a5b00"),
}


def shape(kind: str, colour: str, x: float, y: float) -> str:
    """Returns a mark of 10 pixels around a point: diamond, triangle, cross, square or dot."""
    if kind == "dot":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}" stroke="#fff"/>'
    if kind == "cross":
        path = f"M{x - 5:.1f} {y - 5:.1f}l10 10m0 -10l-10 10"
        return f'<path d="{path}" stroke="{colour}" stroke-width="3" fill="none"/>'
    outline = {
        "diamond": f"M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z",
        "triangle": f"M{x - 6:.1f} {y + 5:.1f}h12l-6 -10z",
        "square": f"M{x - 4.5:.1f} {y - 4.5:.1f}h9v9h-9z",
    }[kind]
    return f'<path d="{outline}" fill="{colour}" stroke="#fff"/>'


def arrow(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    """Returns an arrow between two points: a head at its end, at both for an exchange, a cross there for a lost one."""
    colour, towards = ARROW_COLOURS[kind], 1 if x2 > x1 else -1
    dashes = ' stroke-dasharray="5 3"' if kind == "lost" else ""
    parts = [f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{colour}" stroke-width="1.5" fill="none"{dashes}/>']
    if kind == "lost":
        parts.append(shape("cross", colour, x2 - 7 * towards, y2))
    else:
        parts.append(_arrow_head(x2, y2, towards, colour))
    if kind == "exchange":
        parts.append(_arrow_head(x1, y1, -towards, colour))
    return "".join(parts)


def _arrow_head(x: float, y: float, towards: int, colour: str) -> str:
    return f'<path d="M{x:.1f} {y:.1f}l{-8 * towards} -4v8z" fill="{colour}"/>'


def shape_of(kind: str) -> tuple[str, str]:
    """Returns shape and colour of the mark of a kind of event; others are a small dot."""
    return _SHAPES.get(kind, ("dot", OTHER_COLOUR))


def word_colour(kind: str) -> str:
    """Returns the colour of the words about a kind of event."""
    return _WORD_COLOURS.get(kind, WORDS_COLOUR)


def lifeline(x: float, from_y: float, to_y: float, role: str) -> str:
    """Returns a stretch of a lifeline in the colour of a role, or of the bar beside it for the role FAULT."""
    if role == FAULT:
        height = to_y - from_y
        return f'<rect x="{x - 11:.1f}" y="{from_y:.1f}" width="5" height="{height:.1f}" fill="{FAULT_COLOUR}" opacity="0.6"/>'
    return f'<path d="M{x:.1f} {from_y:.1f}V{to_y:.1f}" {ROLE_STROKES[role]} fill="none"/>'
