"""The command `emulator check`."""

from __future__ import annotations

from collections.abc import Mapping

import click

from emulator.cli import sessions
from emulator.cli.exits import DONE, VIOLATED
from emulator.cli.options import (
    common,
    on_spark,
)
from emulator.cli.printing import PROGRAM, print_lines
from emulator.cli.sessions import refuse_missing_folder


@click.command("check")
@click.argument("folder", metavar="DIR")
@click.option("--sample", metavar="N", type=click.IntRange(min=1), default=200, show_default=True, help="Partitions to draw.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the draw.")
@on_spark
@common
def check_command(folder: str, sample: int, seed: int, master: str | None, conf: Mapping[str, str]) -> int:
    """Replay some partitions of a run in relational rounds, and compare every cell of outcomes, events, final state and trace."""
    from emulator.rounds.relational.check import check_run

    refuse_missing_folder(folder, master, conf)
    with sessions.session(master, conf, f"{PROGRAM} check") as spark:
        checked = check_run(folder, spark, sample, seed)
    print_lines(checked.lines())
    return VIOLATED if checked.differences else DONE
