"""`emulator compare DIR --report tiering --picture FILE`: what each scenario costs, holds over time and risks, in one picture.

matplotlib draws it, and is imported only here, when a picture is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.errors import EnvironmentProblem, InputError, listing
from emulator.storage.written_file import writing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = Mapping[str, Any]

FORMATS: dict[str, dict[str, Any]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
"""How a file may end, and what keeps the date out of it: the same run gives the same file."""

OVER_TIME = """
SELECT s.name AS scenario, t.to_round * CAST(s.round_ms AS DOUBLE) / 3600000 AS hours, t.local_bytes, t.remote_bytes
FROM tiering_rounds t
JOIN scenarios s ON s.scenario_id = t.scenario_id
ORDER BY t.scenario_id, t.to_round
"""
"""The bytes of every scenario at the ends of time buckets."""

MOST_MARKED = 20
"""Time buckets that each have a mark on their line; more would hide it."""

_PARTS = {
    "instances": ("instances_cost",),
    "local volumes": ("local_cost",),
    "remote storage": ("remote_cost",),
    "requests": ("put_cost", "get_cost", "list_cost", "delete_cost"),
    "between racks": ("cross_rack_cost", "cross_rack_read_cost"),
}
"""Parts of a month's bill, and the report's columns that each adds up."""

_TROUBLE = {
    "never_joined": "not in the ISR at the end",
    "acked_lost": "acknowledged records lost",
    "committed_lost": "committed records lost",
}
"""What went wrong: columns of the report, in words."""

_INCHES = (12.0, 8.0)


def refuse_other_formats(path: str) -> None:
    """Raises InputError for a file whose name does not end as a picture's, and EnvironmentProblem without matplotlib."""
    if format_of(path) not in FORMATS:
        raise InputError(f"--picture: {path} is of no known format; allowed: a file that ends in {listing(FORMATS)}")
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise EnvironmentProblem("a picture takes matplotlib: pip install matplotlib") from error


def write_picture(report: Sequence[Row], over_time: Sequence[Row], path: str) -> None:
    """Writes the picture, in the format that the file's name ends in.

    `report`: rows of `tiering_report_sql`, one for each scenario. `over_time`: rows of OVER_TIME. Raises InputError if the file
    cannot be written.
    """
    import matplotlib

    # Text stays text, and ids of parts do not change.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "emulator", "font.size": 9}):
        drawn = tiering_figure(report, over_time)
        with writing("--picture", path):
            drawn.savefig(path, metadata=FORMATS[format_of(path)])


def format_of(path: str) -> str:
    """The ending of a file's name, without the dot."""
    return Path(path).suffix.removeprefix(".").lower()


def tiering_figure(report: Sequence[Row], over_time: Sequence[Row]) -> Figure:
    """Returns the figure, drawn with whatever settings of matplotlib hold."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=_INCHES, layout="constrained")
    (bill, disks), (risk, store) = figure.subplots(2, 2)
    _draw_bill(bill, report)
    _draw_bytes(disks, over_time, "local_bytes", "Bytes on brokers' disks")
    _draw_bytes(store, over_time, "remote_bytes", "Bytes in remote storage")
    _draw_risk(risk, report)
    return figure


def _draw_bill(axes: Axes, report: Sequence[Row]) -> None:
    names = [str(row["scenario"]) for row in report]
    left = [0.0] * len(report)
    for part, columns in _PARTS.items():
        costs = [sum(row[column] or 0.0 for column in columns) for row in report]
        axes.barh(names, costs, left=left, label=part)
        left = [before + cost for before, cost in zip(left, costs, strict=True)]
    for at, total in enumerate(left):
        beside(axes, total, at, f"{total:,.0f}")
    axes.set_title(f"A month's bill, {report[0]['currency'] if report else ''}")
    axes.set_xlim(0, max([*left, 1.0]) * 1.15)
    axes.locator_params(axis="x", nbins=6)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.invert_yaxis()
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.1), ncols=3, frameon=False)  # below: bars may reach any place within


def _draw_bytes(axes: Axes, over_time: Sequence[Row], column: str, title: str) -> None:
    """A line for each scenario; dashed ones are seen through where they lie on each other."""
    names = list(dict.fromkeys(row["scenario"] for row in over_time))
    unit, divisor = _unit(max((row[column] for row in over_time), default=0))
    for at, name in enumerate(names):
        rows = [row for row in over_time if row["scenario"] == name]
        dashes = "-" if at == 0 else (at * 2, (4, len(names)))
        marker = "." if len(rows) <= MOST_MARKED else None
        hours = [row["hours"] for row in rows]
        axes.plot(hours, [row[column] / divisor for row in rows], linestyle=dashes, marker=marker, label=name)
    axes.set_title(title)
    axes.set_xlabel("hours")
    axes.set_ylabel(unit)
    axes.set_ylim(bottom=0)
    axes.legend(framealpha=0.8)


def beside(axes: Axes, end: float, at: float, text: str) -> None:
    """Writes what a bar says three points beyond its end: of a blank before it SVG would show nothing."""
    axes.annotate(text, (end, at), xytext=(3, 0), textcoords="offset points", va="center")


def _draw_risk(axes: Axes, report: Sequence[Row]) -> None:
    """How long new followers took into the ISR, and in words what went wrong."""
    names = [str(row["scenario"]) for row in report]
    minutes = [(row["slowest_new_follower_seconds"] or 0.0) / 60 for row in report]
    axes.barh(names, minutes, color="tab:gray")
    for at, row in enumerate(report):
        said = [f"{minutes[at]:,.0f} min"] if row["slowest_new_follower_seconds"] is not None else []
        said += [f"{row[column]:,} {what}" for column, what in _TROUBLE.items() if row[column]]
        beside(axes, minutes[at], at, ", ".join(said or ["none was new"]))
    axes.set_title("Slowest new follower until it was in the ISR, and what went wrong")
    axes.set_xlabel("minutes")
    axes.set_xlim(0, max([*minutes, 1.0]) * 1.7)
    axes.invert_yaxis()


def _unit(largest: float) -> tuple[str, float]:
    """The decimal unit for values up to `largest` bytes."""
    for unit, divisor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if largest >= divisor:
            return unit, divisor
    return "bytes", 1.0
