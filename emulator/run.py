"""One emulation from the scenario file's content to its tables."""

from __future__ import annotations

import json
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from typing import cast

import numpy as np
import pyarrow
import pyspark
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

import emulator
from emulator.bandwidth import has_edges
from emulator.checkpoints import DEFAULT_EVERY, Checkpoints, RunCheckpoints, fingerprint, source_digest
from emulator.engine import FUSED_ROUNDS, Tracks, codegen_settings, emulate
from emulator.inputs import ScenarioInputs, find_alike
from emulator.outcomes.assemble import empty_table
from emulator.outcomes.joined import Tables, joined_tables
from emulator.outcomes.scenarios import scenario_rows
from emulator.outcomes.trace import TRACE_TABLES
from emulator.progress import Progress
from emulator.protocols import PROTOCOLS, System, by_system
from emulator.scenario import Run, Scenario
from emulator.schema import OUTPUT_TABLES
from emulator.session import settings_held
from emulator.storage import OutputDirectory

OF_EVERY_RUN = ("runs", "scenarios", "broker_rounds")
"""Tables that are written beside those of the final state."""

STATE_ROW_BYTES = 1500
"""Bytes of a state row while it is worked on, measured; two checkpoints are held at a time."""


@dataclass(frozen=True)
class RunSummary:
    """What a run says when it is done: lines for standard output, and how many invariants were violated."""

    lines: list[str]
    violations: int


def run_emulation(
    run: Run,
    out: str,
    spark: SparkSession,
    *,
    mode: str | None = None,
    trace: str = "none",
    progress: Progress | None = None,
    resume: bool = False,
    checkpoint_every: int | None = None,
) -> RunSummary:
    """Run all scenarios of a file and publish their tables under `out`, all of them or none.

    `mode`: "plain" or "leap", None: the scenario file's; the tables are the same. `trace`: "none", "all" or
    TOPIC:PARTITION,... `resume`: go on from the checkpoint there, if there is one; `checkpoint_every`: jobs between two, 0 for
    none, None for checkpoints.DEFAULT_EVERY.

    Raises InputError if `out` cannot take the tables, or has a checkpoint of another run.
    """
    started, clock = datetime.now(timezone.utc), time.monotonic()
    mode, progress, checkpoints = mode or run.mode, progress or Progress(quiet=True), None
    output = OutputDirectory(spark, out)
    output.recover()
    output.stage()
    try:
        inputs, traced = _inputs(run, trace)
        parts = by_system(inputs)
        version = (source_digest(), pyspark.__version__)
        same = {"scenario": (run.scenarios, run.time_buckets), "mode": mode, "trace": trace, "version": version}
        identity = {what: fingerprint(value) for what, value in same.items()}
        every = DEFAULT_EVERY[mode] if checkpoint_every is None else checkpoint_every
        known = sorted({system.name for system in PROTOCOLS.values()})
        checkpoints = RunCheckpoints(spark, out, identity, every, [system.name for system in parts], known)
        checkpoints.open(resume, progress.note)
        states, broker_rounds = {}, []
        for system, own in parts.items():
            at = checkpoints.of[system.name]
            goes_on = resume and at.is_there()
            if not goes_on:
                at.start_anew()
            tracks = Tracks(partial(_write_trace, at, system, spark, own))
            own_traced = {i.scenario.scenario_id: traced[i.scenario.scenario_id] for i in own}
            states[system] = emulate(spark, own, own_traced, tracks, progress, mode, run.time_buckets, at, goes_on)
            broker_rounds += tracks.broker_rounds
        seconds = time.monotonic() - clock
        with settings_held(spark, codegen_settings(sum(i.partition_count for i in inputs))):
            tables, violations = _tables(spark, parts, states, traced)
            schema, rows = scenario_rows(run.scenarios, mode)
            with ThreadPoolExecutor(4) as pool:
                writes = [pool.submit(output.write, name, frame) for name, frame in tables.items()]
                writes.append(pool.submit(output.write_rows, "scenarios", rows, schema))
                writes.append(pool.submit(output.write_rows, "broker_rounds", broker_rounds))
                writes.append(pool.submit(output.write_rows, "runs", [_run_row(run, inputs, started, seconds)]))
                for write in writes:
                    write.result()
        for at in checkpoints.of.values():
            at.collect_trace({name: output.path(name) for name in TRACE_TABLES})
        output.commit()
    except BaseException:
        output.abort()
        if checkpoints is not None:
            checkpoints.forget_useless()
        raise
    checkpoints.forget(progress.note)
    partitions, distinct = sum(i.partition_count for i in inputs), sum(len(i.states) for i in inputs)
    lines = [
        f"{len(inputs)} scenarios, {partitions} partitions ({distinct} distinct), {max(s.rounds for s in run.scenarios)} rounds:"
        f" {replica_rounds(inputs)} replica-rounds in {time.monotonic() - clock:.1f} s, tables in {out}"
    ]
    found = int(violations.get["rows"])
    if found:
        lines.append(f"invariants were violated {found} times: table violations")
    return RunSummary(lines, found)


