"""A story as one HTML file: drawing, legend and summary, without scripts and without anything from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path

from emulator.explain.faults import fault_line
from emulator.explain.rows import PartitionRows
from emulator.explain.shapes import FAULT, ROLE_STROKES, arrow, lifeline, shape, shape_of
from emulator.explain.story import LEADER, OF_PARTITIONS, OFFLINE, ZOMBIE, Speech, Story
from emulator.explain.summary import epochs_of, heading, outcome_counts, replica_ends, rows_of, violation_line
from emulator.explain.svg import svg
from emulator.storage.written_file import writing

_STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.45 system-ui, sans-serif; color: #24292f; background: #fff; margin: 1.5rem; }
h1 { font-size: 1.35rem; } h2 { font-size: 1.05rem; margin-top: 1.6rem; }
.drawing { overflow-x: auto; border: 1px solid #d0d7de; border-radius: 6px; padding: 8px; }
.drawing svg { display: block; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .3rem 1.4rem; padding: 0; }
.legend svg { vertical-align: middle; margin-right: .4rem; }
table { border-collapse: collapse; } th, td { border: 1px solid #d0d7de; padding: .2rem .6rem; text-align: left; }
th { background: #f6f8fa; font-weight: 600; } .bad { color: #c62828; font-weight: 600; }
""".strip()
_ROLE_MEANINGS = {
    LEADER: "leader",
    ZOMBIE: "zombie: leads an epoch that is over",
    "follower": "follower",
    OFFLINE: "offline",
}
_MARK_MEANINGS = {
    "election": "election",
    "unclean_election": "unclean election",
    "leader_lost": "no leader any more",
    "append": "records appended",
    "truncate": "log cut",
    "acked_lost": "records lost",
    "unacknowledged_lost": "records sent with acks=0 lost",
    "fault": "fault begins or ends",
    "fenced": "anything else",
}


def write_page(story: Story, path: str) -> None:
    """Writes the page of a story; raises InputError if the file cannot be written."""
    with writing("--html", path):
        Path(path).write_text(page(story), "utf-8")


def page(story: Story) -> str:
    """Returns the page of a story."""
    name = story.rows.name
    body = [
        f"<h1>What happened to {escape(name)}</h1>",
        *(f"<p>{escape(text)}</p>" for text in story.opening or heading(story)),
        f'<ul class="legend">{"".join(legend(story.speech))}</ul>',
        f'<div class="drawing">\n{svg(story)}\n</div>',
        *(_closing(story.closing) if story.closing else _end_of(rows_of(story))),
    ]
    head = f'<meta charset="utf-8"><title>{escape(name)}</title>\n<style>\n{_STYLE}\n</style>'
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n<body>\n' + "\n".join(body) + "\n</body>\n</html>\n"


def _end_of(rows: PartitionRows) -> Iterator[str]:
    """Yields what stands behind the drawing of a partition."""
    yield f"<h2>At the end of round {rows.scenario['rounds'] - 1}</h2>"
    yield _table(("broker", "role", "log end", "high watermark", "in ISR", "leader epochs"), _end_rows(rows))
    yield "<h2>Outcome</h2>"
    yield _table([label for label, _ in outcome_counts(rows)], [[value for _, value in outcome_counts(rows)]])
    yield "<h2>Faults</h2>"
    yield _list(fault_line(fault, rows.scenario) for fault in rows.faults)
    yield "<h2>Violations</h2>"
    yield _list(map(violation_line, rows.violations), "bad")


def _closing(lines: Iterable[str]) -> Iterator[str]:
    """Yields lines as headings, each with those that are indented below it as a list."""
    below: list[str] = []
    look = ""
    for line in lines:
        if line.startswith(" "):
            below.append(line.strip())
            continue
        if below:
            yield _list(below, look)
        below, look = [], "bad" if line.startswith(("Violations", "Lost")) else ""
        yield f"<h2>{escape(line)}</h2>"
    if below:
        yield _list(below, look)


def _end_rows(rows: PartitionRows) -> Iterator[Sequence[str]]:
    for end in replica_ends(rows):
        in_isr = "yes" if end["in_isr"] else "no"
        epochs = ", ".join(epochs_of(rows, end)) or "none"
        yield str(end["broker"]), end["role"], str(end["leo"]), str(end["hw"]), in_isr, epochs


def legend(speech: Speech = OF_PARTITIONS) -> Iterator[str]:
    """Yields what the drawing's lines, arrows and shapes mean, as items of a list."""
    of_partitions = speech is OF_PARTITIONS
    for role, meaning in (_ROLE_MEANINGS if of_partitions else speech.roles).items():
        line = f'<path d="M0 8H26" {ROLE_STROKES[role]} fill="none"/>'
        yield _item(line, meaning)
    yield _item(lifeline(19, 1, 15, FAULT), "fault in force")
    for kind, meaning in speech.arrows.items():
        yield _item(arrow(kind, 0, 6, 26, 10), meaning)
    for kind, meaning in (_MARK_MEANINGS if of_partitions else speech.marks).items():
        yield _item(shape(*shape_of(kind), 13, 8), meaning)


def _item(drawing: str, meaning: str) -> str:
    return f'<li><svg width="26" height="16" aria-hidden="true">{drawing}</svg>{escape(meaning)}</li>'


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join("<tr>" + "".join(f"<td>{escape(value)}</td>" for value in row) + "</tr>\n" for row in rows)
    return f"<table>\n<tr>{head}</tr>\n{body}</table>"


def _list(items: Iterable[str], look: str = "") -> str:
    entries = "".join(f"<li>{escape(item)}</li>\n" for item in items)
    shown = f' class="{look}"' if look else ""
    return f"<ul{shown}>\n{entries}</ul>" if entries else "<p>none</p>"
