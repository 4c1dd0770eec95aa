"""The state of ledgers before round 0: one row each, OPEN, with one fragment and nothing written, if nothing else is given."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emulator.arrow_frames import frame_of
from emulator.expressions.bookkeeper.state import (
    CLOSED,
    COLUMNS,
    CRASHED,
    LEDGER_STATE,
    NO_LAC,
    NOT_CLOSED,
    OK,
    OPEN,
    SHUT,
    STATES,
    WRITER,
    WRITING,
)
from emulator.expressions.bookkeeper.topics.columns import CREATE, OWNER_FIELDS, TOPIC_COLUMNS
from emulator.expressions.columns import struct, typed
from emulator.inputs import ScenarioInputs
from emulator.inputs.ledgers import given_ledgers, ledger_rules_of
from emulator.ledger_configs import is_managed
from emulator.scenario.model import INITIAL_LEDGERS_SCHEMA

_AT_START = {
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
    **dict.fromkeys(TOPIC_COLUMNS, "null"),
}
"""What isn't zero or empty."""


_FIRST_OWNER = {name: "array()" if kind.startswith("ARRAY") else "0" for name, kind in OWNER_FIELDS.items()} | {
    "phase": str(CREATE),
    "part": "-1",
    "to_message": "null",
    "ready": "false",
}
_OF_LIST = {
    **dict.fromkeys(("list_version", "parts", "messages"), "0"),
    **dict.fromkeys(("topic_unacked", "topic_unacked_rounds", "topic_unwritable_rounds"), "0"),
    "tail": "array()",
    "owners": f"array({struct({name: f'CAST({_FIRST_OWNER[name]} AS {kind})' for name, kind in OWNER_FIELDS.items()})})",
    "copied_bytes": "0",
    "offloading": "-1",
    "list_full": "false",
    "place": "first_place",
    "writer_state": str(SHUT),
}
"""Of the rows of a topic that is a list of ledgers: all of them are spare, and somebody is about to create the first ledger."""

_GIVEN_FIELDS = ("last_entry", "bytes", "fragments")
_END = "given.last_entry + 1"
_RUN = {
    "from_entry": "p_.first_entry",
    "to_entry": f"coalesce(get(given.fragments, i_ + 1).first_entry, {_END})",
    "lac": "p_.first_entry - 1",
    "step": "1",
    "ensemble": "p_.ensemble",
}
_FLUSHED = {"bookie": "b_", "to_entry": _END, "fenced": "false"}
_GIVEN = {
    "ledger_state": "given.state",
    "fragments": "given.fragments",
    "last_entry": f"IF(given.state = {CLOSED}, given.last_entry, {NOT_CLOSED})",
    "closed_by": f"IF(given.state = {CLOSED}, {WRITER}, {NOT_CLOSED})",
    "writer_state": f"CASE given.state WHEN {OPEN} THEN {WRITING} WHEN {CLOSED} THEN {SHUT} ELSE {CRASHED} END",
    "lac": "given.last_entry",
    "lac_told": f"greatest(given.last_entry - 1, {NO_LAC})",
    **dict.fromkeys(("next_entry", "run_from", "run_to", "first_own_entry"), _END),
    "given_bytes": "given.bytes",
    "runs": f"filter(transform(given.fragments, (p_, i_) -> {struct(_RUN)}), u_ -> u_.to_entry > u_.from_entry)",
    "flushes": (
        "transform(array_distinct(flatten(transform(given.fragments, p_ -> p_.ensemble))), b_ -> " + struct(_FLUSHED) + ")"
    ),
}
"""Of a ledger that starts with something: all bookies have their share of its entries, on disk, each with the LAC of adds that
were sent one by one. An OPEN ledger's writer goes on; of one IN_RECOVERY the writer is gone, and nobody recovers it yet."""


