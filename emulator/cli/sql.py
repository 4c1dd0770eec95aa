"""The command `emulator sql`."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import click

from emulator.cli import sessions
from emulator.cli.exits import DONE
from emulator.cli.options import (
    common,
    on_spark,
    with_engine,
    with_prices,
)
from emulator.cli.printing import PROGRAM, print_lines, tell_unwritten
from emulator.cli.sessions import refuse_missing_folder
from emulator.errors import InputError, did_you_mean, listing, one_line, quoted

LONGEST_QUERY_BYTES = 1 << 20
LONGEST_REASON_CHARS = 200


def _tell_spark(why: str) -> None:
    said = one_line(why, LONGEST_REASON_CHARS)
    click.echo(f"note: Spark is asked, which takes longer than DuckDB: {said}", err=True)


@click.command("sql")
@click.argument("folder", metavar="DIR")
@click.argument("query", metavar="[QUERY]", required=False)
@click.option("--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True)
@with_prices
@with_engine
@on_spark
@common
def sql_command(
    folder: str,
    query: str | None,
    form: str,
    prices: str | None,
    engine: str | None,
    master: str | None,
    conf: Mapping[str, str],
) -> int:
    """Ask the tables of a run, in Spark's SQL. A query only reads.

    QUERY is SQL, "-" for SQL from standard input, or "@NAME" for a bundled question; without it the bundled questions
    are listed.
    """
    from emulator.outcomes import how_to_read, queries

    refuse_missing_folder(folder, master, conf)
    if query is None:
        width = max(map(len, queries()))
        print_lines([f"@{name.ljust(width)}  {bundled.question}" for name, bundled in queries().items()])
        click.echo(f'ask one: {PROGRAM} sql {folder} @NAME; or your own: {PROGRAM} sql {folder} "SELECT ..."', err=True)
        return DONE
    if query == "-":
        query = sys.stdin.read(LONGEST_QUERY_BYTES)
    if query.startswith("@") and query[1:] not in queries():
        problem = f"no bundled question is named {quoted(query[1:])}{did_you_mean(query[1:], queries())}"
        raise InputError(f"SQL: {problem}; allowed: {listing(queries())}")
    from emulator.outcomes.formats import write_answer
    from emulator.outcomes.prices import load_prices

    with sessions.asking(folder, engine, master, conf, f"{PROGRAM} sql", _tell_spark) as tables:
        columns, rows = tables.ask(query, None if prices is None else load_prices(prices))
        tell_unwritten(tables, query)
        if query.startswith("@") and form == "table":
            click.echo(f"{queries()[query[1:]].question} {how_to_read(queries()[query[1:]])}", err=True)
        write_answer(columns, rows, form, sys.stdout)
    return DONE
