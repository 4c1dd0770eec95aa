"""Replays a drawn sample of a finished run's partitions in relational rounds, and compares every cell.

Both engines are written from docs/kafka_rounds.md and share no rule: where they differ, one of them is wrong.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from emulator.errors import MAX_LIST_CHARS, InputError, one_line, some
from emulator.rounds.relational.inputs.refusals import PROTOCOLS, lacking
from emulator.rounds.relational.inputs.run_inputs import RunInputs
from emulator.rounds.relational.inputs.workload import Place
from emulator.rounds.relational.outputs.tables import output_tables
from emulator.rounds.relational.play import play
from emulator.rounds.relational.queries.on_duckdb import OnDuckDB
from emulator.rounds.relational.queries.query import Query
from emulator.scenario import Run, Scenario
from emulator.scenario.event_kinds import unwritten_kinds
from emulator.scenario.stored import load_stored
from emulator.storage.output_directory import OutputDirectory
from emulator.table_columns.spark_columns import OUTPUT_TABLES

COMPARED = {
    "outcomes": (), "partitions": (), "replicas": ("broker",), "leader_epochs": ("broker", "epoch"), "events": None,
    "trace_partitions": ("round",), "trace": ("round", "broker"),
}  # fmt: skip
"""Tables, and what besides scenario and partition names one of their rows; None: rows are counted as a whole."""

PLACE = ("scenario_id", "topic", "partition")
Row = dict[str, Any]
Key = tuple[Any, ...]
MISSING = "no row"
ALLOWED = f"allowed: a run with a scenario of {', '.join(PROTOCOLS)} that has none of this"


@dataclass(frozen=True)
class Difference:
    """A cell in which the run and the relational rounds differ; `round` is None for the end of the run."""

    table: str
    place: Key
    round: int | None
    what: str
    of_run: object
    relational: object

    def line(self) -> str:
        """The difference in one line."""
        scenario, topic, partition = self.place
        when = "at the end" if self.round is None else f"in round {self.round}"
        of = f"{topic}:{partition} of scenario {scenario}"
        return f"{self.table}: {of} {when}, {self.what}: {self.of_run} in the run, {self.relational} in relational rounds"


@dataclass(frozen=True)
class Checked:
    """What a check found: how many partitions and cells were compared, differences the earliest first, what was left out."""

    partitions: int
    cells: int
    differences: list[Difference]
    left_out: list[str]

    def lines(self) -> list[str]:
        """The findings for standard output."""
        found = f"{self.partitions} partitions replayed in relational rounds, {self.cells} cells compared"
        lines = [f"left out: {what}" for what in self.left_out]
        if not self.differences:
            return [*lines, f"{found}: all equal"]
        return [*lines, f"{found}: {len(self.differences)} differ, the first:", self.differences[0].line()]


def check_run(folder: str, spark: SparkSession, sample: int, seed: int = 0) -> Checked:
    """Compare a drawn sample of a run's partitions with what relational rounds make of them.

    Raises InputError when the folder has no run, a file that it names has changed, or nothing of it can be replayed.
    """
    output = OutputDirectory(spark, folder)
    run = _stored_run(spark, output, folder)
    scenarios, left_out = _replayable(run)
    if not scenarios:
        reasons = one_line("; ".join(left_out), MAX_LIST_CHARS)
        raise InputError(f"{folder}: nothing of this run can be replayed in relational rounds: {reasons}; {ALLOWED}")
    inputs = RunInputs(scenarios)
    chosen = _draw(inputs.places, sample, seed)
    scenarios = [s for s in scenarios if any(place[0] == s.scenario_id for place in chosen)]
    first = {(p.scenario.scenario_id, p.name): p.first_pid for p in inputs.places}
    cells, found = 0, list[Difference]()
    engine = OnDuckDB()
    inputs = RunInputs(scenarios, [first[scenario, topic] + partition for scenario, topic, partition in chosen])
    stored = {name: _stored(spark, output, name, chosen) for name in COMPARED}
    traced = sorted({first[row["scenario_id"], row["topic"]] + row["partition"] for row in stored["trace_partitions"]})
    marked = engine.read(pa.table({"pid": pa.array(traced, pa.int64())})) if traced else None
    tables = output_tables(engine, inputs, play(engine, inputs, marked))
    for name, key in COMPARED.items():
        rows = tables[name]
        played = engine.table(rows, OUTPUT_TABLES[name]) if isinstance(rows, Query) else rows
        compared, differing = compare(name, stored[name], played.to_pylist(), key)
        cells, found = cells + compared, found + differing
    last = max(s.rounds for s in scenarios)
    found.sort(key=lambda d: (last if d.round is None else d.round, list(COMPARED).index(d.table), d.place))
    return Checked(len(chosen), cells, found, left_out)


def _stored_run(spark: SparkSession, output: OutputDirectory, folder: str) -> Run:
    try:
        row = spark.read.parquet(output.table_uri("runs")).first()
    except PySparkException:
        row = None
    if row is None:
        raise InputError(f"{folder}: has no run; allowed: the DIR of emulator run SCENARIO.toml --out DIR")
    return load_stored(row.asDict())


def _replayable(run: Run) -> tuple[list[Scenario], list[str]]:
    """The scenarios that can be replayed, and what is left out of the run, by name; scenarios with the same are told together."""
    scenarios, left_out = [], defaultdict[str, list[str]](list)
    for scenario in run.scenarios:
        reasons = list(lacking(scenario))
        if reasons:
            left_out[", ".join(reasons)].append(scenario.name)
            continue
        scenarios.append(scenario)
        if unwritten := unwritten_kinds(scenario.protocol, scenario.events):
            left_out[f"events that the run did not write: {', '.join(unwritten)}"].append(scenario.name)
    return scenarios, [f"{some('scenario', names)}: {reasons}" for reasons, names in left_out.items()]


def _draw(places: list[Place], sample: int, seed: int) -> list[Key]:
    """Some of all partitions, by scenario, topic and number."""
    pids = [pid for p in places for pid in range(p.first_pid, p.first_pid + len(p.assignment))]
    drawn = sorted(random.Random(seed).sample(pids, min(sample, len(pids))))
    keys: list[Key] = []
    for place in places:
        own = drawn[bisect_left(drawn, place.first_pid) : bisect_left(drawn, place.first_pid + len(place.assignment))]
        keys += [(place.scenario.scenario_id, place.name, pid - place.first_pid) for pid in own]
    return keys


def _stored(spark: SparkSession, output: OutputDirectory, name: str, chosen: list[Key]) -> list[Row]:
    """The run's rows of the chosen partitions."""
    rows = spark.read.parquet(output.table_uri(name))
    places = spark.createDataFrame(chosen, "scenario_id int, topic string, partition int")
    found: list[Row] = rows.join(F.broadcast(places), list(PLACE)).toArrow().to_pylist()
    return found