def initial_ledgers(spark: SparkSession, inputs: list[ScenarioInputs], traced: dict[int, np.ndarray]) -> DataFrame:
    """One row per (scenario, ledger) as it is before round 0: empty, or as its scenario's `initial_ledgers` has it.

    A topic that is a list of ledgers has as many rows as it may come to have ledgers.

    `traced`: scenario_id -> flags by partition_id.
    """
    tables, worlds, feeds = [], 0, 0
    for i in inputs:
        tables.append(_ledger_rows(i, traced[i.scenario.scenario_id], worlds, feeds))
        worlds, feeds = worlds + i.world_count, feeds + i.feed_count
    rows = frame_of(spark, pa.concat_tables(tables))
    there = set(rows.columns)
    absent = () if ledger_rules_of(inputs).repairs else LEDGER_STATE.groups["repair"]
    values = {
        name: "null" if name in absent else _AT_START.get(name, "array()" if kind.startswith("ARRAY") else "0")
        for name, (kind, _) in COLUMNS.items()
        if name not in there
    }
    values |= {
        name: f"IF(given IS NULL, CAST({values[name]} AS {COLUMNS[name][0]}), CAST({text} AS {COLUMNS[name][0]}))"
        for name, text in _GIVEN.items()
    }
    if ledger_rules_of(inputs).topics:
        values |= {n: f"IF(first_place IS NULL, {values[n]}, CAST({text} AS {COLUMNS[n][0]}))" for n, text in _OF_LIST.items()}
    rows = rows.withColumns({name: F.expr(f"CAST({text} AS {COLUMNS[name][0]})") for name, text in values.items()})
    return typed(rows, LEDGER_STATE)


def _places(inputs: ScenarioInputs, ids: np.ndarray) -> pa.Array:
    """The place of the bookie from which on a topic's first ledger takes its ensemble; null: the ledger is no list's."""
    scenario, table = inputs.scenario, inputs.partition_table
    lists = np.array([is_managed(scenario.config, topic.config) for topic in scenario.topics], bool)
    places = table.partition[ids] % len(scenario.brokers)
    return pa.array(places.astype(np.int32), mask=~lists[table.topic_index[ids]])


_GIVEN_TYPE = pa.struct([("state", pa.int32()), *((name, INITIAL_LEDGERS_SCHEMA.field(name).type) for name in _GIVEN_FIELDS)])


def _ledger_rows(inputs: ScenarioInputs, traced: np.ndarray, first_world: int, first_feed: int) -> pa.Table:
    table, states = inputs.partition_table, inputs.states
    counts = table.slot_count[states]
    ids = np.repeat(states, counts)
    slots = np.arange(len(ids)) - np.repeat(np.cumsum(counts) - counts, counts)
    members = np.ones(len(states), np.int32) if inputs.alike is None else inputs.alike.sizes.astype(np.int32)
    ensembles: list[list[int]] = []
    first = np.cumsum([0, *(topic.partitions for topic in inputs.scenario.topics)])
    for index, topic in enumerate(inputs.scenario.topics):
        mine = ids[(ids >= first[index]) & (ids < first[index + 1])] - first[index]
        ensembles += topic.assignment[mine].tolist()
    rows = given_ledgers(inputs.scenario)
    given = [rows.get(ledger) for ledger in ids.tolist()]
    ensembles = [e if row is None else row["fragments"][-1]["ensemble"] for e, row in zip(ensembles, given, strict=True)]
    starts = [None if row is None else {**row, "state": STATES.index(row["state"])} for row in given]
    return pa.table(
        {
            "scenario_id": pa.array(np.full(len(ids), inputs.scenario.scenario_id, np.int32)),
            "partition_id": pa.array(ids.astype(np.int64)),
            "world_id": pa.array((table.world_id[ids] + first_world).astype(np.int32)),
            "feed_id": pa.array(table.feed_id[ids].astype(np.int64) + first_feed),
            "members": pa.array(np.repeat(members, counts)),
            "slot": pa.array(slots.astype(np.int32)),
            "traced": pa.array(traced[ids]),
            "ensemble": pa.array(ensembles, pa.list_(pa.int32())),
            "given": pa.array(starts, _GIVEN_TYPE),
            "first_place": _places(inputs, ids),
        }
    )
