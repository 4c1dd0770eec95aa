"""A round is planned once: no exchange, no sort, one window; that is what its speed rests on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

from emulator.engine import Job, _attach, _laid_out, one_round
from emulator.initial import initial_state
from emulator.inputs import scenario_inputs
from emulator.planned import PlannedRound
from emulator.rounds.columns import pack
from emulator.scenario import load_run
from emulator.session import engine_settings

SCENARIO = Path(__file__).parent / "scenarios" / "trace_a.toml"
TASKS = 3


def node_names(plan: Any) -> list[str]:
    """The operators of a physical plan."""
    children = plan.children()
    below = [name for at in range(children.size()) for name in node_names(children.apply(at))]
    return [plan.nodeName(), *below]


def test_a_round_is_one_window_without_exchange_or_sort(spark: SparkSession) -> None:
    inputs = [scenario_inputs(load_run(str(SCENARIO)).scenarios[0])]
    with engine_settings(spark, TASKS, {}):
        state = _laid_out(pack(initial_state(spark, inputs, {0: np.ones(1, bool)})), TASKS).localCheckpoint()
        empty = _attach(spark, state.where("slot < 0"), inputs, Job(0, 0, False)).localCheckpoint()
        planned = PlannedRound(spark, empty, lambda frame: one_round(frame, "kafka", 3, True))
    operators = Counter(node_names(planned.plan))
    assert operators["Window"] == 1, operators
    assert not [name for name in operators if any(word in name for word in ("Exchange", "Sort", "Join", "Aggregate"))]
