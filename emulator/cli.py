"""The command line. jobs/emulate.py is `emulator run` for spark-submit, by the same code.

Standard output is the result; progress, notes and errors go to standard error. What a command does not need is not
imported: bad input is told before Spark starts.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import click

from emulator import __version__
from emulator.errors import EnvironmentProblem, InputError, did_you_mean, listing, quoted
from emulator.exits import DONE, VIOLATED, end_at_interrupts, fail, run_command_line
from emulator.options import (
    common,
    on_spark,
    parse_data_dirs,
    parse_offsets,
    parse_rounds_option,
    parse_topic_files,
    refuse_unwritable,
    with_engine,
    with_prices,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from emulator.outcomes.ask import Asker
    from emulator.outcomes.prices import PricesShape
    from emulator.scenario import Run

PROGRAM = "emulator"
LONGEST_QUERY_BYTES = 1 << 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line, the process' own if None, and returns its exit code (emulator.exits)."""
    return run_command_line(commands, PROGRAM, sys.argv[1:] if arguments is None else arguments)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name=PROGRAM, message="%(prog)s %(version)s")
def commands() -> None:
    """An emulator of replicated logs that runs on Spark."""


@commands.command("run")
@click.argument("scenario", metavar="SCENARIO.toml")
@click.option("--out", metavar="DIR", help="Folder (any Hadoop URI) for the tables; those of an earlier run are replaced.")
@click.option("--mode", type=click.Choice(["plain", "leap"]), help="Default: the scenario file's. The result is the same.")
@click.option("--trace", metavar="none|all|TOPIC:PARTITION,...", default="none", help="Partitions to trace each round of.")
@click.option("--state-at", metavar="ROUND,...", help="Rounds at whose end every replica is a row of replica_states.")
@click.option("--resume", is_flag=True, help="Go on from the last checkpoint in DIR, if there is one.")
@click.option(
    "--checkpoint-every",
    metavar="N",
    type=click.IntRange(min=0),
    help="Write a checkpoint into DIR after every N jobs; 0: never. Default: 20, in leap mode 4.",
)
@click.option("--dry-run", is_flag=True, help="Say what would run, and run nothing.")
@click.option(
    "--engine",
    type=click.Choice(["compiled", "expressions", "relational"]),
    help="What plays the rounds. Default: compiled rounds where they have all that a scenario needs, else expressions.",
)
@click.option("--fail-on-violation", is_flag=True, help="Exit with 1 when an invariant is violated.")
@on_spark
@common
def run_command(
    scenario: str,
    out: str | None,
    mode: str | None,
    trace: str,
    state_at: str | None,
    resume: bool,
    checkpoint_every: int | None,
    dry_run: bool,
    engine: str | None,
    fail_on_violation: bool,
    master: str | None,
    conf: Mapping[str, str],
) -> int:
    """Emulate a scenario and write the tables of what happened into DIR."""
    if not dry_run and (out is None or not out.strip()):
        raise InputError("--out: no folder is given; allowed: a local path or a Hadoop URI")
    from emulator.scenario import load_run

    run = load_run(scenario)
    trace = check_trace(run, trace)
    rounds = check_state_at(run, state_at)
    if engine == "relational":
        from emulator.rounds.relational.refusals import refuse_unknown

        refuse_unknown(run, mode, resume, checkpoint_every, rounds)
    elif rounds:
        from emulator.engine.choice import refuse_states

        refuse_states(run, rounds, engine)
    from emulator import run as running

    if dry_run:
        _print_lines(running.dry_run(run, trace, mode, engine, rounds))
        return DONE
    from emulator.progress import Progress

    with _session(master, conf, f"{PROGRAM} run {run.name}") as spark, Progress() as progress:
        settings: dict[str, Any] = {
            "mode": mode, "trace": trace, "resume": resume, "checkpoint_every": checkpoint_every, "state_at": rounds
        }  # fmt: skip
        if engine == "relational":
            from emulator.rounds.relational.run import run_relational

            summary = run_relational(run, str(out), spark, trace, progress)
        else:
            summary = running.run_emulation(run, str(out), spark, progress=progress, engine=engine, **settings)
    _print_lines(summary.lines)
    if summary.violations and fail_on_violation:
        asking = f'{PROGRAM} sql {out} "SELECT * FROM violations"'
        return fail(VIOLATED, f"invariants were violated {summary.violations} times: {asking}")
    return DONE


