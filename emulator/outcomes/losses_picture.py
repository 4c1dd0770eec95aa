"""`emulator compare DIR --picture FILE`: what each scenario lost and could not serve, in one picture.

matplotlib draws it, and is imported only here, when a picture is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from emulator.outcomes.protocol_picture import draw_bars, write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = Mapping[str, Any]

_WIDTH, _LEAST_HEIGHT, _HEIGHT_OF_SCENARIO = 12.0, 2.0, 0.6
"""In inches."""


def write_losses_picture(report: Sequence[Row], path: str) -> None:
    """Writes the picture, in the format that the file's name ends in. `report`: rows of `compare`, one a scenario.

    Raises InputError if the file cannot be written.
    """
    write_figure(lambda: losses_figure(report), path)


def losses_figure(report: Sequence[Row]) -> Figure:
    """Returns the figure, drawn with whatever settings of matplotlib hold."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH, _LEAST_HEIGHT + _HEIGHT_OF_SCENARIO * len(report)), layout="constrained")
    (lost, truncated), (refused, away) = figure.subplots(2, 2)
    draw_bars(lost, report, {"lost": "lost"}, "Acknowledged records lost")
    draw_bars(truncated, report, {"truncated": "truncated"}, "Records cut from logs")
    draw_bars(refused, report, {"refused": "refused"}, "Records refused for lack of in-sync replicas")
    seconds = {"unwritable": "unwritable_seconds", "without a leader": "leaderless_seconds"}
    draw_bars(away, report, seconds, "Seconds, over all partitions")
    return figure
