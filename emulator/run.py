"""One emulation from the scenario file's content to its tables."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache, partial

import numpy as np
import pyarrow
import pyspark
from pyspark.sql import Observation, SparkSession
from pyspark.sql import functions as F

import emulator
from emulator.arrow.packs import PackedRows
from emulator.engine.choice import NAMES, engines_of
from emulator.engine.early_workers import is_surely_large, start_workers
from emulator.engine.estimate import estimate_lines, joined, refuse_full_disk
from emulator.engine.identity import FOLDER, Identity, fingerprint, source_digest
from emulator.engine.interface import Engine, Playing, Size
from emulator.engine.job_files import JobFiles
from emulator.engine.older_checkpoints import OlderCheckpoints
from emulator.engine.resuming import Resuming
from emulator.explain.asked import asked_lines
from emulator.graphs.schema import GRAPH_TABLES, graph_went
from emulator.outcomes.idle_commands import commands_without_effect
from emulator.outcomes.joined import Deferred, Rows, Tables, joined_tables, rows_of_table
from emulator.outcomes.scenarios import scenario_rows
from emulator.progress import Progress, duration
from emulator.scenario import Run, Scenario
from emulator.scenario.model import longest_of
from emulator.session import is_connect, local_cores
from emulator.storage.output_directory import OutputDirectory
from emulator.table_columns.spark_columns import OUTPUT_TABLES

OF_EVERY_RUN = ("runs", "scenarios")
"""Tables that no engine has a part in."""


@dataclass(frozen=True)
class RunSummary:
    """What a run says when it is done: lines for standard output, and how many invariants were violated."""

    lines: list[str]
    violations: int
    """Rows of `violations` of kind violation."""


def run_emulation(
    run: Run,
    out: str,
    spark: SparkSession,
    *,
    mode: str | None = None,
    trace: str = "none",
    progress: Progress | None = None,
    resume: bool = False,
    state_at: Sequence[int] = (),
) -> RunSummary:
    """Run all scenarios of a file and publish their tables under `out`, all of them or none; a graph there goes.

    `mode`: "plain" or "leap", None: the scenario file's; the tables are the same. `trace`: "none", "all" or
    TOPIC:PARTITION,... `resume`: go on from the checkpoint there, if there is one. `state_at`: rounds at whose end every replica
    is a row of `replica_states`.

    Raises InputError if `out` cannot take the tables, has a checkpoint of another run, or a scenario has no such states.
    """
    started, clock = datetime.now(timezone.utc), time.monotonic()
    mode, progress, resuming = mode or run.mode, progress or Progress(quiet=True), None
    state_at = sorted(set(state_at))
    output = OutputDirectory(spark, out, derived=GRAPH_TABLES)
    output.recover()
    output.stage()
    try:
        cores = local_cores(spark)
        has_workers = is_surely_large(run.scenarios, cores)
        if has_workers:
            start_workers(spark)
        traced = {s.scenario_id: traced_partitions(s, trace) for s in run.scenarios}
        engines = engines_of(run, traced, mode, state_at)
        refuse_full_disk(out, sum(e.size.rows for e in engines), sum(e.traced_rounds for e in engines))
        resuming = _resuming(spark, out, engines, cache(partial(_identity, run, mode, trace, state_at)))
        resuming.open(resume, progress.note)
        if not has_workers and not all(e.is_small(cores) for e in engines):
            start_workers(spark)
        parts = [e.play(Playing(spark, progress, resume)) for e in engines]
        seconds = time.monotonic() - clock
        size = sum((e.size for e in engines), Size())
        with ThreadPoolExecutor(4) as pool:
            tables, observed = _tables(spark, parts)
            schema, rows = scenario_rows(run.scenarios, mode)
            writes = [pool.submit(_write, output, name, table) for name, table in tables.items()]
            writes.append(pool.submit(output.write_rows, "scenarios", rows, schema))
            shared = [of for e in engines for of in e.shared_fetchers]
            row = run_row(run, spark.version, size.replica_rounds, started, seconds, shared)
            writes.append(pool.submit(output.write_rows, "runs", [row]))
            for write in writes:
                write.result()
        had_graph = output.derived_tables()
        output.commit()
    except BaseException:
        output.abort()
        if resuming is not None:
            resuming.forget_useless()
        raise
    resuming.forget(progress.note)
    if had_graph:
        progress.note(graph_went(out))
    lines = [
        f"{len(run.scenarios)} scenarios, {size.partitions} partitions ({size.distinct} distinct),"
        f" {_with_time(run, ' rounds')}: {size.replica_rounds} replica-rounds in"
        f" {time.monotonic() - clock:.1f} s, tables in {out}"
    ]
    found, suspects = observed if isinstance(observed, tuple) else _counted(spark, output, observed)
    if found:
        lines.append(f"invariants were violated {found} times: table violations")
    if suspects:
        lines.append(f"{suspects} rows of table violations are suspects, which count as no violation: docs/invariants.md")
    lines += commands_without_effect(spark, output.table_uri("events"), run.scenarios, tables["events"])
    return RunSummary(lines, found)


def _write(output: OutputDirectory, name: str, table: Rows | Deferred) -> None:
    output.write(name, rows_of_table(table))


def _identity(run: Run, mode: str, trace: str, state_at: Sequence[int]) -> dict[str, str]:
    version = (source_digest(), pyspark.__version__)
    same = {
        "scenario": (run.scenarios, run.time_buckets), "mode": mode, "trace": trace, "version": version, "state-at": state_at
    }  # fmt: skip
    return {what: fingerprint(value) for what, value in same.items()}


def _resuming(spark: SparkSession, out: str, engines: Sequence[Engine], identity: Identity) -> Resuming:
    """What the engines keep, each in a folder of its own, and what may be there beside it."""
    own = [e.kept(spark, out, f"{FOLDER}/{e.name}", identity) for e in engines]
    others = [JobFiles(spark, out, identity, f"{FOLDER}/{name}") for name in NAMES if name not in [e.name for e in engines]]
    older = OlderCheckpoints(spark, out)
    return Resuming(out, own, [*others, older], older)


def _counted(spark: SparkSession, output: OutputDirectory, observed: Observation) -> tuple[int, int]:
    """How many violations and suspects were written."""
    if is_connect(spark):  # the observation of a write came back empty from 4.0.5
        kinds = spark.read.schema(OUTPUT_TABLES["violations"]).parquet(output.table_uri("violations")).select("kind")
        return kinds.where("kind != 'suspect'").count(), kinds.where("kind = 'suspect'").count()
    return int(observed.get["violations"]), int(observed.get["suspects"])


def _tables(spark: SparkSession, parts: Sequence[Tables]) -> tuple[Tables, Observation | tuple[int, int]]:
    """The tables of all engines, and how many violations and suspects there are, or will have been written."""
    names = [name for name in OUTPUT_TABLES if name not in OF_EVERY_RUN]
    tables = joined_tables(spark, parts, names)
    violations = rows_of_table(tables["violations"])
    if isinstance(violations, pyarrow.Table):
        kinds = violations.column("kind").to_pylist()
        return tables, (len(kinds) - kinds.count("suspect"), kinds.count("suspect"))
    if isinstance(violations, PackedRows):
        violations = violations.rows()
    observed = Observation("violations")
    is_suspect = F.col("kind") == "suspect"
    counts = {"violations": F.count(F.when(~is_suspect, 1)), "suspects": F.count(F.when(is_suspect, 1))}
    tables["violations"] = violations.observe(observed, *(count.alias(name) for name, count in counts.items()))
    return tables, observed


def dry_run(run: Run, trace: str = "none", mode: str | None = None, state_at: Sequence[int] = ()) -> list[str]:
    """What a run by a Spark of this machine would do, in lines: scenarios, partitions, rounds, rows, how they are played."""
    traced = {s.scenario_id: traced_partitions(s, trace) for s in run.scenarios}
    engines = engines_of(run, traced, mode or run.mode, sorted(set(state_at)))
    size, cores = sum((e.size for e in engines), Size()), os.cpu_count() or 1
    names = [s.name for s in run.scenarios]
    return [
        f"scenarios: {len(names)} ({', '.join(names if len(names) < 9 else [*names[:8], '...'])})",
        f"partitions: {size.partitions} ({size.distinct} distinct)",
        f"rounds: {_with_time(run)}, {longest_of(run.scenarios).round_ms} ms each",
        f"rows: {size.rows} for {size.replicas} replicas, {size.replica_rounds} replica-rounds",
        f"traced partitions: {sum(int(flags.sum()) for flags in traced.values())}",
        *asked_lines(run.scenarios),
        *(line for e in engines for line in e.plan(cores)),
        *estimate_lines(joined([e.work(cores) for e in engines]), cores),
    ]


def _with_time(run: Run, word: str = "") -> str:
    """The rounds of the longest scenario, followed by `word`, and the time that they stand for."""
    longest = longest_of(run.scenarios)
    return f"{longest.rounds}{word} ({duration(longest.rounds * longest.round_ms / 1000)})"


def traced_partitions(scenario: Scenario, trace: str) -> np.ndarray:
    """Flags by partition_id: which partitions a `--trace` text names."""
    sizes = [len(t.assignment) for t in scenario.topics]
    flags = np.full(sum(sizes), trace == "all", bool)
    if trace in ("none", "all"):
        return flags
    first = dict(zip((t.name for t in scenario.topics), np.cumsum([0, *sizes[:-1]]), strict=True))
    for name in trace.split(","):
        topic, _, partition = name.rpartition(":")
        if topic in first:
            flags[int(first[topic]) + int(partition)] = True
    return flags


def run_row(
    run: Run, spark_version: str, replica_rounds: int, started: datetime, seconds: float, shared_fetchers: Sequence[int] = ()
) -> tuple[object, ...]:
    """The row of `runs`."""
    versions = {"emulator": emulator.__version__, "spark": spark_version, "pyarrow": pyarrow.__version__}
    return (
        uuid.uuid4().hex,
        run.name,
        run.path,
        run.text,
        run.seed,
        json.dumps(versions),
        started,
        seconds,
        replica_rounds,
        run.folder,
        dict(run.files),
        sorted(shared_fetchers),
    )
