"""Blocks of partitions on their way to tasks: `pack` makes bytes of columns, `read_block` inputs and the start state."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from emulator.inputs.arrays.columns import PackedLists, narrow, offsets_of, widen
from emulator.inputs.arrays.given import LOCAL_START, LOG_START
from emulator.inputs.arrays.patterns import appends
from emulator.inputs.arrays.start import Logs, start_state
from emulator.rounds.kafka.input_records import BrokerSpan, Command, Inputs, Link, Rules, ScenarioRow, Settings
from emulator.rounds.kafka.reading.records import Want
from emulator.rounds.kafka.state import State
from emulator.rounds.kafka.tier.records import StoreSpan, Transaction
from emulator.rounds.records import rows, words_of

TABLES: Mapping[str, type] = {
    "scenarios": ScenarioRow,
    "rules": Rules,
    "spans": BrokerSpan,
    "links": Link,
    "settings": Settings,
    "commands": Command,
    "stores": StoreSpan,
    "wants": Want,
}
"""Tables of a payload that are records as they are."""


@dataclass(frozen=True, eq=False)
class Block:
    """A block of partitions, ready to be played.

    By partition: `scenario_id`, `topic_index` (place in `topic_names` of its scenario's place), `partition`, its number in the
    topic, and `fetcher`, which of the fetchers of two brokers its followers have. `topic_names`, `group_names` (of consumers):
    by place of the scenario. `traffic`: rows of Traffic for its brokers and their buckets. `first_broker`: by place of the
    scenario, and one more; `broker_place`: by broker of the block its place among all of the scenario's. `event_kinds`: by place
    of the scenario the kinds that are written, bits of scenario.PARTITION_EVENTS.
    """

    inputs: Inputs
    state: State
    scenario_id: np.ndarray
    topic_index: np.ndarray
    partition: np.ndarray
    fetcher: np.ndarray
    topic_names: tuple[tuple[str, ...], ...]
    group_names: tuple[tuple[str, ...], ...]
    traffic: int
    first_broker: np.ndarray
    broker_place: np.ndarray
    event_kinds: np.ndarray


def pack(
    tables: Mapping[str, np.ndarray],
    lists: Mapping[str, PackedLists],
    columns: Mapping[str, np.ndarray],
    rest: Mapping[str, Any],
) -> bytes:
    """A payload of `read_block`.

    `tables`: TABLES but settings and commands; `lists`: those that `read_block` names; `columns`.
    """
    named = {f"table {name}": words_of(table) if len(table) else np.zeros((0, 1), np.int64) for name, table in tables.items()}
    for name, of_name in lists.items():
        named |= {f"rows {name}": of_name.rows, f"counts {name}": of_name.counts}
    named |= {f"column {name}": column for name, column in columns.items()}
    lengths = {name: len(values) for name, values in named.items()}
    return pickle.dumps(dict(rest) | {"lengths": lengths} | {name: narrow(v) for name, v in named.items()}, protocol=5)


def read_block(payload: bytes) -> Block:
    """What `Prepared.block` packed."""
    packed: dict[str, Any] = pickle.loads(payload)
    named = {name: widen(packed[name], length) for name, length in packed["lengths"].items()}
    columns = {name.partition(" ")[2]: values for name, values in named.items() if name.startswith("column ")}
    lists = {
        name: PackedLists(named[f"rows {name}"], np.concatenate([[0], np.cumsum(named[f"counts {name}"])]).astype(np.int64))
        for name in ("settings", "commands", "workload", "stores", "remotes", "remote_epochs", "wants", "epochs", "bases")
    }
    tables = {name: _records(record, _words(named, lists, name)) for name, record in TABLES.items()}
    scenarios = tables["scenarios"]
    sizes, of_size = np.unique(columns["record_bytes"], return_inverse=True)
    appended = appends(lists["workload"], sizes)
    scenario = columns["scenario"]
    columns |= {
        "pattern": appended.of_sizes[of_size.reshape(-1)],
        "settings": lists["settings"].offsets[columns["settings"]],
        "command": lists["commands"].offsets[columns["command"]],
        "store": lists["stores"].offsets[columns["store"]],
        "first_acks": columns["acks_of_workload"][columns["workload"]],
        "workload": appended.first_span[columns["workload"]],
        "rounds": scenarios["rounds"][scenario],
        "late_news": scenarios["late_news"][scenario],
        "asks": tables["rules"]["asks"][scenarios["rules"][scenario]],
    }
    place = packed["first_broker"][np.repeat(scenario, columns["slots"])] + columns["broker_place"]
    columns |= {name: packed[f"broker {name}"].astype(np.int64)[place] for name in ("rack", "span")}
    columns["broker"] = packed["broker id"].astype(np.int64)[place]
    stale = np.ascontiguousarray(named["column stale"].reshape(packed["stale shape"]))
    inputs = Inputs(
        scenarios=scenarios,
        rules=tables["rules"],
        spans=tables["spans"],
        links=tables["links"],
        stale=stale,
        settings=tables["settings"],
        workload=appended.spans,
        patterns=appended.patterns,
        batches=appended.batches,
        commands=tables["commands"],
        store=tables["stores"],
        transactions=_records(Transaction, columns["transactions"].reshape(-1, 1)),
        wants=tables["wants"],
    )
    return Block(
        inputs,
        start_state(
            columns, _logs(columns, lists["epochs"], lists["bases"]), lists["remotes"], lists["remote_epochs"], lists["wants"]
        ),
        packed["scenario ids"][scenario],
        columns["topic"].astype(np.int32),
        columns["partition"].astype(np.int32),
        columns["fetcher"],
        packed["topic names"],
        packed["group names"],
        packed["traffic"],
        packed["first_broker"],
        packed["broker place"],
        packed["event kinds"],
    )


def _words(named: Mapping[str, np.ndarray], lists: Mapping[str, PackedLists], name: str) -> np.ndarray:
    return lists[name].rows if name in lists else named[f"table {name}"]


def _records(record: type, words: np.ndarray) -> Any:
    records = rows(record, len(words))
    if len(words):
        words_of(records)[:] = words
    return records


def _logs(columns: Mapping[str, np.ndarray], epochs: PackedLists, bases: PackedLists) -> Logs:
    """The logs by replica. `log_row`: the row of `logs`, -1 for an empty log."""
    row = columns["log_row"]
    offsets = np.zeros((len(row), LOCAL_START + 1), np.int64)
    has = np.flatnonzero(row >= 0)
    offsets[has] = columns["logs"].reshape(-1, LOCAL_START + 1)[row[has]]
    keeps = np.repeat(columns["keeps_segments"] != 0, columns["slots"])
    offsets[~keeps, LOCAL_START] = offsets[~keeps, LOG_START]
    return Logs(offsets, _of_rows(epochs, row, has), _of_rows(bases, row, np.flatnonzero((row >= 0) & keeps)))


def _of_rows(lists: PackedLists, row: np.ndarray, has: np.ndarray) -> PackedLists:
    """By replica the list of its row, an empty one for those that are not named."""
    counts = np.zeros(len(row), np.int64)
    counts[has] = lists.counts[row[has]]
    return PackedLists(lists.pick(row[has]).rows, offsets_of(counts))
