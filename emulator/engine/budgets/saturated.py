"""In which rounds which budgets of brokers held fetches back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from emulator.bandwidth.budgets import KINDS
from emulator.engine.budgets.client_demands import OF_GROUPS, PARTIES
from emulator.inputs.arrays.shared import SharedBudgets

SATURATED_SCHEMA = pa.schema([(name, pa.int32()) for name in ("scenario_id", "broker_place", "kind", "from_round", "to_round")])
"""A budget that held somebody back from an edge to the next, or who it was: place of the broker by id, place in PLACES."""

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "network_in_saturated_rounds": ("network_in",),
    "network_out_saturated_rounds": ("network_out",),
    "disk_saturated_rounds": ("disk",),
    "throttled_rounds": ("leader_throttle", "follower_throttle"),
    "followers_held_rounds": ("followers",),
    "producers_held_rounds": ("producers",),
    "consumers_held_rounds": OF_GROUPS,
    "uploads_held_rounds": ("uploads",),
}
"""Column of broker_rounds -> the kinds of budgets, or the parties, that it is about."""

PLACES = (*KINDS, *PARTIES, "followers")
"""Kinds of budgets that are used up, and who is held back by one: places of SATURATED_SCHEMA's `kind`."""


class SaturatedRounds:
    """What is noted of a scenario while it is played."""

    def __init__(self, shared: SharedBudgets) -> None:
        self._shared = shared
        self._noted: list[np.ndarray] = []

    def note(self, used_up: np.ndarray, from_round: int, to_round: int) -> None:
        """These budgets were used up from an edge to the next."""
        if len(used_up):
            kind, place = np.divmod(used_up, len(self._shared.brokers))
            rounds = np.broadcast_to([from_round, min(to_round, self._shared.rounds)], (len(used_up), 2))
            self._noted.append(np.column_stack([place, kind, rounds]))

    def rows(self) -> pa.Table:
        """Rows of SATURATED_SCHEMA."""
        noted = np.concatenate([np.zeros((0, 4), np.int64), *self._noted]).astype(np.int32)
        scenario = np.full(len(noted), self._shared.scenario_id, np.int32)
        return pa.table([pa.array(column) for column in (scenario, *noted.T)], schema=SATURATED_SCHEMA)


def saturated_columns(saturated: pa.Table, brokers: int, edges: np.ndarray) -> dict[str, np.ndarray]:
    """By bucket and broker, for each of COLUMNS: in how many rounds one of its budgets was used up.

    `saturated`: of the scenario; `edges`: the buckets' first rounds, and the run's end.
    """
    if not saturated.num_rows:
        return dict.fromkeys(COLUMNS, np.zeros((len(edges) - 1) * brokers, np.int64))
    place, kind, begin, end = (saturated.column(name).to_numpy().astype(np.int64) for name in SATURATED_SCHEMA.names[1:])
    columns = {}
    for column, kinds in COLUMNS.items():
        is_meant = np.isin(kind, [PLACES.index(name) for name in kinds])
        spans = np.unique(np.column_stack([place, begin, end])[is_meant], axis=0)  # both throttles in one window count once
        rounds = np.zeros((len(edges) - 1, brokers), np.int64)
        for bucket, (first, last) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
            overlap = np.maximum(np.minimum(spans[:, 2], last) - np.maximum(spans[:, 1], first), 0)
            rounds[bucket] = np.bincount(spans[:, 0], weights=overlap, minlength=brokers)
        columns[column] = rounds.reshape(-1)
    return columns
