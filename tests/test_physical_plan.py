"""A round is planned once: no exchange, no sort, one window; that is what its speed rests on."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from pyspark.sql import SparkSession

from emulator.expressions.kafka.rules import RunRules
from emulator.planned import Compiling
from emulator.round_plans import plan_rounds
from emulator.session import engine_settings

TASKS = 3


def node_names(plan: Any) -> list[str]:
    """The operators of a physical plan."""
    children = plan.children()
    below = [name for at in range(children.size()) for name in node_names(children.apply(at))]
    return [plan.nodeName(), *below]


@pytest.mark.parametrize("compiling", [Compiling.NOTHING, Compiling.STAGES, Compiling.AROUND_FUNCTIONS])
def test_a_round_is_one_window_without_exchange_or_sort(spark: SparkSession, compiling: Compiling) -> None:
    with engine_settings(spark, TASKS, {}):
        planned = plan_rounds(spark, RunRules(3), True, TASKS, compiling)
    operators = Counter(name for plan in planned.plans for name in node_names(plan))
    assert operators["Window"] == 1, operators
    assert len(planned.plans) == 1 or compiling is Compiling.NOTHING
    assert not [name for name in operators if any(word in name for word in ("Exchange", "Sort", "Join", "Aggregate"))]