def _write_trace(at: Checkpoints, system: System, spark: SparkSession, inputs: list[ScenarioInputs], state: DataFrame) -> None:
    at.write_trace(system.trace_tables(spark, state, inputs))


def _tables(
    spark: SparkSession,
    parts: dict[System, list[ScenarioInputs]],
    states: dict[System, DataFrame],
    traced: dict[int, np.ndarray],
) -> tuple[Tables, Observation]:
    """The tables that follow from the final states, and how many violations will have been written."""
    of_systems = [system.tables(spark, states[system], own) for system, own in parts.items()]
    tables = joined_tables(spark, of_systems, [n for n in OUTPUT_TABLES if n not in (*OF_EVERY_RUN, *TRACE_TABLES)])
    violations = Observation("violations")
    tables["violations"] = cast(DataFrame, tables["violations"]).observe(violations, F.count(F.lit(1)).alias("rows"))
    if not any(flags.any() for flags in traced.values()):
        tables |= {name: empty_table(name) for name in TRACE_TABLES}
    return tables, violations


def dry_run(run: Run, trace: str = "none", mode: str | None = None) -> list[str]:
    """What a run would do, in lines: scenarios, partitions, rounds, rows, jobs, estimated memory. Needs no Spark."""
    inputs, traced = _inputs(run, trace)
    rows = sum(i.rows for i in inputs)
    rounds = max(s.rounds for s in run.scenarios)
    names = [s.name for s in run.scenarios]
    jobs = f"{-(-rounds // FUSED_ROUNDS)} jobs or more" if (mode or run.mode) == "plain" else "jobs by what happens"
    return [
        f"scenarios: {len(inputs)} ({', '.join(names if len(names) < 9 else [*names[:8], '...'])})",
        f"partitions: {sum(i.partition_count for i in inputs)} ({sum(len(i.states) for i in inputs)} distinct)",
        f"rounds: {rounds} of {run.scenarios[0].round_ms} ms",
        f"rows: {rows} for {sum(i.replicas for i in inputs)} replicas, {replica_rounds(inputs)} replica-rounds, {jobs}",
        f"traced partitions: {sum(int(flags.sum()) for flags in traced.values())}",
        f"estimated memory: {max(1, 2 * rows * STATE_ROW_BYTES // 2**20)} MiB for the state",
    ]


def _inputs(run: Run, trace: str) -> tuple[list[ScenarioInputs], dict[int, np.ndarray]]:
    """The inputs of every scenario, alike partitions found, and by scenario_id which partitions are traced."""
    inputs = [PROTOCOLS[s.protocol].inputs(s) for s in run.scenarios]
    traced = {s.scenario_id: traced_partitions(s, trace) for s in run.scenarios}
    for i in inputs:
        i.alike = find_alike(i, traced[i.scenario.scenario_id], has_edges(i.scenario))
    return inputs, traced


def replica_rounds(inputs: list[ScenarioInputs]) -> int:
    """Replicas times rounds, over all scenarios."""
    return sum(i.replicas * i.scenario.rounds for i in inputs)


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


def _run_row(run: Run, inputs: list[ScenarioInputs], started: datetime, seconds: float) -> tuple[object, ...]:
    versions = {"emulator": emulator.__version__, "spark": pyspark.__version__, "pyarrow": pyarrow.__version__}
    return (
        uuid.uuid4().hex,
        run.name,
        run.path,
        run.text,
        run.seed,
        json.dumps(versions),
        started,
        seconds,
        replica_rounds(inputs),
    )
