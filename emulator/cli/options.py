"""Options that several commands have, and how the values of options are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import click

from emulator.cli.exits import DEBUG_VARIABLE, Invocation
from emulator.errors import InputError, quoted


def _set_verbose(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        context.find_object(Invocation).verbose = True  # type: ignore[union-attr]


def parse_conf(_: click.Context, __: click.Parameter, values: Sequence[str]) -> dict[str, str]:
    """Reads --conf K=V, Spark settings."""
    conf = {}
    for value in values:
        key, equals, setting = value.partition("=")
        if not equals or not key.startswith("spark."):
            raise InputError(f"--conf: {quoted(value)} is no Spark setting; allowed: spark.KEY=VALUE")
        conf[key] = setting
    return conf


def parse_data_dirs(_: click.Context, __: click.Parameter, values: Sequence[str]) -> dict[int, str]:
    """Reads --data-dir BROKER=DIR: the folders of each broker, joined by commas."""
    folders: dict[int, str] = {}
    for value in values:
        broker, equals, folder = value.partition("=")
        if not equals or not folder or not re.fullmatch("[0-9]{1,10}", broker):
            raise InputError(f"--data-dir: {quoted(value)} is not BROKER=DIR; allowed: as in 1=/var/lib/kafka/data")
        known = folders.get(int(broker))
        folders[int(broker)] = folder if known is None else f"{known},{folder}"  # several log.dirs of one broker
    return folders


def parse_offsets(_: click.Context, __: click.Parameter, values: Sequence[str]) -> dict[str, list[str]]:
    """Reads --offsets TIME=FILE: the files of each time."""
    files: dict[str, list[str]] = {}
    for value in values:
        time, equals, path = value.partition("=")
        if not equals or not path:
            raise InputError(f"--offsets: {quoted(value)} is not TIME=FILE; allowed: as in earliest-local=offsets.txt")
        files.setdefault(time, []).append(path)
    return files


def parse_topic_files(_: click.Context, __: click.Parameter, values: Sequence[str]) -> dict[str, str]:
    """Reads --internal-stats TOPIC=FILE: the file of each topic."""
    files: dict[str, str] = {}
    for value in values:
        topic, equals, path = value.partition("=")
        if not equals or not topic or not path:
            raise InputError(
                f"--internal-stats: {quoted(value)} is not TOPIC=FILE; allowed: as in public/default/orders=stats.json"
            )
        if topic in files:
            raise InputError(f"--internal-stats: {quoted(topic)} stands twice; allowed: a file for each topic")
        files[topic] = path
    return files


def parse_rounds_option(_: click.Context, __: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """Reads --rounds A-B."""
    from emulator.explain.rounds import parse_rounds

    return None if value is None else parse_rounds(value)


def common(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of every command."""
    return click.option(
        "--verbose",
        is_flag=True,
        expose_value=False,
        callback=_set_verbose,
        help=f"Show the stack trace of a failure (as {DEBUG_VARIABLE}=1 does).",
    )(command)


def on_spark(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of commands that need a Spark session."""
    conf = click.option("--conf", metavar="K=V", multiple=True, callback=parse_conf, help="A Spark setting; several are allowed.")
    master = click.option(
        "--master",
        metavar="URL",
        help="Spark master; default: that of spark-submit or of Spark's files, else local[*].",
    )
    remote = click.option(
        "--remote",
        metavar="URL",
        help="Spark Connect instead of a master: a server's sc://HOST:PORT, or local[N] to start one.",
    )

    @wraps(command)
    def called(*arguments: Any, master: str | None, conf: dict[str, str], remote: str | None, **further: Any) -> Any:
        if remote is not None:
            if master is not None:
                raise InputError("--remote: stands beside --master; allowed: one of them")
            conf = {**conf, "spark.remote": remote}
        return command(*arguments, master=master, conf=conf, **further)

    return master(conf(remote(called)))


def with_engine(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the option of commands that ask the tables of a run."""
    return click.option(
        "--engine",
        type=click.Choice(["duckdb", "spark"]),
        help="What answers. Default: DuckDB for a run in a local folder that fits this machine, Spark for any other and for what"
        " only Spark answers.",
    )(command)


def with_prices(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the option of commands that may work out costs."""
    return click.option("--prices", metavar="FILE", help="Your price table (TOML) instead of the built-in one.")(command)
