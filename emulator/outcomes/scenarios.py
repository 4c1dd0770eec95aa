"""The tables that follow from scenarios alone: brokers, faults, and `scenarios` with a column for what variants set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from pyspark.sql.types import StringType, StructField, StructType

from emulator.scenario import Scenario
from emulator.table_columns.spark_columns import OUTPUT_TABLES

_BROKERS = pa.schema([("scenario_id", pa.int32()), ("broker", pa.int32()), ("rack", pa.string())])


class ScenarioChoices(Protocol):
    """What is asked of a scenario here; `emulator.scenario` has the whole of it."""

    @property
    def scenario_id(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def protocol(self) -> str: ...
    @property
    def rounds(self) -> int: ...
    @property
    def round_ms(self) -> int: ...
    @property
    def overrides(self) -> Mapping[str, str]: ...
    @property
    def events(self) -> tuple[str, ...] | None: ...


def scenario_rows(scenarios: Iterable[ScenarioChoices], mode: str) -> tuple[StructType, list[tuple[Any, ...]]]:
    """Returns the schema and the rows of the `scenarios` table; `mode`: in which they were run.

    Each overridden setting is a column named by its dotted path, null where the scenario leaves it as base has it.
    Spark ignores case in names: a path that a column before it already has, but for case, stays in `overrides` only.
    """
    chosen = sorted(scenarios, key=lambda scenario: scenario.scenario_id)
    fixed = OUTPUT_TABLES["scenarios"]
    taken = {name.lower() for name in fixed.names}
    paths: list[str] = []
    for path in sorted({path for scenario in chosen for path in scenario.overrides}):
        if path.lower() not in taken:
            taken.add(path.lower())
            paths.append(path)
    overridden = [StructField(path, StringType(), True, {"comment": "value the variant sets"}) for path in paths]
    rows = [
        (
            s.scenario_id,
            s.name,
            s.protocol,
            s.rounds,
            s.round_ms,
            mode,
            dict(sorted(s.overrides.items())),
            None if s.events is None else list(s.events),
            *map(s.overrides.get, paths),
        )
        for s in chosen
    ]
    return StructType([*fixed.fields, *overridden]), rows


def broker_rows(scenarios: Sequence[Scenario]) -> pa.Table:
    """The table `brokers`."""
    rows = [{"scenario_id": s.scenario_id, "broker": b.id, "rack": b.rack} for s in scenarios for b in s.brokers]
    return pa.Table.from_pylist(rows, _BROKERS)


def fault_rows(scenarios: Sequence[Scenario]) -> pa.Table:
    """The table `faults`."""
    parts = []
    for s in scenarios:
        faults = s.faults
        ids = pa.array(np.arange(faults.num_rows, dtype=np.int32))
        scenario = pa.array(np.full(faults.num_rows, s.scenario_id, np.int32))
        parts.append(faults.append_column("fault_id", ids).append_column("scenario_id", scenario))
    return pa.concat_tables(parts)
