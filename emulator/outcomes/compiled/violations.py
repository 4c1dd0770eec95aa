"""The table of violated invariants: witnesses in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from emulator.outcomes.compiled.columns import nullable, table_of, texts_at
from emulator.outcomes.compiled.names import NO_BROKER, Names
from emulator.rounds.kafka.constants import NEVER, UNKNOWN
from emulator.rounds.kafka.invariants import (
    AT_ELECTIONS,
    AT_THE_END,
    EVERY_ROUND,
    NAMES,
    NO_COMMITTED_RECORD_LOST,
    OF_TIERS,
    READ_ACCOUNTED,
    RESET_ONLY_IF_GONE,
)
from emulator.rounds.kafka.told import Told

VIOLATION_KINDS = ("violation", "suspect")
_AT_ELECTIONS = len(EVERY_ROUND + OF_TIERS)
_AT_THE_END = _AT_ELECTIONS + len(AT_ELECTIONS)
_OF_READS = _AT_THE_END + len(AT_THE_END)
"""Where these begin among NAMES."""
_NO_FAULT = -1
_NOT_HEARD = -1_000_000_000
"""What the words have for a follower that was not heard in the epoch."""


def violation_rows(names: Names, told: Told) -> pa.Table:
    """The rows of `violations`."""
    violations = told.violations
    columns = {
        "round": violations["at_round"],
        "invariant": texts_at(NAMES, violations["invariant"]),
        "witness": pa.array(_witnesses(names, told), pa.string()),
        "cause": nullable(violations["cause"], _NO_FAULT),
        "kind": texts_at(VIOLATION_KINDS, violations["is_suspect"]),
    }
    return table_of("violations", len(violations), names.ids(np.asarray(violations["partition"])) | columns)


def _witnesses(names: Names, told: Told) -> list[str]:
    entries = told.witness_epochs
    epochs = list(zip(np.asarray(entries["epoch"]).tolist(), np.asarray(entries["start_offset"]).tolist(), strict=True))
    fields: tuple[str, ...] = told.violations.dtype.names or ()
    texts, at = [], 0
    for values in np.asarray(told.violations).tolist():
        row = dict(zip(fields, values, strict=True))
        own, leaders = (at, at + row["epochs"]), (at + row["epochs"], at + row["epochs"] + row["leader_epochs"])
        if row["invariant"] < _AT_ELECTIONS:
            texts.append(_while_running(row, _words(epochs[slice(*own)]), _words(epochs[slice(*leaders)])))
        elif row["invariant"] < _AT_THE_END:
            texts.append(_at_an_election(row))
        elif row["invariant"] < _OF_READS:
            texts.append(_at_the_end(row))
        else:
            texts.append(_of_a_read(row, names.group(row["partition"], row["group"])))
        at = leaders[1]
    return texts


def _while_running(row: dict[str, Any], epochs: str, leader_epochs: str) -> str:
    return (
        f"broker {row['broker']}: LEO {row['leo']}, HW {row['hw']}, epochs {epochs}; leader {_or_none(row['leader'])} of epoch"
        f" {row['leader_epoch']}: LEO {row['leader_leo']}, HW {row['leader_hw']}, epochs {leader_epochs};"
        f" alike below {row['agreed_to']}"
    )


def _at_an_election(row: dict[str, Any]) -> str:
    if row["invariant"] == NO_COMMITTED_RECORD_LOST:
        return (
            f"no replica has offsets {row['from_offset']} to {row['to_offset'] - 1} of epoch {row['records_epoch']}, which were"
            f" committed before broker {row['broker']} was elected in epoch {row['leader_epoch']}"
        )
    return (
        f"broker {row['broker']}, elected in epoch {row['leader_epoch']}, lacks offsets {row['from_offset']} to"
        f" {row['to_offset'] - 1} of epoch {row['records_epoch']}"
    )


def _at_the_end(row: dict[str, Any]) -> str:
    heard = _NOT_HEARD if row["heard_round"] == NEVER else row["heard_round"]
    return (
        f"broker {row['broker']} in round {row['at_round']}: LEO {row['leo']}, last heard in round {heard}; leader"
        f" {_or_none(row['leader'])} in epoch {row['leader_epoch']}, HW {row['leader_hw']}"
    )


def _of_a_read(row: dict[str, Any], group: str) -> str:
    asked = f"broker {row['broker']}: LEO {row['leo']}, HW {row['hw']}"
    if row["invariant"] == RESET_ONLY_IF_GONE:
        return f"group {group} was reset from {row['from_offset']}; leader {asked}"
    if row["invariant"] == READ_ACCOUNTED:
        return f"group {group} passed over offsets {row['from_offset']} to {row['to_offset'] - 1}; {asked}"
    other = "" if row["leader_epoch"] == UNKNOWN else f", where epoch {row['leader_epoch']} should be"
    offsets = f"offsets {row['from_offset']} to {row['to_offset'] - 1} of epoch {row['records_epoch']}"
    return f"group {group} read {offsets}{other}; {asked}"


def _or_none(broker: int) -> str:
    return "none" if broker == NO_BROKER else str(broker)


def _words(epochs: list[tuple[int, int]]) -> str:
    return "[" + ", ".join(f"[{epoch}, {start}]" for epoch, start in epochs) + "]"
