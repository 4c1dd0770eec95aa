"""The command line, a file for each command. jobs/emulate.py is `emulator run` for spark-submit, by the same code.

Standard output is the result; progress, notes and errors go to standard error. What a command does not need is not
imported: bad input is told before Spark starts.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

import click
from click.shell_completion import shell_complete

from emulator import __version__
from emulator.cli.check import check_command
from emulator.cli.compare import compare_command
from emulator.cli.doctor import doctor_command
from emulator.cli.exits import run_command_line
from emulator.cli.explain import explain_command
from emulator.cli.explain_round import explain_round_command
from emulator.cli.graph import graph_command
from emulator.cli.import_bookkeeper import import_bookkeeper_command
from emulator.cli.import_kafka import import_kafka_command
from emulator.cli.import_rates import import_rates_command
from emulator.cli.pack import pack_command
from emulator.cli.printing import PROGRAM
from emulator.cli.report import report_command
from emulator.cli.run import run_command
from emulator.cli.sql import sql_command
from emulator.cli.sweep import sweep_command

OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""Loading a command makes objects by the hundred thousand that stay: looking through them took a fifth of its time."""

COMPLETION = "_EMULATOR_COMPLETE"
"""With bash_source, zsh_source or fish_source: print the shell's script."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line, the process' own if None, and returns its exit code (emulator.cli.exits).

    With the variable that shells set to complete a line (click's own) it prints what completes it instead.
    """
    if COMPLETION in os.environ:
        return shell_complete(commands, {}, PROGRAM, COMPLETION, os.environ[COMPLETION])
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS, *gc.get_threshold()[1:])
    return run_command_line(commands, PROGRAM, sys.argv[1:] if arguments is None else arguments)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name=PROGRAM, message="%(prog)s %(version)s")
def commands() -> None:
    """An emulator of replicated logs that runs on Spark."""


@commands.group("import")
def import_group() -> None:
    """Turn a real cluster's files into the start of an emulation."""


for _command in (import_kafka_command, import_bookkeeper_command, import_rates_command):
    import_group.add_command(_command)
for _command in (
    run_command,
    sweep_command,
    sql_command,
    compare_command,
    report_command,
    graph_command,
    explain_command,
    check_command,
    explain_round_command,
    pack_command,
    doctor_command,
):
    commands.add_command(_command)
