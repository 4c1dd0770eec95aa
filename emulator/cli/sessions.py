"""What a command asks its questions of: a session of Spark, or the tables of a run."""

from __future__ import annotations

import gc
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import click

from emulator.cli.exits import GoingOn, Invocation, end_at_interrupts
from emulator.cli.printing import PROGRAM
from emulator.errors import InputError, one_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from emulator.outcomes.ask import Asker
    from emulator.progress import Progress
    from emulator.scenario import Run


def refuse_missing_folder(folder: str, master: str | None, conf: Mapping[str, str]) -> None:
    """Refuses a local folder that is not there, where a path can only be a local one, without starting Spark."""
    configured = {"HADOOP_CONF_DIR", "SPARK_CONF_DIR", "PYSPARK_GATEWAY_PORT"} & os.environ.keys()
    if "://" in folder or master is not None or conf or configured:
        return
    if not os.path.isdir(folder.removeprefix("file:")):
        raise InputError(f"{folder}: is not a folder; allowed: the DIR of {PROGRAM} run SCENARIO.toml --out DIR")


def refuse_other_contents(out: str) -> None:
    """Refuses a local folder to write a run into that holds things, none of them a run's or a graph's; without starting Spark."""
    from emulator.outcomes.view_texts import ALL_COLUMNS
    from emulator.storage.local_folder import local_folder

    folder = local_folder(out)
    names = [] if folder is None else sorted(os.listdir(folder))
    ours = [name for name in names if name in ALL_COLUMNS or name.startswith(("_staging-", "_checkpoint", "_previous"))]
    others = [name for name in names if name not in ours]
    if others and not ours:
        problem = f"holds something else than tables of a run: {one_line(others[0])}"
        raise InputError(f"{out}: {problem}; allowed: a new or empty folder, or one of an earlier run")


@contextmanager
def asking(
    folder: str,
    engine: str | None,
    master: str | None,
    conf: Mapping[str, str],
    app_name: str,
    tell: Callable[[str], None] | None = None,
    beside: Sequence[str] = (),
) -> Iterator[Asker]:
    """Holds what asks the tables of a run for one command; Spark starts if it is needed, or asked for by its own options.

    `tell`, `beside`: as of Asker.
    """
    from emulator.outcomes.ask import Asker

    with ExitStack() as held:
        started: list[SparkSession] = []

        def start_spark() -> SparkSession:
            if not started:
                started.append(held.enter_context(session(master, conf, app_name)))
            return started[0]

        if engine == "duckdb" and (master is not None or conf):
            raise InputError("--engine: duckdb stands beside Spark's --master, --remote or --conf; allowed: without them")
        yield Asker(folder, "spark" if master is not None or conf else engine, start_spark, tell, beside)


@contextmanager
def session(
    master: str | None,
    conf: Mapping[str, str],
    app_name: str,
    going_on: GoingOn | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> Iterator[SparkSession]:
    """Holds a session for one command; one that was there before stays.

    `going_on`: after an interrupt; `meanwhile`: as of get_session.
    """
    from emulator.session import end_java, get_session, is_there, stop_if_ours

    found = is_there()
    if not found:
        end_at_interrupts(end_java, going_on or GoingOn())
    spark = get_session(master, conf, app_name, meanwhile)
    try:
        yield spark
    finally:
        if not found:
            stop_if_ours(spark)


def load_rounds(run: Run) -> None:
    """Imports what plays a run, and reads its compiled rounds: what Python can do while it would only wait for Java."""
    import emulator.run  # noqa: F401
    from emulator.engine.early_rounds import read_early

    read_early(run.scenarios)
    gc.freeze()  # it stays to the end: even as Python ends, looking through it took a second


def going_on_of(progress: Progress) -> GoingOn:
    """How a run goes on after an interrupt, noted for one. What an earlier run kept is there for a second --resume as well."""
    invocation = click.get_current_context().find_object(Invocation)
    assert invocation is not None
    resumes = "--resume" in invocation.arguments
    asked = [*invocation.arguments, *([] if resumes else ["--resume"])]
    invocation.going_on = GoingOn(shlex.join([PROGRAM, *asked]), lambda: resumes or progress.has_kept)
    return invocation.going_on
