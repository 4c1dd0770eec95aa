"""A round is planned once: no exchange, no sort, one window; that is what its speed rests on."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pyspark.sql import SparkSession

from emulator.round_plans import plan_rounds
from emulator.rounds.kafka.rules import RunRules
from emulator.session import engine_settings

TASKS = 3


def node_names(plan: Any) -> list[str]:
    """The operators of a physical plan."""
    children = plan.children()
    below = [name for at in range(children.size()) for name in node_names(children.apply(at))]
    return [plan.nodeName(), *below]


def test_a_round_is_one_window_without_exchange_or_sort(spark: SparkSession) -> None:
    with engine_settings(spark, TASKS, {}):
        planned = plan_rounds(spark, RunRules(3), True, TASKS)
    operators = Counter(node_names(planned.plan))
    assert operators["Window"] == 1, operators
    assert not [name for name in operators if any(word in name for word in ("Exchange", "Sort", "Join", "Aggregate"))]
