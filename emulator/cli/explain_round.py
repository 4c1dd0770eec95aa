"""The command `emulator explain-round`."""

from __future__ import annotations

import click

from emulator.cli.exits import DONE
from emulator.cli.options import (
    common,
)
from emulator.cli.printing import print_lines


@click.command("explain-round")
@click.argument("system", metavar="SYSTEM", type=click.Choice(["kafka"]))
@click.option("--verb", metavar="NAME", help="Only verbs with this in their names, as fetch.")
@common
def explain_round_command(system: str, verb: str | None) -> int:
    """Print the round of a system as the queries that --engine relational runs, each with the rule that it is."""
    from emulator.rounds.relational.page.explain import page

    print_lines(page(verb).splitlines())
    return DONE
