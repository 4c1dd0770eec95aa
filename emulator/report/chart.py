"""From a figure of matplotlib to an <svg> element whose colours follow the page: light or dark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any

from emulator.errors import EnvironmentProblem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLACEHOLDERS = {
    name: f"#{at:02x}{at:02x}{at + 1:02x}"
    for at, name in enumerate(("ink", "soft", "paper", "line", "lost", "gone", "short", "fault", "hot"), 1)
}
"""Colours to draw with, by the name that the page's style has for them (report/style.py)."""

_OF_THE_PAGE = {"#000000": "ink", "#ffffff": "paper", **{colour: name for name, colour in PLACEHOLDERS.items()}}


def refuse_without_matplotlib() -> None:
    """Raises EnvironmentProblem where nothing can draw."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise EnvironmentProblem("a report takes matplotlib: pip install matplotlib") from error


@contextmanager
def drawing() -> Iterator[None]:
    """Within it, figures are drawn in the page's colours, with text as text and ids that do not change."""
    import matplotlib

    ink, line = PLACEHOLDERS["ink"], PLACEHOLDERS["line"]
    settings: Any = {
        "svg.fonttype": "none", "svg.hashsalt": "emulator", "font.size": 9, "axes.edgecolor": line, "axes.labelcolor": ink,
        "text.color": ink, "xtick.color": ink, "ytick.color": ink, "grid.color": line, "axes.spines.top": False,
        "axes.spines.right": False, "axes.titlesize": 10, "axes.titlelocation": "left",
    }  # fmt: skip
    with matplotlib.rc_context(settings):
        yield


def chart(figure: Figure, name: str, label: str) -> str:
    """Returns a figure as a part of the page.

    `name`: makes ids differ from those of other charts; `label`: what it shows, for who can't see it.
    """
    written = StringIO()
    figure.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    text = written.getvalue()
    text = text[text.index("<svg") :].strip()
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r' xmlns(:\w+)?="[^"]*"', "", text).replace("xlink:href", "href")
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = text.replace("url(#", f"url(#{name}-").replace('href="#', f'href="#{name}-')
    text = re.sub(r"#[0-9a-f]{6}\b", lambda found: _of_the_page(found[0]), text)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1), count=1)
    return f'<div class="chart">{text.replace("<svg", f"""<svg role="img" aria-label="{escape(label)}" """, 1)}</div>'


def _of_the_page(colour: str) -> str:
    name = _OF_THE_PAGE.get(colour)
    return colour if name is None else f"var(--{name})"
