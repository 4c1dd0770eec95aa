"""One run by relational rounds: from the scenario file's content to its tables."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from emulator.graphs.schema import GRAPH_TABLES, graph_went
from emulator.outcomes.scenarios import scenario_rows
from emulator.progress import Progress
from emulator.rounds.relational.inputs.refusals import refuse_unknown
from emulator.rounds.relational.inputs.run_inputs import RunInputs
from emulator.rounds.relational.inputs.workload import PARTITIONS_A_SCENARIO
from emulator.rounds.relational.outputs.broker_rounds import broker_rounds, bucket_edges
from emulator.rounds.relational.outputs.tables import output_tables
from emulator.rounds.relational.play import play
from emulator.rounds.relational.queries.on_spark import SETTINGS, OnSpark
from emulator.rounds.relational.queries.query import Engine, Query
from emulator.run import RunSummary, run_row, traced_partitions
from emulator.scenario import Run
from emulator.session import settings_held
from emulator.storage.output_directory import OutputDirectory
from emulator.table_columns.spark_columns import OUTPUT_TABLES

MODE = "plain"
ROWS_A_TASK = 20_000
REPLICAS_OF_DUCKDB = 1_000_000
"""What is played by DuckDB where nothing else is said: that many replicas fit this process."""
OF_DUCKDB = ("duckdb", "sqlglot")
"""What that imports, which an archive of `emulator pack` has not."""


def run_relational(
    run: Run,
    out: str,
    spark: SparkSession,
    trace: str = "none",
    progress: Progress | None = None,
    by_spark: bool | None = None,
) -> RunSummary:
    """Run all scenarios of a file and publish their tables under `out`, all of them or none; a graph there goes.

    `trace`: "none", "all" or TOPIC:PARTITION,... `by_spark`: whether Spark works the queries out, or DuckDB; None: DuckDB what
    fits this machine, where it is installed. Raises InputError for what these rounds don't have.
    """
    refuse_unknown(run)
    started, clock = datetime.now(timezone.utc), time.monotonic()
    progress = progress or Progress(quiet=True)
    output = OutputDirectory(spark, out, derived=GRAPH_TABLES)
    output.recover()
    output.stage()
    try:
        inputs = RunInputs(run.scenarios)
        replicas, partitions = inputs.homes.num_rows, sum(len(p.assignment) for p in inputs.places)
        if by_spark is None:
            by_spark = replicas > REPLICAS_OF_DUCKDB or not all(map(find_spec, OF_DUCKDB))
        tasks = max(2, replicas // ROWS_A_TASK)
        engine = OnSpark(spark, tasks) if by_spark else _on_duckdb(replicas)
        with settings_held(spark, SETTINGS | {"spark.sql.shuffle.partitions": str(tasks)} if by_spark else {}):
            traced = _traced(engine, inputs, trace)

            def advance(number: int) -> None:
                progress.advance(number, partitions, number, replicas * number)

            progress.start(inputs.rounds, partitions, len(inputs.scenarios))
            edges = bucket_edges(inputs.rounds, run.time_buckets)
            played = play(engine, inputs, traced, advance, edges)
            seconds = time.monotonic() - clock
            tables = output_tables(engine, inputs, played)
            output.write_rows("broker_rounds", broker_rounds(engine, inputs, played, edges))
            for name, rows in tables.items():
                if name not in ("runs", "scenarios", "broker_rounds"):
                    output.write(name, engine.table(rows, OUTPUT_TABLES[name]) if isinstance(rows, Query) else rows)
        schema, rows_of_scenarios = scenario_rows(run.scenarios, MODE)
        output.write_rows("scenarios", rows_of_scenarios, schema)
        count = sum(len(p.assignment[p.assignment >= 0]) * p.scenario.rounds for p in inputs.places)
        output.write_rows("runs", [run_row(run, spark.version, count, started, seconds)])
        had_graph = output.derived_tables()
        output.commit()
    except BaseException:
        output.abort()
        raise
    if had_graph:
        progress.note(graph_went(out))
    took = time.monotonic() - clock
    lines = [
        f"{len(inputs.scenarios)} scenarios, {partitions} partitions, {inputs.rounds} rounds, relational, by"
        f" {'Spark' if by_spark else 'DuckDB'}: {count} replica-rounds in {took:.1f} s, tables in {out}",
        "invariants were not looked at: the relational rounds have none",
    ]
    return RunSummary(lines, 0)


def _on_duckdb(replicas: int) -> Engine:
    from emulator.rounds.relational.queries.on_duckdb import OnDuckDB

    return OnDuckDB(replicas)


def _traced(engine: Engine, inputs: RunInputs, trace: str) -> Query | None:
    """The pid of the partitions that a `--trace` text names; None: of none."""
    pids = np.concatenate([
        s.scenario_id * PARTITIONS_A_SCENARIO + np.flatnonzero(traced_partitions(s, trace)) for s in inputs.scenarios
    ])  # fmt: skip
    return engine.read(pa.table({"pid": pids})) if len(pids) else None
