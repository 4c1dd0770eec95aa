"""The command `emulator explain`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from emulator.cli import sessions
from emulator.cli.exits import DONE
from emulator.cli.options import common, on_spark, parse_rounds_option, with_engine
from emulator.cli.printing import PROGRAM, print_lines
from emulator.cli.sessions import refuse_missing_folder
from emulator.errors import EnvironmentProblem, InputError
from emulator.storage.written_file import refuse_unwritable

if TYPE_CHECKING:
    from emulator.explain.reading import Subject
    from emulator.explain.story import Story
    from emulator.outcomes.ask import Asker


@click.command("explain")
@click.argument("folder", metavar="DIR")
@click.option("--topic", metavar="T", required=True, help="Topic of the partition.")
@click.option("--partition", metavar="N", type=int, required=True, help="Its number within the topic.")
@click.option("--ledger", metavar="N", type=click.IntRange(min=0), help="Of a topic that is a list of ledgers, one of these.")
@click.option("--scenario", metavar="NAME_OR_ID", help="Default: base, or the only one.")
@click.option("--rounds", metavar="A-B", callback=parse_rounds_option, help="Rounds to tell of, both included, or only one.")
@click.option("--fewest-faults", is_flag=True, help="Tell it with the fewest faults that still do to it what the run's do.")
@click.option("--html", metavar="FILE", help="Write the story as a page with a drawing as well.")
@with_engine
@on_spark
@common
def explain_command(
    folder: str,
    topic: str,
    partition: int,
    ledger: int | None,
    scenario: str | None,
    rounds: tuple[int, int] | None,
    fewest_faults: bool,
    html: str | None,
    engine: str | None,
    master: str | None,
    conf: Mapping[str, str],
) -> int:
    """Tell the story of one partition, ledger or topic: who led, fetched, cut and lost what in which round.

    Rounds in which nothing but steady fetching, or writing, went on are told of in one line. What compiled rounds play is played
    again if the run did not trace it; any other partition has to be traced to be told of round by round.
    """
    from emulator.explain.reading import find_subject, read_partition, read_run
    from emulator.explain.story import tell
    from emulator.scenario.event_kinds import unwritten_kinds
    from emulator.scenario.protocols import LEDGER_PROTOCOLS, PARTITIONS, system_of

    refuse_missing_folder(folder, master, conf)
    if html is not None:
        refuse_unwritable("--html", html)
    with sessions.asking(folder, engine, master, conf, f"{PROGRAM} explain") as tables:
        subject = find_subject(tables, topic, partition, scenario, rounds)
        unwritten = unwritten_kinds(subject.scenario["protocol"], subject.scenario["event_kinds"])
        lacks = f"the run did not write events of these kinds, which the story lacks: {', '.join(unwritten)}"
        if subject.scenario["protocol"] in LEDGER_PROTOCOLS and not fewest_faults:
            _tell_of_ledger(tables, subject, ledger, html, lacks if unwritten else None)
            return DONE
        if ledger is not None:
            raise InputError(f"--ledger: {topic}:{partition} is no ledger; allowed: no --ledger")
        rows, first, last = read_partition(tables, subject)
        run = None if rows.trace and not unwritten and not fewest_faults else read_run(tables)
    if fewest_faults:
        if run is None:
            raise InputError(f"--fewest-faults: {folder} has no table runs; allowed: DIR of emulator run SCENARIO.toml --out DIR")
        from emulator.explain.fewest_faults import with_fewest_faults
        from emulator.progress import Progress

        with Progress() as progress:
            rows, found = with_fewest_faults(rows, run, first, last, progress)
        print_lines([found])
    elif run is not None:
        from emulator.explain.replay import with_replay  # a partition whose rounds are in the tables takes no rules
        from emulator.progress import Progress

        try:
            with Progress() as progress:
                rows = with_replay(rows, run, first, last, progress)
        except (InputError, EnvironmentProblem) as error:
            click.echo(f"not played again: {error}", err=True)
            if unwritten:
                click.echo(f"note: {lacks}", err=True)
    story = tell(rows, first, last)
    if not story.traced and system_of(subject.scenario["protocol"]) == PARTITIONS:
        click.echo(f"not traced: {PROGRAM} run SCENARIO.toml --trace {topic}:{partition} gives every round", err=True)
    _print(story, html)
    return DONE


def _print(story: Story, html: str | None) -> None:
    """Print a story, and write its page where one is wanted."""
    from emulator.explain.page import write_page
    from emulator.explain.text import USUAL_WIDTH, can_show, text_lines

    width = shutil.get_terminal_size((USUAL_WIDTH, 0)).columns
    print_lines(list(text_lines(story, width, plain=not can_show(sys.stdout.encoding))))
    if html is not None:
        write_page(story, html)
        click.echo(f"page written to {html}", err=True)


def _tell_of_ledger(tables: Asker, subject: Subject, number: int | None, html: str | None, lacks: str | None) -> None:
    """Tell the story of a ledger, or of a topic that is a list of them; `lacks`: what is to be said if it isn't played again."""
    from emulator.explain.ledger import ledger_lines
    from emulator.explain.ledger_replay import with_rounds
    from emulator.explain.ledger_rows import LedgerRows, read_ledger_or_topic
    from emulator.explain.ledger_story import tell_ledger
    from emulator.explain.reading import read_run
    from emulator.explain.topic_story import tell_topic

    rows = read_ledger_or_topic(tables, subject, number)
    run = None if rows.trace and lacks is None else read_run(tables)
    if run is not None:
        try:
            rows = with_rounds(rows, run, subject.first, subject.last)
        except (InputError, EnvironmentProblem) as error:
            click.echo(f"not played again: {error}", err=True)
            if lacks is not None:
                click.echo(f"note: {lacks}", err=True)
    if rows.trace:
        first, last = subject.first, subject.last
        _print(tell_ledger(rows, first, last) if isinstance(rows, LedgerRows) else tell_topic(rows, first, last), html)
        return
    if html is not None:
        raise InputError(f"--html: the rounds of {subject.topic}:{subject.partition} are not known; allowed: a run with --trace")
    print_lines(ledger_lines(tables, subject, number))
