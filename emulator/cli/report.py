"""The command `emulator report`."""

from __future__ import annotations

import os
from collections.abc import Mapping

import click

from emulator.cli import sessions
from emulator.cli.exits import DONE
from emulator.cli.options import common, on_spark, with_engine, with_prices
from emulator.cli.printing import PROGRAM
from emulator.cli.sessions import refuse_missing_folder
from emulator.errors import InputError
from emulator.storage.written_file import refuse_unwritable


@click.command("report")
@click.argument("folder", metavar="DIR")
@click.option("--html", metavar="FILE", required=True, help="The page to write: one file, with nothing from elsewhere.")
@click.option("--picture", metavar="FILE.svg", help="Write its chart over time as a file of its own as well.")
@click.option("--scenario", metavar="NAME_OR_ID", help="Which one the page tells of. Default: base, or the only one.")
@click.option(
    "--stories",
    metavar="N",
    type=click.IntRange(0, 50),
    default=5,
    show_default=True,
    help="How many of the worst partitions have their story in it.",
)
@with_prices
@with_engine
@on_spark
@common
def report_command(
    folder: str,
    html: str,
    picture: str | None,
    scenario: str | None,
    stories: int,
    prices: str | None,
    engine: str | None,
    master: str | None,
    conf: Mapping[str, str],
) -> int:
    """Write a page about a run to send round: what was asked, lost and unavailable, when and why, and the worst partitions."""
    from emulator.outcomes.prices import load_prices
    from emulator.progress import Progress
    from emulator.report.chart import refuse_without_matplotlib
    from emulator.report.page import write_report
    from emulator.report.picture import refuse_picture, write_timeline

    refuse_missing_folder(folder, master, conf)
    refuse_unwritable("--html", html)
    if picture is not None:
        refuse_picture(picture)
        if os.path.realpath(picture) == os.path.realpath(html):
            raise InputError(f"--picture: {picture} is the page's file; allowed: another one")
    price_table = load_prices(prices)
    refuse_without_matplotlib()
    with sessions.asking(folder, engine, master, conf, f"{PROGRAM} report") as tables, Progress() as progress:
        write_report(tables, html, progress, scenario, stories, price_table)
        if picture is not None:
            write_timeline(tables, picture, scenario)
    click.echo(f"report written to {html}", err=True)
    return DONE
