"""The state at a quota edge: the packed state with the inputs that are in force in its round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emulator.attach import Changes
from emulator.expressions.columns import PATHS, renamed
from emulator.inputs import ScenarioInputs
from emulator.outcomes.names import world_names

_NOW = {**PATHS, "world": "world_now", "feed": "feed_now"}


def with_inputs_now(spark: SparkSession, inputs: Sequence[ScenarioInputs], state: DataFrame, round_: int) -> DataFrame:
    """The packed state with `world_now` and `feed_now`; broker ids, of all slots and of its own; and `quota_window` in rounds."""
    now = Changes(spark, list(inputs), round_, round_ + 1).joined(state)
    now = now.withColumns({f"{k}_now": F.expr(f"coalesce(get({k}_changes, 0).value, {k})") for k in ("world", "feed")})
    now = now.join(F.broadcast(world_names(spark, list(inputs))), "world_id")
    windows = ", ".join(f"{i.scenario.scenario_id}, {i.scenario.quota_window_rounds}" for i in inputs)
    window = F.expr(f"element_at(map({windows}), scenario_id)")
    return now.withColumns({"broker": F.expr("get(brokers, slot)"), "quota_window": window})


def by_scenario(sums: DataFrame, flow: Sequence[str], due: Sequence[int]) -> dict[int, list[Any]]:
    """The rows of each of the scenarios, in the order of their flows."""
    found: dict[int, list[Any]] = {s: [] for s in due}
    for row in sorted(sums.collect(), key=lambda r: tuple(r[name] for name in flow)):
        found[row["scenario_id"]].append(row)
    return found


def sql(text: str) -> str:
    """SQL over the packed state with what begins in the round."""
    return renamed(text, _NOW)


def is_in(scenarios: list[int]) -> str:
    """SQL: whether the row is of one of the scenarios."""
    return f"scenario_id IN ({', '.join(map(str, scenarios))})"
