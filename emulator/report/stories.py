"""The worst partitions' stories, as `emulator explain` tells them, each a part of the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from html import escape

from emulator.errors import EnvironmentProblem, InputError
from emulator.explain.faults import fault_line
from emulator.explain.ledger import ledger_lines
from emulator.explain.ledger_rows import LedgerRows, TopicRows, read_ledger_or_topic
from emulator.explain.ledger_story import tell_ledger
from emulator.explain.page import legend
from emulator.explain.reading import Subject, read_partitions
from emulator.explain.replay import with_replays
from emulator.explain.rows import PartitionRows
from emulator.explain.story import OF_PARTITIONS, Moment, Speech, Story, tell
from emulator.explain.summary import heading, violation_line
from emulator.explain.svg import svg
from emulator.explain.topic_story import tell_topic
from emulator.outcomes.ask import Asker
from emulator.progress import Progress
from emulator.report.markup import Row, bullets, inline, paragraph
from emulator.scenario import Run
from emulator.scenario.protocols import LEDGER_PROTOCOLS

MOST_ROUNDS = 2_000
"""Of a longer run a story has this many rounds around the worst one."""

MOST_MOMENTS = 60
"""Rounds with something to tell that a story has, around the worst one."""

LONGEST_REPLAY_SECONDS = 60.0
"""Where partitions share budgets, all are played again; of a run that took longer, stories have no rounds between events."""

_WORST_KINDS = ("acked_lost", "unacknowledged_lost", "leader_lost", "unclean_election", "log_damaged", "refused", "isr_shrink")

_WORST_KINDS_OF_LEDGERS = ("acked_lost", "add_failed", "entries_lost", "ensemble_change", "underreplicated", "ledger_closed")


def story_id(topic: str, partition: int) -> str:
    """Returns the place of a story on the page."""
    return f"story-{topic}-{partition}"


def stories(
    tables: Asker, scenario: Row, run: Row | None, stored: Run | None, worst: Sequence[Row], progress: Progress
) -> Iterator[str]:
    """Yields a part of the page for each of the worst partitions (questions.WORST).

    `run`: the row of table `runs`; `stored`: its scenarios, None: they cannot be read any more.
    """
    if scenario["protocol"] in LEDGER_PROTOCOLS:
        for place, row in enumerate(worst):
            drawn = [] if place else _drawn_ledger(tables, scenario, row, run, stored, progress)
            yield _framed(row, *(drawn or _told_ledger(tables, scenario, row)))
        return
    read = read_partitions(tables, _subjects(tables, scenario, worst))
    for row, (rows, first, last) in zip(worst, _played(read, run, stored, progress), strict=True):
        story = tell(rows, first, last)
        story = _shortened(story, _worst_round(rows.events, _WORST_KINDS), partial(tell, rows))
        lines = [*(fault_line(fault, scenario) for fault in rows.faults), *map(violation_line, rows.violations)]
        yield _framed(
            row,
            *map(paragraph, heading(story)),
            f'<div class="drawing">\n{inline(svg(story))}\n</div>',
            bullets(lines[:12]),
            _more(tables, scenario, row),
        )


def _more(tables: Asker, scenario: Row, row: Row) -> str:
    told = f"emulator explain {tables.uri} --topic {row['topic']} --partition {row['partition']}"
    shown = "" if scenario["scenario_id"] == 0 else f" --scenario {scenario['name']}"
    return paragraph(f"All of it: {told}{shown}", "soft")


def _told_ledger(tables: Asker, scenario: Row, row: Row) -> list[str]:
    """What became of a ledger, or of a topic that is a list of them, in lines."""
    whole = Subject(scenario, row["topic"], row["partition"], 0, scenario["rounds"] - 1)
    return [f"<pre>{escape(chr(10).join(ledger_lines(tables, whole)))}</pre>", _more(tables, scenario, row)]


def _drawn_ledger(tables: Asker, scenario: Row, row: Row, run: Row | None, stored: Run | None, progress: Progress) -> list[str]:
    """Its story drawn, of the worst one alone: its rounds are made anew if the run has no trace. Nothing where they can't be."""
    from emulator.explain.ledger_replay import with_rounds  # the rounds of ledgers, which a report of partitions has no use for

    end = scenario["rounds"] - 1
    subject = Subject(scenario, row["topic"], row["partition"], 0, end)
    if end >= MOST_ROUNDS:
        events = tables.rows(f"SELECT kind, round FROM events WHERE {subject.here}")
        first = _first_around(_worst_round(events, _WORST_KINDS_OF_LEDGERS), MOST_ROUNDS, end + 1)
        subject = replace(subject, first=first, last=first + MOST_ROUNDS - 1)
    rows = read_ledger_or_topic(tables, subject, None)
    if not rows.trace and run is not None and (run["seconds"] or 0) <= LONGEST_REPLAY_SECONDS:
        try:
            rows = with_rounds(rows, run, subject.first, subject.last, stored)
        except (InputError, EnvironmentProblem) as error:
            progress.note(f"{rows.name} is told of without its rounds: {error}")
    if not rows.trace:
        return []
    worst, again = _worst_round(rows.events, _WORST_KINDS_OF_LEDGERS), partial(_tell_ledger, rows)
    story = _shortened(again(subject.first, subject.last), worst, again)
    return [
        *map(paragraph, story.opening),
        legend_list(story.speech),
        f'<div class="drawing">\n{inline(svg(story))}\n</div>',
        f"<pre>{escape(chr(10).join(story.closing))}</pre>",
        _more(tables, scenario, row),
    ]


