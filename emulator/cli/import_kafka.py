"""The command `emulator import kafka`."""

from __future__ import annotations

import click

from emulator.cli.exits import DONE
from emulator.cli.options import (
    common,
    parse_data_dirs,
    parse_offsets,
)
from emulator.cli.printing import print_lines

NO_DESCRIPTION = (
    "Missing option '--describe': only it says which replicas, leaders and configs partitions have and which topics are tiered"
    " (--offsets and --remote-metadata add to it); allowed: the FILE of"
    " kafka-topics.sh --bootstrap-server HOST:PORT --describe > FILE"
)


@click.command("kafka")
@click.option("--describe", metavar="FILE", help="Output of kafka-topics --describe; required.")
@click.option("--log-dirs", metavar="FILE", help="Output of kafka-log-dirs --describe.")
@click.option(
    "--data-dir",
    "data_dirs",
    metavar="BROKER=DIR",
    multiple=True,
    callback=parse_data_dirs,
    help="A broker's data directory, or a copy of its checkpoint files; several are allowed.",
)
@click.option(
    "--offsets",
    metavar="TIME=FILE",
    multiple=True,
    callback=parse_offsets,
    help="Output of kafka-get-offsets --time TIME (earliest, earliest-local, latest-tiered, latest); several are allowed.",
)
@click.option(
    "--remote-metadata",
    metavar="FILE",
    multiple=True,
    help="Events of __remote_log_metadata, as kafka-dump-log --remote-log-metadata-decoder prints them; several are allowed.",
)
@click.option("--out", metavar="DIR", required=True, help="Local folder to write; an earlier import in it is replaced.")
@common
def import_kafka_command(
    describe: str | None,
    log_dirs: str | None,
    data_dirs: dict[int, str],
    offsets: dict[str, list[str]],
    remote_metadata: tuple[str, ...],
    out: str,
) -> int:
    """Import a Kafka cluster: placement, logs, epochs, ISR, remote segments and configs, for `import = "DIR"` in a scenario."""
    if describe is None:
        raise click.UsageError(NO_DESCRIPTION, click.get_current_context())
    from emulator.importers.kafka import import_kafka

    print_lines(import_kafka(describe, log_dirs, data_dirs, out, offsets, remote_metadata).lines())
    return DONE
