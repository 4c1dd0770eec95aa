"""What commands print alike."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from emulator.outcomes.ask import Asker

PROGRAM = "emulator"


def print_lines(lines: Sequence[str]) -> None:
    """Writes lines to standard output, at once."""
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()


def tell_unwritten(tables: Asker, query: str) -> None:
    """Notes on standard error that a query asks for events which the run did not write."""
    from emulator.outcomes.unwritten import unwritten_notes

    for line in unwritten_notes(tables, query):
        click.echo(f"note: {line}", err=True)
