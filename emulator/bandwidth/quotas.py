"""Quota edges: the rounds in which brokers' budgets are shared out between their partitions.

Between two edges a partition is emulated by itself: each follower fetches at most `quota_bytes` a round (fetches.py), each copy
to remote storage moves at most `copy_share_bytes` (copies.py), and remote reads bring at most `read_shares` (reads.py). While a
budget is used up the next edge comes after `quota_window_rounds`; else later and later, up to the first window that begins at or
after the next change of any input. Each scenario has edges of its own, which depend on nothing but it; fetches, copies and reads
have them in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from emulator.bandwidth.at_edges import with_inputs_now
from emulator.bandwidth.budgets import KINDS, limits_bandwidth
from emulator.bandwidth.copies import Copies
from emulator.bandwidth.copy_budgets import limits_copying
from emulator.bandwidth.fetches import Fetches
from emulator.bandwidth.read_budgets import limits_reading
from emulator.bandwidth.reads import Reads
from emulator.inputs import ScenarioInputs
from emulator.scenario import Scenario

NEVER = 2**31 - 1


def has_edges(scenario: Scenario) -> bool:
    """Whether partitions share anything that is limited, so that it matters which brokers they are on."""
    return limits_bandwidth(scenario) or limits_copying(scenario) or limits_reading(scenario)


class Quotas:
    """The edges of a run, what was shared out at them, and which budgets were used up when."""

    def __init__(self, spark: SparkSession, inputs: Sequence[ScenarioInputs], known: dict[str, Any] | None = None) -> None:
        """`known`: what a checkpoint says (`as_known`)."""
        self._spark = spark
        self._inputs = list(inputs)
        self._by_id = {i.scenario.scenario_id: i for i in inputs}
        self._fetches = Fetches(spark, inputs)
        self._copies = Copies(spark, inputs)
        self._reads = Reads(spark, inputs)
        limited = sorted(self._fetches.scenarios | self._copies.scenarios | self._reads.scenarios)
        self._edges = dict.fromkeys(limited, 0)
        self._windows = {s: self._by_id[s].scenario.quota_window_rounds for s in limited}
        self._changes = {s: self._by_id[s].change_counts()[0] for s in limited}
        self._saturated: dict[tuple[int, int], list[list[int]]] = {}
        if known:
            self._edges = {int(s): edge for s, edge in known["edges"].items()}
            self._windows = {int(s): window for s, window in known["windows"].items()}
            for scenario, broker, *span in known["saturated"]:
                self._saturated.setdefault((scenario, broker), []).append(span)

    @property
    def next_edge(self) -> int:
        """The first round in which anything has to be shared out."""
        return min(self._edges.values(), default=NEVER)

    def as_known(self) -> dict[str, Any]:
        """What a checkpoint has to keep, as JSON has it. The shares themselves are in the state."""
        saturated = [[*key, *span] for key, spans in self._saturated.items() for span in spans]
        return {"edges": self._edges, "windows": self._windows, "saturated": saturated}

    def saturated_rounds(self, scenario_id: int, broker: int, from_round: int, to_round: int, kinds: Sequence[str]) -> int:
        """Rounds in [from_round, to_round) in which one of the broker's budgets of these kinds was used up."""
        wanted = [KINDS.index(kind) for kind in kinds]
        spans = {(begin, end) for kind, begin, end in self._saturated.get((scenario_id, broker), []) if kind in wanted}
        return sum(max(0, min(end, to_round) - max(begin, from_round)) for begin, end in spans)

    def share_out(self, state: DataFrame, round_: int) -> DataFrame:
        """The packed state at the start of `round_`, with the quotas and shares of those scenarios whose edge it is."""
        due = [s for s, edge in self._edges.items() if edge == round_]
        if not due:
            return state
        now = with_inputs_now(self._spark, self._inputs, state, round_)
        used_up: dict[int, list[tuple[int, int]]] = {}
        full: set[int] = set()
        if fetching := [s for s in due if s in self._fetches.scenarios]:
            now, used_up = self._fetches.share_out(now, round_, fetching)
        for shares in (self._copies, self._reads):
            if limited := [s for s in due if s in shares.scenarios]:
                now, short = shares.share_out(now, round_, limited)
                full |= short
        for scenario_id in due:
            budgets = used_up.get(scenario_id, [])
            self._next(scenario_id, round_, bool(budgets) or scenario_id in full)
            end = min(self._edges[scenario_id], self._by_id[scenario_id].scenario.rounds)
            for kind, broker in budgets:
                self._saturated.setdefault((scenario_id, broker), []).append([kind, round_, end])
        return now.select(state.columns)

    def _next(self, scenario_id: int, round_: int, saturated: bool) -> None:
        inputs = self._by_id[scenario_id]
        unit = inputs.scenario.quota_window_rounds
        changes = self._changes[scenario_id]
        window = unit if saturated else self._windows[scenario_id]
        after = np.searchsorted(changes, round_, "right")
        edge = round_ + window
        if after < len(changes):
            edge = min(edge, max(-(-int(changes[after]) // unit) * unit, round_ + unit))
        crossed = after < len(changes) and edge >= changes[after]
        self._windows[scenario_id] = unit if saturated or crossed else 2 * window
        self._edges[scenario_id] = edge if edge < inputs.scenario.rounds else NEVER
