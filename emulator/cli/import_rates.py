"""The command `emulator import rates`."""

from __future__ import annotations

import click

from emulator.cli.exits import DONE
from emulator.cli.options import common
from emulator.cli.printing import print_lines
from emulator.errors import InputError, quoted


def _parse_time(_: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    from emulator.importers.rates.series import TIME_ALLOWED, parse_time

    time_ms = None if value is None else parse_time(value)
    if value is not None and time_ms is None:
        raise InputError(f"{parameter.opts[0]}: {quoted(value)} is not a time; allowed: {TIME_ALLOWED}")
    return time_ms


@click.command("rates")
@click.argument("files", metavar="[FILE...]", nargs=-1)
@click.option(
    "--bytes",
    "bytes_files",
    metavar="FILE",
    multiple=True,
    help="A file of BytesInPerSec whose series do not say so, as after rate(); several are allowed.",
)
@click.option(
    "--cluster",
    metavar="DIR|SCENARIO",
    required=True,
    help="What has the topics' partitions: a folder of `emulator import kafka`, or a scenario file.",
)
@click.option(
    "--round-ms",
    type=click.IntRange(min=1),
    help="Milliseconds a round stands for. Default: the scenario file's, else 500.",
)
@click.option(
    "--record-bytes",
    type=click.IntRange(min=1),
    help="Bytes of a record. Default: a topic's bytes by its messages, 1000 where one of them is not there.",
)
@click.option(
    "--from", "from_ms", metavar="TIME", callback=_parse_time, help="When round 0 begins. Default: the first value's time."
)
@click.option("--to", "to_ms", metavar="TIME", callback=_parse_time, help="When the last round ends. Default: the last value's.")
@click.option("--acks", type=click.Choice(["0", "1", "all"]), default="all", show_default=True, help="What producers wait for.")
@click.option(
    "--out", metavar="FILE", required=True, help="The workload file to write (.csv); that of an earlier import is replaced."
)
@common
def import_rates_command(
    files: tuple[str, ...],
    bytes_files: tuple[str, ...],
    cluster: str,
    round_ms: int | None,
    record_bytes: int | None,
    from_ms: int | None,
    to_ms: int | None,
    acks: str,
    out: str,
) -> int:
    """Import topics' traffic from metrics, for `workload_file = "FILE"` in a scenario.

    FILE is the JSON that Prometheus answers a range query of MessagesInPerSec or BytesInPerSec by topic with (.json), or a CSV of
    timestamp, topic, broker, MessagesInPerSec and BytesInPerSec (.csv). A series without the metric's name is one of messages.
    TIME is seconds since 1970, or as in 2026-01-31T12:00:00Z.
    """
    from emulator.importers.rates import import_rates
    from emulator.scenario.partition_counts import partition_counts

    if not files and not bytes_files:
        raise InputError("FILE: no file is given; allowed: FILE of messages or of a CSV, --bytes FILE, or both")
    counts = partition_counts(cluster)
    summary = import_rates(
        files,
        bytes_files,
        counts.partitions,
        out,
        round_ms=round_ms or counts.round_ms,
        record_bytes=record_bytes,
        from_ms=from_ms,
        to_ms=to_ms,
        acks=acks,
    )
    print_lines(summary.lines())
    return DONE
