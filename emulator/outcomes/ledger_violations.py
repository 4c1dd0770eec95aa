"""The table of violated invariants of ledgers: those seen while the run went on, and at its end."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emulator.arrow_frames import frame_of
from emulator.expressions.bookkeeper.invariants import AT_THE_END, EVERY_ROUND, OF_TOPICS
from emulator.expressions.columns import texts
from emulator.inputs import ScenarioInputs
from emulator.schema import OUTPUT_TABLES

_KEYS = ("scenario_id", "partition_id", "feed_id")


def ledger_violations(spark: SparkSession, state: DataFrame, inputs: list[ScenarioInputs]) -> DataFrame:
    """Every violation: the state's keys, round, invariant, witness, cause."""
    names = texts(i.name for i in EVERY_ROUND + OF_TOPICS)
    fragments = "concat_ws(', ', transform(v.fragments, p_ -> concat(p_.first_entry, ': [', concat_ws(', ', p_.ensemble), ']')))"
    words = (
        "concat(IF(list_version IS NULL, '', concat('ledger ', slot, ': ')),"
        " IF(v.entry >= 0, concat('entry ', v.entry, ' is on no bookie of its write set; '), ''), 'acknowledged up to ',"
        " v.lac, ', the ledger ends at ', IF(v.last_entry >= -1, CAST(v.last_entry AS STRING), 'no entry yet'),"
        f" ', the writer writes to [', concat_ws(', ', v.ensemble), '], fragments ', {fragments})"
    )
    seen = state.filter("size(violations) > 0").select(*_KEYS, "list_version", "slot", F.explode("violations").alias("v"))
    seen = seen.select(
        *_KEYS,
        "v.round",
        F.expr(f"get({names}, v.invariant) AS invariant"),
        F.expr(f"{words} AS witness"),
        F.expr("CAST(null AS INT) AS cause"),
    )
    last_faults = F.broadcast(frame_of(spark, _last_faults(inputs)))
    broken = ", ".join(f"IF({i.violated}, '{i.name}', null)" for i in AT_THE_END)
    end = state.join(last_faults, "scenario_id").withColumn("violated", F.expr(f"filter(array({broken}), n -> n IS NOT NULL)"))
    end = end.select(
        *_KEYS,
        F.expr("round - 1 AS round"),
        F.explode("violated").alias("invariant"),
        F.expr("concat(size(recoveries), ' recoveries, acknowledged up to ', lac) AS witness"),
        F.expr("CAST(null AS INT) AS cause"),
    )
    return seen.unionByName(end)


def ledger_invariant_rows() -> pa.Table:
    """The table `invariants`."""
    looks = ((EVERY_ROUND + OF_TOPICS, "every round"), (AT_THE_END, "end"))
    rows = [(i.name, i.says, i.violated, when, i.source) for group, when in looks for i in group]
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    return pa.table(columns, OUTPUT_TABLES["invariants"].names)


def _last_faults(inputs: list[ScenarioInputs]) -> pa.Table:
    """By scenario: `quiet_from`, the last round in which a fault ends or a command is given."""
    quiet_from = []
    for scenario in (i.scenario for i in inputs):
        faults = scenario.faults.to_pylist()
        ends = [fault["to_round"] for fault in faults if fault["kind"] != "client_crash"]
        quiet_from.append(max([0, *ends, *(command.round for command in scenario.commands)]))
    return pa.table(
        {
            "scenario_id": pa.array([i.scenario.scenario_id for i in inputs], pa.int32()),
            "quiet_from": pa.array(quiet_from, pa.int64()),
        }
    )