def check_trace(run: Run, trace: str) -> str:
    """Returns `trace` in order, without blanks and repetitions: "none", "all", or TOPIC:PARTITION joined by commas.

    Raises InputError for a partition that no scenario of the run has.
    """
    if trace in ("none", "all"):
        return trace
    partitions: dict[str, int] = {}
    for topic in (topic for scenario in run.scenarios for topic in scenario.topics):
        partitions[topic.name] = max(topic.partitions, partitions.get(topic.name, 0))
    chosen = []
    for part in trace.split(","):
        name, _, number = part.strip().rpartition(":")
        if not re.fullmatch("[0-9]{1,9}", number):
            problem = f"{quoted(part.strip())} is no partition"
            raise InputError.at(run.path, "--trace", problem, "none, all, or TOPIC:PARTITION,... as in orders:0,orders:7")
        if name not in partitions:
            problem = f"no topic is called {quoted(name)}{did_you_mean(name, partitions)}"
            raise InputError.at(run.path, "--trace", problem, listing(partitions))
        if int(number) >= partitions[name]:
            problem = f"{int(number)} is not a partition of {name}"
            raise InputError.at(run.path, "--trace", problem, f"0 to {partitions[name] - 1}")
        chosen.append(f"{name}:{int(number)}")
    return ",".join(sorted(set(chosen)))


def check_state_at(run: Run, state_at: str | None) -> list[int]:
    """Returns the rounds that `--state-at` names, ascending; none without it.

    Raises InputError for what is no round of any scenario of the run.
    """
    last = max(scenario.rounds for scenario in run.scenarios) - 1
    rounds = set()
    for part in () if state_at is None else state_at.split(","):
        if not re.fullmatch("[0-9]{1,9}", part.strip()):
            problem = f"{quoted(part.strip())} is no round"
            raise InputError.at(run.path, "--state-at", problem, f"rounds from 0 to {last}, as in 10,20")
        if int(part) > last:
            problem = f"round {int(part)} is beyond the end of the run"
            raise InputError.at(run.path, "--state-at", problem, f"rounds from 0 to {last}")
        rounds.add(int(part))
    return sorted(rounds)


@commands.group("import")
def import_group() -> None:
    """Turn a real cluster's files into the start of an emulation."""


@import_group.command("kafka")
@click.option("--describe", metavar="FILE", required=True, help="Output of kafka-topics --describe.")
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
    describe: str,
    log_dirs: str | None,
    data_dirs: dict[int, str],
    offsets: dict[str, list[str]],
    remote_metadata: tuple[str, ...],
    out: str,
) -> int:
    """Import a Kafka cluster: placement, logs, epochs, ISR, remote segments and configs, for `import = "DIR"` in a scenario."""
    from datasets.kafka import import_kafka

    _print_lines(import_kafka(describe, log_dirs, data_dirs, out, offsets, remote_metadata).lines())
    return DONE


@import_group.command("bookkeeper")
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
@click.option("--out", metavar="DIR", required=True, help="Local folder to write; an earlier import in it is replaced.")
@common
def import_bookkeeper_command(ledgers: tuple[str, ...], internal_stats: dict[str, str], out: str) -> int:
    """Import ledgers of BookKeeper or Pulsar: fragments, state, last entry, quorums, for `import = "DIR"` in a scenario."""
    from datasets.bookkeeper import import_bookkeeper

    _print_lines(import_bookkeeper(ledgers, internal_stats, out).lines())
    return DONE