def compare(name: str, of_run: list[Row], relational: list[Row], key: tuple[str, ...] | None) -> tuple[int, list[Difference]]:
    """How many cells of a table were compared, and those that differ.

    `key`: what besides scenario and partition names a row; None: rows count as a whole, as often as they are there.
    """
    columns = [column for column in OUTPUT_TABLES[name].names if column not in PLACE]
    if key is None:
        left, right = (Counter(tuple(_plain(r[c]) for c in (*PLACE, *columns)) for r in rows) for rows in (of_run, relational))
        found = [_of_event(columns, row, count, right[row]) for row, count in left.items() if count != right[row]]
        found += [_of_event(columns, row, 0, count) for row, count in right.items() if row not in left]
        return len(of_run) * len(columns), found
    known, other = ({tuple(row[k] for k in (*PLACE, *key)): row for row in rows} for rows in (of_run, relational))
    found = list[Difference]()
    for at in known.keys() | other.keys():
        mine, theirs = known.get(at), other.get(at)
        number = at[len(PLACE)] if "round" in key else None
        of = ", ".join(f"{k} {v}" for k, v in zip(key, at[len(PLACE) :], strict=True) if k != "round")
        if mine is None or theirs is None:
            there = [MISSING if row is None else "a row" for row in (mine, theirs)]
            found.append(Difference(name, at[: len(PLACE)], number, of or "the row", *there))
            continue
        found += [
            Difference(name, at[: len(PLACE)], number, f"{column} {of}".strip(), mine[column], theirs[column])
            for column in columns
            if _plain(mine[column]) != _plain(theirs[column])
        ]
    return len(of_run) * len(columns), found


def _of_event(columns: list[str], row: Key, in_run: int, in_relational: int) -> Difference:
    values = dict(zip(columns, row[len(PLACE) :], strict=True))
    what = " ".join(f"{k}={v}" for k, v in values.items() if k != "round" and v is not None)
    return Difference("events", row[: len(PLACE)], values["round"], what, f"{in_run} times", f"{in_relational} times")


def _plain(value: Any) -> Any:
    """The value as one that can be a key."""
    if isinstance(value, list):
        return tuple(_plain(one) for one in value)
    return tuple(value.items()) if isinstance(value, dict) else value
