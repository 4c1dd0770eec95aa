"""The report's charts: what was unavailable when, and what brokers carried, at a handful of brokers and at hundreds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from emulator.report import questions
from emulator.report.chart import PLACEHOLDERS, chart
from emulator.report.markup import Row
from emulator.report.style import LIGHT
from emulator.scenario.protocols import LEDGER_PROTOCOLS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_CELLS = 2_000
"""Of a grid that are drawn one by one; of more it is a picture."""

MOST_FAULTS = 14
"""Faults that each have a row of the timeline; more share one for each kind."""

_WIDTH = 11.0
_CHARACTER = 0.06
"""Inches: width of the figures, and of a character of 8 points at most, in the mean."""
_SPANS = ((2 * 86400.0, 86400.0, "days"), (2 * 3600.0, 3600.0, "hours"), (300.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))
_TRAFFIC = [("bytes_in", "Fetched from other brokers"), ("bytes_out", "Served to other brokers")]
_TRAFFIC_OF_BOOKIES = (
    ("bytes_produced", "Taken from clients"),
    ("bytes_in", "Copied from other bookies"),
    ("bytes_out", "Read by clients and for copies"),
)
_SATURATED = ("network_in_saturated_rounds", "network_out_saturated_rounds", "disk_saturated_rounds", "throttled_rounds")


def time_unit(total_seconds: float) -> tuple[float, str]:
    """Returns how many seconds the unit of an axis of so many has, and its name."""
    return next((seconds, name) for least, seconds, name in _SPANS if total_seconds >= least)


@dataclass(frozen=True)
class Panel:
    """A part of the chart over time. `rows`: by round how much a count changes (`is_level`), or how many there were."""

    title: str
    colour: str
    rows: Sequence[Row]
    is_level: bool = False


OF_LEDGERS = (
    ("acked_lost", "Acknowledged entries lost", "lost"),
    ("add_failed", "Adds that failed", "gone"),
    ("ensemble_change", "Ensemble changes", "short"),
    ("underreplicated", "Bookies of fragments found missing", "gone"),
    ("rereplicated", "Bookies of fragments replaced by autorecovery", "short"),
    ("recovery_started", "Recoveries begun", "soft"),
)
"""Kinds of events of ledgers that have a panel, its title and its colour."""


def panels(scenario: Row, rows: Callable[[str], Sequence[Row]]) -> list[Panel]:
    """Returns what of a scenario is drawn over time, above its faults. `rows`: asks a question of report/questions.py."""
    if scenario["protocol"] in LEDGER_PROTOCOLS:
        counts: dict[str, list[Row]] = {}
        for row in rows(questions.LEDGER_EVENTS):
            counts.setdefault(row["kind"], []).append(row)
        return [Panel(title, colour, counts[kind]) for kind, title, colour in OF_LEDGERS if kind in counts]
    gone, short, losses = map(rows, (questions.WITHOUT_LEADER, questions.UNDER_REPLICATED, questions.LOSSES))
    return [
        Panel("Partitions without a leader", "gone", gone, is_level=True),
        Panel("Under-replicated partitions (ISR smaller than the replica list)", "short", short, is_level=True),
        *([Panel("Acknowledged records lost at elections", "lost", losses)] if losses else []),
    ]


def timeline(scenario: Row, drawn: Sequence[Panel], faults: Sequence[Row]) -> str:
    """Returns the chart of `timeline_figure` as a part of the page; nothing where there is nothing to draw."""
    if not drawn and not faults:
        return ""
    said = [panel.title for panel in drawn]
    return chart(timeline_figure(scenario, drawn, faults), "timeline", f"Over time: {'; '.join([*said, 'faults'])}")


def timeline_figure(scenario: Row, drawn: Sequence[Panel], faults: Sequence[Row]) -> Figure:
    """Returns the chart over time of some panels, one above the other, and of faults (report/questions.py, FAULTS)."""
    rounds, seconds = int(scenario["rounds"]), float(scenario["rounds"]) * scenario["round_ms"] / 1000
    scale, unit = time_unit(seconds)
    each = scenario["round_ms"] / 1000 / scale
    lanes = _lanes(faults, rounds)
    heights = [*(1.5 if panel.is_level else 1.0 for panel in drawn), *([0.22 * len(lanes) + 0.1] if lanes or not drawn else [])]
    names = max((len(name) for name, _ in lanes), default=0)
    figure, axes = _stacked(heights, max(0.75, 0.16 + _CHARACTER * names))
    for place, panel in enumerate(drawn):
        if panel.is_level:
            _steps(axes[place], panel.rows, rounds, each, panel.colour, panel.title)
        else:
            _sticks(axes[place], panel, each)
    if lanes:
        _bars(axes[-1], lanes, each)
    axes[-1].set_xlabel(unit)
    axes[-1].set_xlim(0, rounds * each)
    for part in axes[:-1]:
        part.tick_params(labelbottom=False)
    above = axes[0].secondary_xaxis("top", functions=(lambda x: x / each, lambda x: x * each))
    above.set_xlabel("round", fontsize=8)
    above.tick_params(labelsize=8)
    above.xaxis.set_major_formatter("{x:,.0f}")
    return figure


def _stacked(heights: Sequence[float], left: float) -> tuple[Figure, list[Axes]]:
    """A figure of axes one above the other that share x, placed in inches: layouts of matplotlib draw all of it to measure it."""
    from matplotlib.figure import Figure

    above, title, below = 0.66, 0.36, 0.46
    whole = above + sum(heights) + title * (len(heights) - 1) + below
    figure = Figure(figsize=(_WIDTH, whole))
    axes: list[Axes] = []
    top = whole - above
    for height in heights:
        place = (left / _WIDTH, (top - height) / whole, (_WIDTH - left - 0.2) / _WIDTH, height / whole)
        axes.append(figure.add_axes(place, sharex=axes[0] if axes else None))
        top -= height + title
    return figure, axes


def levels(changes: Sequence[Row], rounds: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the rounds at which a count changes, from 0 to the end, and the count from each of them on."""
    at = np.array([0, *(row["round"] for row in changes), rounds], np.int64)
    counts = np.cumsum([0, *(row["change"] for row in changes), 0])
    within = np.clip(at, 0, rounds)
    last = np.append(np.diff(within) > 0, True)  # of several at one place the last holds
    return within[last], counts[last]


