"""The state of ledgers before round 0: one row each, OPEN, with one fragment and nothing written."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emulator.arrow_frames import frame_of
from emulator.inputs import ScenarioInputs
from emulator.inputs.ledgers import ledger_rules_of
from emulator.rounds.bookkeeper.state import COLUMNS, LEDGER_STATE, NO_LAC, NOT_CLOSED, OK, OPEN, WRITING
from emulator.rounds.columns import struct

_AT_START = {
    "slot": "0",
    "round": "0",
    "ledger_state": str(OPEN),
    "fragments": f"array({struct({'first_entry': '0L', 'ensemble': 'ensemble'})})",
    "last_entry": str(NOT_CLOSED),
    "closed_by": str(NOT_CLOSED),
    "writer_state": str(WRITING),
    "lac": str(NO_LAC),
    "lac_told": str(NO_LAC),
    "run_lac": str(NO_LAC),
    "window_size": "1",
    "error": str(OK),
    "impaired": "false",
    "changing": "null",
    "world": "null",
    "feed": "null",
    "trace": "null",
}
"""What isn't zero or empty."""


def initial_ledgers(spark: SparkSession, inputs: list[ScenarioInputs], traced: dict[int, np.ndarray]) -> DataFrame:
    """One row per (scenario, ledger) as it is before round 0. `traced`: scenario_id -> flags by partition_id."""
    tables, worlds, feeds = [], 0, 0
    for i in inputs:
        tables.append(_ledger_rows(i, traced[i.scenario.scenario_id], worlds, feeds))
        worlds, feeds = worlds + i.world_count, feeds + i.feed_count
    rows = frame_of(spark, pa.concat_tables(tables))
    given = set(rows.columns)
    absent = () if ledger_rules_of(inputs).repairs else LEDGER_STATE.groups["repair"]
    values = {
        name: "null" if name in absent else _AT_START.get(name, "array()" if kind.startswith("ARRAY") else "0")
        for name, (kind, _) in COLUMNS.items()
        if name not in given
    }
    rows = rows.withColumns({name: F.expr(f"CAST({text} AS {COLUMNS[name][0]})") for name, text in values.items()})
    # The keys stay bare: an alias, once optimised away, would hide the partitioning from the checkpointed frame.
    keys = ("scenario_id", "partition_id")
    return rows.select([F.col(n) if n in keys else F.col(n).cast(kind).alias(n) for n, (kind, _) in COLUMNS.items()])


def _ledger_rows(inputs: ScenarioInputs, traced: np.ndarray, first_world: int, first_feed: int) -> pa.Table:
    table, ids = inputs.partition_table, inputs.states
    members = np.ones(len(ids), np.int32) if inputs.alike is None else inputs.alike.sizes.astype(np.int32)
    ensembles: list[list[int]] = []
    first = np.cumsum([0, *(topic.partitions for topic in inputs.scenario.topics)])
    for index, topic in enumerate(inputs.scenario.topics):
        mine = ids[(ids >= first[index]) & (ids < first[index + 1])] - first[index]
        ensembles += topic.assignment[mine].tolist()
    return pa.table(
        {
            "scenario_id": pa.array(np.full(len(ids), inputs.scenario.scenario_id, np.int32)),
            "partition_id": pa.array(ids.astype(np.int64)),
            "world_id": pa.array((table.world_id[ids] + first_world).astype(np.int32)),
            "feed_id": pa.array(table.feed_id[ids].astype(np.int64) + first_feed),
            "members": pa.array(members),
            "traced": pa.array(traced[ids]),
            "ensemble": pa.array(ensembles, pa.list_(pa.int32())),
        }
    )