@commands.command("sql")
@click.argument("folder", metavar="DIR")
@click.argument("query", metavar="[QUERY]", required=False)
@click.option("--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True)
@with_prices
@with_engine
@on_spark
@common
def sql_command(
    folder: str,
    query: str | None,
    form: str,
    prices: str | None,
    engine: str | None,
    master: str | None,
    conf: Mapping[str, str],
) -> int:
    """Ask the tables of a run, in Spark's SQL. A query only reads.

    QUERY is SQL, "-" for SQL from standard input, or "@NAME" for a bundled question; without it the bundled questions
    are listed.
    """
    from emulator.outcomes import how_to_read, queries

    _refuse_missing_folder(folder, master, conf)
    if query is None:
        width = max(map(len, queries()))
        _print_lines([f"@{name.ljust(width)}  {bundled.question}" for name, bundled in queries().items()])
        click.echo(f'ask one: {PROGRAM} sql {folder} @NAME; or your own: {PROGRAM} sql {folder} "SELECT ..."', err=True)
        return DONE
    if query == "-":
        query = sys.stdin.read(LONGEST_QUERY_BYTES)
    if query.startswith("@") and query[1:] not in queries():
        problem = f"no bundled question is named {quoted(query[1:])}{did_you_mean(query[1:], queries())}"
        raise InputError(f"SQL: {problem}; allowed: {listing(queries())}")
    from emulator.outcomes.formats import write_answer

    with _asking(folder, engine, master, conf, f"{PROGRAM} sql") as tables:
        columns, rows = tables.ask(query, None if prices is None else _load_prices(prices))
        _tell_unwritten(tables, query)
        if query.startswith("@") and form == "table":
            click.echo(f"{queries()[query[1:]].question} {how_to_read(queries()[query[1:]])}", err=True)
        write_answer(columns, rows, form, sys.stdout)
    return DONE


@commands.command("compare")
@click.argument("folder", metavar="DIR")
@click.option("--by", metavar="COLUMN,...", default="", help="Columns of outcomes to group partitions by, as topic.")
@click.option(
    "--report",
    type=click.Choice(["losses", "tiering", "quorums", "placement"]),
    default="losses",
    show_default=True,
    help="losses, with 95 % confidence intervals of every share; tiering: bytes, requests, risks and money; quorums:"
    " what ledgers' quorums and partitions' ISRs come to under the same faults; or placement: how likely broker failures"
    " lose data, from the replica sets and as emulated.",
)
@with_prices
@click.option("--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True)
@click.option("--picture", metavar="FILE", help="Of tiering: draw bills, bytes over time and risks as well (.png, .svg, .pdf).")
@with_engine
@on_spark
@common
def compare_command(
    folder: str,
    by: str,
    report: str,
    prices: str | None,
    form: str,
    picture: str | None,
    engine: str | None,
    master: str | None,
    conf: Mapping[str, str],
) -> int:
    """Put the scenarios of a run side by side, paired by partition.

    The reports tiering and quorums have a column for each scenario; as CSV and JSON, as the other one, a row.
    """
    from emulator.outcomes.compare import compare_sql
    from emulator.outcomes.formats import write_answer, write_turned
    from emulator.outcomes.placement_report import placement_report
    from emulator.outcomes.quorum_report import quorum_report_sql
    from emulator.outcomes.tiering_picture import OVER_TIME, write_picture
    from emulator.outcomes.tiering_report import tiering_report_sql

    groups = [name.strip() for name in by.split(",") if name.strip()]
    if report != "tiering" and prices is not None:
        raise InputError(f"--prices: the report of {report} has no prices; allowed: with --report tiering")
    if picture is not None:
        _refuse_picture(picture, report, groups)
    if report == "placement":
        if groups:
            raise InputError("--by: placements are of whole scenarios; allowed: without --report placement")
        _refuse_missing_folder(folder, master, conf)
        with _asking(folder, engine, master, conf, f"{PROGRAM} compare") as tables:
            columns, found = placement_report(tables)
            write_answer(columns, found, form, sys.stdout)
        return DONE
    query = {"losses": compare_sql, "tiering": tiering_report_sql, "quorums": quorum_report_sql}[report](groups)
    price_table = _load_prices(prices) if report == "tiering" else None
    _refuse_missing_folder(folder, master, conf)
    with _asking(folder, engine, master, conf, f"{PROGRAM} compare") as tables:
        rows: Iterable[tuple[Any, ...]]
        columns, rows = tables.ask(query, price_table)
        _tell_unwritten(tables, query)
        if picture is not None:
            rows = list(rows)
            over_time, points = tables.ask(OVER_TIME, price_table)
            named = [dict(zip(columns, row, strict=True)) for row in rows]
            write_picture(named, [dict(zip(over_time, point, strict=True)) for point in points], picture)
        if report != "losses" and form == "table":
            write_turned(columns, rows, sys.stdout)
        else:
            write_answer(columns, rows, form, sys.stdout)
    return DONE


def _tell_unwritten(tables: Asker, query: str) -> None:
    """Notes on standard error that a query asks for events which the run did not write."""
    from emulator.outcomes.unwritten import unwritten_notes

    for line in unwritten_notes(tables, query):
        click.echo(f"note: {line}", err=True)


def _refuse_picture(path: str, report: str, groups: Sequence[str]) -> None:
    from emulator.outcomes.tiering_picture import refuse_other_formats

    if report != "tiering":
        raise InputError(f"--picture: the report of {report} has no picture; allowed: with --report tiering")
    if groups:
        raise InputError("--picture: is of whole scenarios; allowed: without --by")
    refuse_unwritable("--picture", path)
    refuse_other_formats(path)


@commands.command("graph")
@click.argument("cluster", metavar="CLUSTER_OR_RESULT")
@click.option(
    "--out", metavar="DIR", required=True, help="Folder (any Hadoop URI) for the tables, a run's own too; an earlier graph goes."
)
@click.option(
    "--failures",
    metavar="N",
    type=click.IntRange(min=1),
    default=15,
    show_default=True,
    help="Up to so many brokers fail at once.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of chances that are drawn.")
@click.option("--picture", metavar="FILE", help="Draw the failure domains as well (.svg: of the first scenario, .html: of all).")
@click.option(
    "--backend",
    type=click.Choice(["driver", "graphframes"]),
    default="driver",
    show_default=True,
    help="What works out components, communities, in-degrees and motifs. The answers are the same.",
)
@on_spark
@common
def graph_command(
    cluster: str,
    out: str,
    failures: int,
    seed: int,
    picture: str | None,
    backend: str,
    master: str | None,
    conf: Mapping[str, str],
) -> int:
    """Write a cluster as a graph, and which brokers must not fail together: copysets, blast radius, islands, hot spots.

    CLUSTER_OR_RESULT is a scenario file, the DIR of emulator import kafka, or that of emulator run, which adds what happened.
    """
    if not out.strip():
        raise InputError("--out: no folder is given; allowed: a local path or a Hadoop URI")
    from emulator.graphs.backends.in_driver import InDriver
    from emulator.graphs.backends.in_graphframes import InGraphFrames
    from emulator.graphs.build import write_graph
    from emulator.graphs.picture import refuse_other_formats, write_picture
    from emulator.graphs.sources import read_cluster, read_result
    from emulator.outcomes.sql import own_session

    if picture is not None:
        refuse_unwritable("--picture", picture)
        refuse_other_formats(picture)
    source = read_cluster(cluster)
    if source is None:
        _refuse_missing_folder(cluster, master, conf)
    with _session(master, conf, f"{PROGRAM} graph") as spark:
        own = own_session(spark)
        graphs = InGraphFrames(own) if backend == "graphframes" else InDriver()
        found = source or read_result(cluster, own)
        write_graph(found, out, own, graphs, failures, seed, lambda line: click.echo(line, err=True))
    if picture is not None:
        write_picture(found.clusters, [each.name for each in found.scenarios], picture)
    click.echo(f"ask it: {PROGRAM} sql {out} @which_brokers_must_not_fail_together", err=True)
    return DONE


@commands.command("explain")
@click.argument("folder", metavar="DIR")
@click.option("--topic", metavar="T", required=True, help="Topic of the partition.")
@click.option("--partition", metavar="N", type=int, required=True, help="Its number within the topic.")
@click.option("--ledger", metavar="N", type=click.IntRange(min=0), help="Of a topic that is a list of ledgers, one of these.")
@click.option("--scenario", metavar="NAME_OR_ID", help="Default: base, or the only one.")
@click.option("--rounds", metavar="A-B", callback=parse_rounds_option, help="Rounds to tell of, both included, or only one.")
@click.option("--html", metavar="FILE", help="Write the story as a page with a drawing as well.")
@with_engine
@on_spark
@common
def explain_command(
    folder: str,
    topic: str,
    partition: int,
    ledger: int | None,
    scenario: str | None,
    rounds: tuple[int, int] | None,
    html: str | None,
    engine: str | None,
    master: str | None,
    conf: Mapping[str, str],
) -> int:
    """Tell the story of one partition, or ledger: who led, fetched, cut and lost what in which round.

    Rounds in which nothing but steady fetching went on are told of in one line. A partition of compiled rounds is played
    again if the run did not trace it; any other one has to be traced to be told of round by round.
    """
    from emulator.explain.ledger import ledger_lines
    from emulator.explain.page import write_page
    from emulator.explain.reading import find_subject, read_partition, read_run
    from emulator.explain.replay import with_replay
    from emulator.explain.story import tell
    from emulator.explain.text import USUAL_WIDTH, can_show, text_lines
    from emulator.expressions.bookkeeper.rules import RULES as LEDGER_PROTOCOLS
    from emulator.progress import Progress
    from emulator.scenario.event_kinds import unwritten_kinds

    _refuse_missing_folder(folder, master, conf)
    if html is not None:
        refuse_unwritable("--html", html)
    with _asking(folder, engine, master, conf, f"{PROGRAM} explain") as tables:
        subject = find_subject(tables, topic, partition, scenario, rounds)
        unwritten = unwritten_kinds(subject.scenario["protocol"], subject.scenario["event_kinds"])
        lacks = f"the run did not write events of these kinds, which the story lacks: {', '.join(unwritten)}"
        if subject.scenario["protocol"] in LEDGER_PROTOCOLS:
            if html is not None:
                raise InputError("--html: the story of a ledger has no page; allowed: no --html")
            if unwritten:
                click.echo(f"note: {lacks}", err=True)
            _print_lines(ledger_lines(tables, subject, ledger))
            return DONE
        if ledger is not None:
            raise InputError(f"--ledger: {topic}:{partition} is no ledger; allowed: no --ledger")
        rows, first, last = read_partition(tables, subject)
        run = None if rows.trace and not unwritten else read_run(tables)
    if run is not None:
        try:
            with Progress() as progress:
                rows = with_replay(rows, run, first, last, progress)
        except (InputError, EnvironmentProblem) as error:
            click.echo(f"not played again: {error}", err=True)
            if unwritten:
                click.echo(f"note: {lacks}", err=True)
    story = tell(rows, first, last)
    if not story.traced:
        click.echo(f"not traced: {PROGRAM} run SCENARIO.toml --trace {topic}:{partition} gives every round", err=True)
    width = shutil.get_terminal_size((USUAL_WIDTH, 0)).columns
    _print_lines(list(text_lines(story, width, plain=not can_show(sys.stdout.encoding))))
    if html is not None:
        write_page(story, html)
        click.echo(f"page written to {html}", err=True)
    return DONE


@commands.command("check")
@click.argument("folder", metavar="DIR")
@click.option("--sample", metavar="N", type=click.IntRange(min=1), default=200, show_default=True, help="Partitions to draw.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the draw.")
@on_spark
@common
def check_command(folder: str, sample: int, seed: int, master: str | None, conf: Mapping[str, str]) -> int:
    """Replay some partitions of a run in relational rounds, and compare every cell of outcomes, events, final state and trace."""
    from emulator.rounds.relational.check import check_run

    _refuse_missing_folder(folder, master, conf)
    with _session(master, conf, f"{PROGRAM} check") as spark:
        checked = check_run(folder, spark, sample, seed)
    _print_lines(checked.lines())
    return VIOLATED if checked.differences else DONE


@commands.command("explain-round")
@click.argument("system", metavar="SYSTEM", type=click.Choice(["kafka"]))
@click.option("--verb", metavar="NAME", help="Only verbs with this in their names, as fetch.")
@common
def explain_round_command(system: str, verb: str | None) -> int:
    """Print the round of a system as the queries that --engine relational runs, each with the rule that it is."""
    from emulator.rounds.relational.explain import page

    _print_lines(page(verb).splitlines())
    return DONE


@commands.command("pack")
@click.option("--out", metavar="FILE.tar.gz", required=True, help="The archive; one of an earlier pack is replaced.")
@common
def pack_command(out: str) -> int:
    """Write an archive for spark-submit --archives: all that a cluster's executors need, but Python, Java and Spark.

    That is this package, the packages that it requires, and its rounds compiled for any CPU of this machine's kind.
    """
    from emulator.packing.pack import pack

    _print_lines(pack(out, lambda line: click.echo(line, err=True)))
    return DONE


def _refuse_missing_folder(folder: str, master: str | None, conf: Mapping[str, str]) -> None:
    """Refuses a local folder that is not there, where a path can only be a local one, without starting Spark."""
    configured = {"HADOOP_CONF_DIR", "SPARK_CONF_DIR", "PYSPARK_GATEWAY_PORT"} & os.environ.keys()
    if "://" in folder or master is not None or conf or configured:
        return
    if not os.path.isdir(folder.removeprefix("file:")):
        raise InputError(f"{folder}: is not a folder; allowed: the DIR of {PROGRAM} run SCENARIO.toml --out DIR")


def _load_prices(path: str | None) -> PricesShape:
    from emulator.outcomes.prices import load_prices

    return load_prices(path)


@contextmanager
def _asking(folder: str, engine: str | None, master: str | None, conf: Mapping[str, str], app_name: str) -> Iterator[Asker]:
    """Holds what asks the tables of a run for one command; Spark starts if it is needed, or asked for by its own options."""
    from emulator.outcomes.ask import Asker

    with ExitStack() as held:
        sessions: list[SparkSession] = []

        def start_spark() -> SparkSession:
            if not sessions:
                sessions.append(held.enter_context(_session(master, conf, app_name)))
            return sessions[0]

        if engine == "duckdb" and (master is not None or conf):
            raise InputError("--engine: duckdb stands beside Spark's --master, --remote or --conf; allowed: without them")
        yield Asker(folder, "spark" if master is not None or conf else engine, start_spark)


@contextmanager
def _session(master: str | None, conf: Mapping[str, str], app_name: str) -> Iterator[SparkSession]:
    """Holds a session for one command; one that was there before stays."""
    from emulator.session import end_java, get_session, is_there, stop_if_ours

    found = is_there()
    spark = get_session(master, conf, app_name)
    if not found:
        end_at_interrupts(end_java)
    try:
        yield spark
    finally:
        if not found:
            stop_if_ours(spark)


def _print_lines(lines: Sequence[str]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
