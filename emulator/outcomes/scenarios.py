"""The rows of the `scenarios` table: fixed columns, and one more for every setting that some variant overrides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from pyspark.sql.types import StringType, StructField, StructType

from emulator.schema import OUTPUT_TABLES


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
            dict(s.overrides),
            None if s.events is None else list(s.events),
            *map(s.overrides.get, paths),
        )
        for s in chosen
    ]
    return StructType([*fixed.fields, *overridden]), rows
