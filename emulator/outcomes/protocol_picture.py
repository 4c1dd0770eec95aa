"""`emulator compare DIR --report protocols --picture FILE`: what each protocol costs and keeps, in one picture.

matplotlib draws it, and is imported only here, when a picture is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from emulator.outcomes.tiering_picture import FORMATS, beside, format_of
from emulator.storage.written_file import writing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = Mapping[str, Any]

_INCHES = (12.0, 8.0)
_SIDE_BY_SIDE = 0.4
"""How wide each of two bars of a scenario is."""


def write_protocol_picture(report: Sequence[Row], path: str) -> None:
    """Writes the picture, in the format that the file's name ends in. `report`: rows of `protocol_report_sql`, one a scenario.

    Raises InputError if the file cannot be written.
    """
    write_figure(lambda: protocol_figure(report), path)


def write_figure(draw: Callable[[], Figure], path: str) -> None:
    """Draws a figure and writes it, in the format that the file's name ends in. Raises InputError if it cannot be written."""
    import matplotlib

    # Text stays text, and ids of parts do not change.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "emulator", "font.size": 9}):
        drawn = draw()
        with writing("--picture", path):
            drawn.savefig(path, metadata=FORMATS[format_of(path)])


def protocol_figure(report: Sequence[Row]) -> Figure:
    """Returns the figure, drawn with whatever settings of matplotlib hold."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=_INCHES, layout="constrained")
    (cost, latency), (away, lost) = figure.subplots(2, 2)
    draw_bars(cost, report, {"written": "written_per_record", "sent": "sent_per_record"}, "Bytes a record, over all servers")
    draw_bars(latency, report, {"median": "latency_p50", "of 99 %": "latency_p99"}, "Rounds until a record is acknowledged")
    draw_bars(
        away, report, {"all together": "unavailable_seconds", "the most of one": "most_unavailable_seconds"}, "Seconds unwritable"
    )
    draw_bars(lost, report, {"acknowledged records lost": "acked_lost"}, "Acknowledged records lost")
    return figure


def draw_bars(axes: Axes, report: Sequence[Row], parts: Mapping[str, str], title: str) -> None:
    """A group of bars for each scenario, a bar for each column; what is not known has none."""
    most = max([float(row[column] or 0) for row in report for column in parts.values()] + [1.0])
    for number, (label, column) in enumerate(parts.items()):
        places = [at + number * _SIDE_BY_SIDE for at in range(len(report))]
        axes.barh(places, [float(row[column] or 0) for row in report], height=_SIDE_BY_SIDE, label=label)
        for at, row in zip(places, report, strict=True):
            beside(axes, float(row[column] or 0), at, "unknown" if row[column] is None else f"{row[column]:,}")
    axes.set_yticks(
        [at + (len(parts) - 1) * _SIDE_BY_SIDE / 2 for at in range(len(report))], [str(row["scenario"]) for row in report]
    )
    axes.set_title(title)
    axes.set_xlim(0, most * 1.2)
    axes.invert_yaxis()
    if len(parts) > 1:
        axes.legend(loc="upper left", bbox_to_anchor=(0, -0.1), ncols=len(parts), frameon=False)
