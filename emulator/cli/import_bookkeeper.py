"""The command `emulator import bookkeeper`."""

from __future__ import annotations

import click

from emulator.cli.exits import DONE
from emulator.cli.options import (
    common,
    parse_topic_files,
)
from emulator.cli.printing import print_lines


@click.command("bookkeeper")
@click.option(
    "--ledgers",
    metavar="FILE",
    multiple=True,
    help="Output of bookkeeper shell ledgermetadata -ledgerid N, or listledgers -meta; several are allowed.",
)
@click.option(
    "--internal-stats",
    metavar="TOPIC=FILE",
    multiple=True,
    callback=parse_topic_files,
    help="Output of pulsar-admin topics stats-internal --metadata TOPIC; several are allowed.",
)
@click.option(
    "--as-lists",
    is_flag=True,
    help="Topics of --internal-stats come in as lists of ledgers, which their brokers go on with; offloaded ones included.",
)
@click.option("--out", metavar="DIR", required=True, help="Local folder to write; an earlier import in it is replaced.")
@common
def import_bookkeeper_command(ledgers: tuple[str, ...], internal_stats: dict[str, str], as_lists: bool, out: str) -> int:
    """Import ledgers of BookKeeper or Pulsar: fragments, state, last entry, quorums, for `import = "DIR"` in a scenario."""
    from emulator.importers.bookkeeper import import_bookkeeper

    print_lines(import_bookkeeper(ledgers, internal_stats, out, as_lists).lines())
    return DONE
