"""`emulator report DIR --picture FILE.svg`: the page's chart over time as a file of its own."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

from emulator.errors import InputError
from emulator.explain.reading import choose_scenario
from emulator.outcomes.ask import Asker
from emulator.report import questions
from emulator.report.chart import PLACEHOLDERS, drawing
from emulator.report.charts import panels, timeline_figure
from emulator.report.markup import Row
from emulator.report.style import LIGHT
from emulator.storage.written_file import refuse_unwritable, writing

_OF_LIGHT = {placeholder: LIGHT[name] for name, placeholder in PLACEHOLDERS.items()}


def refuse_picture(path: str) -> None:
    """Raises InputError for a file that cannot be written, or whose name does not end in .svg."""
    refuse_unwritable("--picture", path)
    if not path.lower().endswith(".svg"):
        raise InputError(f"--picture: {path} is of no known format; allowed: a file that ends in .svg")


def write_timeline(tables: Asker, path: str, wanted: str | None) -> None:
    """Writes the page's chart over time of a scenario in the light page's colours.

    `wanted`: its name or id, None: base or the only one. Raises InputError as `write_report`.
    """
    scenario = choose_scenario(tables.rows("SELECT * FROM scenarios ORDER BY scenario_id"), wanted)

    def rows(query: str) -> list[Row]:
        return tables.rows(query.format(s=scenario["scenario_id"]))

    written = StringIO()
    with drawing():
        figure = timeline_figure(scenario, panels(scenario, rows), rows(questions.FAULTS))
        figure.savefig(written, format="svg", metadata={"Date": None})
    with writing("--picture", path):
        drawn = re.sub(r"#[0-9a-f]{6}\b", lambda found: _OF_LIGHT.get(found[0], found[0]), written.getvalue())
        Path(path).write_text(drawn, "utf-8")
