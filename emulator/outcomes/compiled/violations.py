"""The table of violated invariants: witnesses in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from emulator.outcomes.compiled.columns import nullable, table_of, texts_at
from emulator.outcomes.compiled.names import NO_BROKER, Names
from emulator.rounds.kafka.invariants import AT_ELECTIONS, EVERY_ROUND, NAMES, OF_TIERS
from emulator.rounds.kafka.records import NEVER
from emulator.rounds.kafka.told import Told

_AT_ELECTIONS = len(EVERY_ROUND + OF_TIERS)
_AT_THE_END = _AT_ELECTIONS + len(AT_ELECTIONS)
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
        "witness": pa.array(_witnesses(told), pa.string()),
        "cause": nullable(violations["cause"], _NO_FAULT),
    }
    return table_of("violations", len(violations), names.ids(np.asarray(violations["partition"])) | columns)


def _witnesses(told: Told) -> list[str]:
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
        else:
            texts.append(_at_the_end(row))
        at = leaders[1]
    return texts


def _while_running(row: dict[str, Any], epochs: str, leader_epochs: str) -> str:
    return (
        f"broker {row['broker']}: LEO {row['leo']}, HW {row['hw']}, epochs {epochs}; leader {_or_none(row['leader'])} of epoch"
        f" {row['leader_epoch']}: LEO {row['leader_leo']}, HW {row['leader_hw']}, epochs {leader_epochs};"
        f" alike below {row['agreed_to']}"
    )


def _at_an_election(row: dict[str, Any]) -> str:
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


def _or_none(broker: int) -> str:
    return "none" if broker == NO_BROKER else str(broker)


def _words(epochs: list[tuple[int, int]]) -> str:
    return "[" + ", ".join(f"[{epoch}, {start}]" for epoch, start in epochs) + "]"