def _steps(axes: Axes, changes: Sequence[Row], rounds: int, each: float, colour: str, title: str) -> None:
    from matplotlib.ticker import MaxNLocator

    at, counts = levels(changes, rounds)
    axes.fill_between(at * each, counts, step="post", color=PLACEHOLDERS[colour], alpha=0.35, linewidth=0)
    axes.step(at * each, counts, where="post", color=PLACEHOLDERS[colour], linewidth=1.2)
    axes.set_title(title)
    axes.set_ylim(0, max(1, int(counts.max())) * 1.08)
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="y", linewidth=0.5)


def _sticks(axes: Axes, panel: Panel, each: float) -> None:
    from matplotlib.ticker import MaxNLocator

    at = [row["round"] * each for row in panel.rows]
    records = [row["records"] for row in panel.rows]
    axes.vlines(at, 0, records, color=PLACEHOLDERS[panel.colour], linewidth=2)
    axes.plot(at, records, ".", color=PLACEHOLDERS[panel.colour])
    axes.set_title(panel.title)
    axes.set_ylim(0, max(records) * 1.12)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="y", linewidth=0.5)


def _lanes(faults: Sequence[Row], rounds: int) -> list[tuple[str, list[tuple[int, int]]]]:
    """Rows of bars, from above: a name and the rounds [from, to) of each."""
    there = [fault for fault in faults if fault["fault_id"] is not None]
    spans: dict[str, list[tuple[int, int]]] = {}
    for fault in sorted(there, key=lambda fault: (fault["from_round"], fault["fault_id"])):
        start = min(max(fault["from_round"], 0), rounds)
        end = rounds if fault["to_round"] is None else min(max(fault["to_round"], start), rounds)
        words = f"{fault['kind']} {fault['struck']}".strip() if len(there) <= MOST_FAULTS else str(fault["kind"])
        spans.setdefault(words, []).append((start, end))
    return [(name if len(of) == 1 else f"{name} ×{len(of)}", of) for name, of in spans.items()]


def _bars(axes: Axes, lanes: Sequence[tuple[str, list[tuple[int, int]]]], each: float) -> None:
    for place, (_, spans) in enumerate(lanes):
        bars = [(start * each, max(end - start, 0.5) * each) for start, end in spans]
        colour, seen = PLACEHOLDERS["fault"], 0.6 if len(bars) < 4 else 0.4
        axes.broken_barh(bars, (place - 0.36, 0.72), facecolors=colour, edgecolors=colour, linewidth=1, alpha=seen)
    axes.set_yticks(range(len(lanes)), [name for name, _ in lanes], fontsize=8)
    axes.set_ylim(len(lanes) - 0.5, -0.5)
    axes.set_title("Faults in force")
    axes.tick_params(axis="y", length=0)


