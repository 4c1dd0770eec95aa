"""The command `emulator pack`."""

from __future__ import annotations

import click

from emulator.cli.exits import DONE
from emulator.cli.options import (
    common,
)
from emulator.cli.printing import print_lines


@click.command("pack")
@click.option("--out", metavar="FILE.tar.gz", required=True, help="The archive; one of an earlier pack is replaced.")
@common
def pack_command(out: str) -> int:
    """Write an archive for spark-submit --archives: all that a cluster's executors need, but Python, Java and Spark.

    That is this package, the packages that it requires, and its rounds compiled for any CPU of this machine's kind.
    """
    from emulator.packing.pack import pack

    print_lines(pack(out, lambda line: click.echo(line, err=True)))
    return DONE