def _tell_ledger(rows: LedgerRows | TopicRows, first: int, last: int) -> Story:
    return tell_ledger(rows, first, last) if isinstance(rows, LedgerRows) else tell_topic(rows, first, last)


def legend_list(speech: Speech = OF_PARTITIONS) -> str:
    """Returns what the drawings' lines, arrows and shapes mean."""
    return f'<ul class="legend drawing whole">{"".join(legend(speech))}</ul>'


def _framed(row: Row, *parts: str) -> str:
    name = f"{row['topic']}:{row['partition']}"
    inner = "\n".join(parts)
    return f'<article id="{escape(story_id(row["topic"], row["partition"]))}">\n<h3>{escape(name)}</h3>\n{inner}\n</article>'


def _subjects(tables: Asker, scenario: Row, worst: Sequence[Row]) -> list[Subject]:
    """The partitions with the rounds to tell of: all, or those around the worst one."""
    end = scenario["rounds"] - 1
    if end < MOST_ROUNDS:
        return [Subject(scenario, row["topic"], row["partition"], 0, end) for row in worst]
    subjects = []
    for rows, _, _ in read_partitions(tables, [Subject(scenario, row["topic"], row["partition"], 0, 0) for row in worst]):
        first = _first_around(_worst_round(rows.events, _WORST_KINDS), MOST_ROUNDS, end + 1)
        subjects.append(Subject(scenario, rows.topic, rows.partition, first, first + MOST_ROUNDS - 1))
    return subjects


def _first_around(at: int, most: int, count: int) -> int:
    """Where `most` of more places begin that have one in the middle, as far as may be."""
    return min(max(0, at - most // 2), count - most)


def _worst_round(events: Sequence[Row], kinds: Sequence[str]) -> int:
    """The first round with an event of the worst of these kinds that there is, the worst first."""
    for kind in kinds:
        rounds = [event["round"] for event in events if event["kind"] == kind]
        if rounds:
            return int(min(rounds))
    return 0


def _played(
    read: Sequence[tuple[PartitionRows, int, int]], run: Row | None, stored: Run | None, progress: Progress
) -> list[tuple[PartitionRows, int, int]]:
    """The same with every round, where they can be played again; what keeps them from it is said."""
    todo = [place for place, (rows, _, _) in enumerate(read) if not rows.trace]
    told = list(read)
    if run is None or not todo:
        return told
    try:
        is_short = (run["seconds"] or 0) <= LONGEST_REPLAY_SECONDS
        again = with_replays([read[place] for place in todo], run, progress, is_short, stored)
    except (InputError, EnvironmentProblem) as error:
        progress.note(f"stories are told from events alone: {error}")
        return told
    for place, rows in zip(todo, again, strict=True):
        told[place] = (rows, *read[place][1:])
    return told


def _shortened(story: Story, worst: int, tell_again: Callable[[int, int], Story]) -> Story:
    """The story, or the part of it around its worst round that has MOST_MOMENTS, told again of its rounds."""
    moments = [part for part in story.parts if isinstance(part, Moment)]
    if len(moments) <= MOST_MOMENTS:
        return story
    at = next((place for place, moment in enumerate(moments) if moment.round >= worst), 0)
    start = _first_around(at, MOST_MOMENTS, len(moments))
    return tell_again(moments[start].round, moments[start + MOST_MOMENTS - 1].round)
