"""The command `emulator compare`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import click

from emulator.cli import sessions
from emulator.cli.exits import DONE
from emulator.cli.options import common, on_spark, with_engine, with_prices
from emulator.cli.printing import PROGRAM, tell_unwritten
from emulator.cli.sessions import refuse_missing_folder
from emulator.errors import InputError
from emulator.storage.written_file import refuse_unwritable

if TYPE_CHECKING:
    from emulator.outcomes.ask import Asker
    from emulator.outcomes.prices import PricesShape


@click.command("compare")
@click.argument("folders", metavar="DIR...", nargs=-1, required=True)
@click.option("--by", metavar="COLUMN,...", default="", help="Columns of outcomes to group partitions by, as topic.")
@click.option(
    "--report",
    type=click.Choice(["losses", "tiering", "quorums", "protocols", "placement"]),
    default="losses",
    show_default=True,
    help="losses and what guarding against them costs, of several draws with 95 % confidence intervals;"
    " tiering: bytes, requests, risks and money; quorums:"
    " what ledgers' quorums and partitions' ISRs come to under the same faults; protocols: copies, bytes, latencies, time without"
    " writes and losses of each protocol; or placement: how likely broker failures"
    " lose data, from the replica sets and as emulated.",
)
@with_prices
@click.option("--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True)
@click.option(
    "--picture",
    metavar="FILE",
    help="Draw it as well: losses, refusals and time without writes; of tiering bills, bytes over time and risks; of protocols"
    " what they cost and keep (.png, .svg, .pdf).",
)
@with_engine
@on_spark
@common
def compare_command(
    folders: Sequence[str],
    by: str,
    report: str,
    prices: str | None,
    form: str,
    picture: str | None,
    engine: str | None,
    master: str | None,
    conf: Mapping[str, str],
) -> int:
    """Put the scenarios of a run side by side, paired by partition; of several runs those of all.

    Of several the first scenario of the first DIR is what the others are paired with, by topic and partition.

    The reports tiering, quorums and protocols have a column for each scenario; as CSV and JSON, as the other one, a row.
    """
    from emulator.outcomes.compare import compare, compare_sql
    from emulator.outcomes.formats import write_answer, write_turned
    from emulator.outcomes.placement_report import placement_report
    from emulator.outcomes.prices import load_prices
    from emulator.outcomes.protocol_report import protocol_report_sql
    from emulator.outcomes.quorum_report import quorum_report_sql
    from emulator.outcomes.tiering_report import tiering_report_sql
    from emulator.outcomes.unlike_runs import unlike_notes

    groups = [name.strip() for name in by.split(",") if name.strip()]
    if report != "tiering" and prices is not None:
        raise InputError(f"--prices: the report of {report} has no prices; allowed: with --report tiering")
    if picture is not None:
        _refuse_picture(picture, report, groups)
    if report == "placement":
        if groups:
            raise InputError("--by: placements are of whole scenarios; allowed: without --report placement")
        with _asking(folders, engine, master, conf) as tables:
            columns, found = placement_report(tables)
            write_answer(columns, found, form, sys.stdout)
        return DONE
    queries = {
        "losses": compare_sql, "tiering": tiering_report_sql, "quorums": quorum_report_sql, "protocols": protocol_report_sql,
    }  # fmt: skip
    query = queries[report](groups)
    price_table = load_prices(prices) if report == "tiering" else None
    with _asking(folders, engine, master, conf) as tables:
        rows: Iterable[tuple[Any, ...]]
        if report == "losses":
            for line in unlike_notes(tables) if len(folders) > 1 else ():
                click.echo(f"note: {line}", err=True)
            columns, rows = compare(tables.ask, groups)
        else:
            columns, rows = tables.ask(query, price_table)
        tell_unwritten(tables, query)
        if picture is not None:
            rows = list(rows)
            _draw(report, [dict(zip(columns, row, strict=True)) for row in rows], tables, price_table, picture)
        if report != "losses" and form == "table":
            write_turned(columns, rows, sys.stdout)
        else:
            write_answer(columns, rows, form, sys.stdout)
    return DONE


def _draw(report: str, rows: list[dict[str, Any]], tables: Asker, price_table: PricesShape | None, picture: str) -> None:
    """Draw the rows of a report."""
    from emulator.outcomes.losses_picture import write_losses_picture
    from emulator.outcomes.protocol_picture import write_protocol_picture
    from emulator.outcomes.tiering_picture import OVER_TIME, write_picture

    if report == "losses":
        write_losses_picture(rows, picture)
    elif report == "protocols":
        write_protocol_picture(rows, picture)
    else:
        write_picture(rows, tables.rows(OVER_TIME, price_table), picture)


def _asking(
    folders: Sequence[str], engine: str | None, master: str | None, conf: Mapping[str, str]
) -> AbstractContextManager[Asker]:
    for folder in folders:
        refuse_missing_folder(folder, master, conf)
    paths = [os.path.realpath(folder) for folder in folders]
    if len(set(paths)) < len(paths):
        raise InputError(f"{folders[-1]}: a folder is named twice; allowed: each once")
    return sessions.asking(folders[0], engine, master, conf, f"{PROGRAM} compare", beside=folders[1:])


def _refuse_picture(path: str, report: str, groups: Sequence[str]) -> None:
    from emulator.outcomes.tiering_picture import refuse_other_formats

    if report not in ("losses", "tiering", "protocols"):
        allowed = "with --report losses, tiering or protocols"
        raise InputError(f"--picture: the report of {report} has no picture; allowed: {allowed}")
    if groups:
        raise InputError("--picture: is of whole scenarios; allowed: without --by")
    refuse_unwritable("--picture", path)
    refuse_other_formats(path)