def traffic(scenario: Row, rows: Sequence[Row]) -> str:
    """Returns the chart of bytes that each broker, or bookie, took and gave over time. `rows`: of BROKER_ROUNDS.

    Of bookies only what there was; nothing, if there was none.
    """
    wanted = _TRAFFIC
    if scenario["protocol"] in LEDGER_PROTOCOLS:
        wanted = [(name, title) for name, title in _TRAFFIC_OF_BOOKIES if any(row[name] for row in rows)]
        if not wanted:
            return ""
    figure, parts, frame = _panels(scenario, rows, len(wanted))
    seconds = np.diff(frame.edges) * frame.unit_seconds
    all_values = [frame.of(rows, name) / seconds / 1e6 for name, _ in wanted]
    most = max(float(np.nanmax(each, initial=0.0)) for each in all_values)
    for axes, values, (_, title) in zip(parts, all_values, wanted, strict=True):
        drawn = frame.draw(axes, values, title, "heat", most)
    _scale(figure, drawn, "MB/s")
    return chart(figure, "traffic", f"Traffic by {frame.who} over time")


def saturation(scenario: Row, rows: Sequence[Row]) -> str:
    """Returns the chart of how long budgets and throttles held each broker back; empty where none did."""
    kinds = [name for name in _SATURATED if any(row[name] for row in rows)]
    if not kinds:
        return ""
    figure, parts, frame = _panels(scenario, rows, len(kinds))
    for axes, name in zip(parts, kinds, strict=True):
        values = 100 * frame.of(rows, name) / frame.of(rows, None)
        drawn = frame.draw(axes, values, name.removesuffix("_rounds").replace("_", " "), "hot", 100.0)
    _scale(figure, drawn, "% of rounds")
    return chart(figure, "saturation", f"Share of rounds in which a budget or throttle held a {frame.who} back")


def _scale(figure: Figure, drawn: Any, label: str) -> None:
    """What the colours mean, right of the panels."""
    height = figure.get_figheight()
    place = (1 - 0.83 / _WIDTH, 0.46 / height, 0.14 / _WIDTH, 1 - 0.78 / height)
    figure.colorbar(drawn, cax=figure.add_axes(place), label=label)


class _Frame:
    """Brokers and the edges of time buckets, as a grid."""

    def __init__(self, scenario: Row, rows: Sequence[Row]) -> None:
        seconds = float(scenario["rounds"]) * scenario["round_ms"] / 1000
        self.who = "bookie" if scenario["protocol"] in LEDGER_PROTOCOLS else "broker"
        self.unit_seconds, self.unit = time_unit(seconds)
        self.brokers = sorted({row["broker"] for row in rows})
        self.starts = sorted({row["from_round"] for row in rows})
        ends = max(row["to_round"] for row in rows)
        self.edges = np.array([*self.starts, ends]) * scenario["round_ms"] / 1000 / self.unit_seconds
        self._places = {broker: place for place, broker in enumerate(self.brokers)}
        self._buckets = {start: place for place, start in enumerate(self.starts)}

    def of(self, rows: Sequence[Row], name: str | None) -> NDArray[np.float64]:
        """A column by broker and bucket; None: how many rounds the bucket has."""
        grid = np.full((len(self.brokers), len(self.starts)), np.nan)
        for row in rows:
            value = row["to_round"] - row["from_round"] if name is None else row[name]
            grid[self._places[row["broker"]], self._buckets[row["from_round"]]] = value
        return grid

    def draw(self, axes: Axes, values: NDArray[np.float64], title: str, colour: str, most: float) -> Any:
        """Colours a cell the more the larger its value; none at 0."""
        drawn = axes.pcolormesh(
            self.edges,
            np.arange(len(self.brokers) + 1) - 0.5,
            values,
            cmap=_shades(colour),
            vmin=0,
            vmax=most or 1,
            rasterized=values.size > MOST_CELLS,
        )
        axes.set_title(title)
        axes.set_xlabel(self.unit)
        axes.set_ylim(len(self.brokers) - 0.5, -0.5)
        step = max(1, -(-len(self.brokers) // 25))
        shown = list(range(0, len(self.brokers), step))
        axes.set_yticks(shown, [str(self.brokers[place]) for place in shown], fontsize=8)
        return drawn


def _panels(scenario: Row, rows: Sequence[Row], count: int) -> tuple[Figure, Sequence[Axes], _Frame]:
    from matplotlib.figure import Figure

    frame = _Frame(scenario, rows)
    height = min(max(0.24 * len(frame.brokers) + 1.1, 2.0), 6.5)
    figure = Figure(figsize=(_WIDTH, height), dpi=150)
    parts = figure.subplots(1, count, squeeze=False, sharey=True)[0]
    figure.subplots_adjust(0.68 / _WIDTH, 0.46 / height, 1 - 0.95 / _WIDTH, 1 - 0.32 / height, wspace=0.28 / (_WIDTH / count))
    parts[0].set_ylabel(frame.who)
    return figure, parts, frame


def _shades(colour: str) -> Any:
    """From nothing to a colour that reads on white and on black."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgb

    full = to_rgb(LIGHT[colour])
    return LinearSegmentedColormap.from_list(colour, [(*full, 0.04), (*full, 1.0)])
