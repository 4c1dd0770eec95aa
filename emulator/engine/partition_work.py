"""How much there is to do of partitions: weights by which blocks are cut, and what an estimate says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from emulator.engine.estimate import CORE_SECONDS_OF_COPY, CORE_SECONDS_OF_SEGMENT, WEIGHT_PER_SECOND, Work, seconds_of_windows
from emulator.engine.interface import Size
from emulator.inputs.arrays import Prepared
from emulator.inputs.arrays.copy_budgets import limits_copying
from emulator.inputs.arrays.scenarios import all_but_faults
from emulator.inputs.arrays.segments_of_run import segments_of_run
from emulator.inputs.arrays.shared import has_edges, shares_budgets
from emulator.inputs.arrays.shared_reads import limits_reading
from emulator.progress import counted
from emulator.scenario import Scenario

WEIGHT_OF_ROWS = 300.0
"""What the rows of a replica at the end cost, in replica-rounds."""

WEIGHT_OF_TRACE = 20.0
"""What a traced round of a replica costs, likewise, and one at whose end it is told of."""

WEIGHT_OF_SEGMENT = CORE_SECONDS_OF_SEGMENT * WEIGHT_PER_SECOND
"""What a segment of a log costs, likewise."""

WEIGHT_OF_COPY = CORE_SECONDS_OF_COPY * WEIGHT_PER_SECOND
"""What a segment costs that goes to remote storage: blocks of partitions with many are small, in memory too."""

WEIGHT_OF_EDGE = 25.0
"""What a quota edge costs a replica, likewise, if every window is one."""


class PartitionWork:
    """The work of scenarios; all but `leaps` as of CompiledEngine and of its inputs."""

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        prepared: Prepared,
        traced: Mapping[int, np.ndarray],
        leaps: bool,
        state_at: Sequence[int],
    ) -> None:
        self._scenarios, self._prepared, self._leaps, self._states = scenarios, prepared, leaps, len(state_at)
        self._is_traced = np.concatenate([traced[s.scenario_id] for s in scenarios])

    @cached_property
    def shared(self) -> dict[int, tuple[int, int]]:
        """By place of the scenario whose partitions share budgets: the first of its partitions' places, and their end."""
        first = self._prepared.first_place.tolist()
        return {at: (first[at], first[at + 1]) for at, s in enumerate(self._scenarios) if shares_budgets(s)}

    @cached_property
    def weights(self) -> np.ndarray:
        """By place, how much there is to do: about replica-rounds that are played in the same time."""
        segments, copies = self._segments
        return self._weights_of_rounds + (segments - copies) * WEIGHT_OF_SEGMENT + copies * WEIGHT_OF_COPY

    @cached_property
    def _weights_of_rounds(self) -> np.ndarray:
        """By place, of `weights` what rounds and rows are, without segments."""
        prepared = self._prepared
        of_rows = WEIGHT_OF_ROWS + WEIGHT_OF_TRACE * self._states
        played = prepared.weights.copy()
        for at, (first, end) in self.shared.items():
            if not has_edges(self._scenarios[at]):
                continue
            edges = self._scenarios[at].rounds / self._scenarios[at].quota_window_rounds
            played[first:end] = np.maximum(played[first:end], edges * WEIGHT_OF_EDGE * prepared.slots[first:end])
        return played * np.where(self._is_traced, WEIGHT_OF_TRACE, 1.0) + of_rows * prepared.slots

    @cached_property
    def _segments(self) -> tuple[np.ndarray, np.ndarray]:
        """By place: segments that begin in a log, and those of them that go to remote storage; faults change neither."""
        alike = [all_but_faults(scenario) for scenario in self._scenarios]
        found = {same: segments_of_run(scenario) for same, scenario in dict(zip(alike, self._scenarios, strict=True)).items()}
        segments, copies = zip(*(found[same] for same in alike), strict=True)
        return np.concatenate(segments), np.concatenate(copies)

    @cached_property
    def size(self) -> Size:
        """As of Engine."""
        slots, rounds = self._prepared.slots, self._prepared.rounds
        return Size(len(slots), len(slots), int(slots.sum()), int(slots.sum()), int((slots * rounds).sum()))

    @cached_property
    def traced_rounds(self) -> int:
        """As of Engine."""
        told = np.where(self._is_traced, self._prepared.rounds, 0) + self._states
        return int((told * self._prepared.slots).sum())

    def estimated(self, by_jobs: bool) -> Work:
        """As an estimate of time and room needs it; `by_jobs`: Spark jobs play it."""
        segments, copies = (float(of_places.sum()) for of_places in self._segments)
        weight, known, unknown = float(self._weights_of_rounds.sum()), tuple(self._known_causes()), tuple(self._unknown_causes())
        sharing = tuple(
            seconds_of_windows(self._windows(at), end - first)
            for at, (first, end) in self.shared.items()
            if has_edges(self._scenarios[at])
        )
        return Work(weight, self.size.rows, self.traced_rounds, segments, copies, by_jobs, known, sharing, unknown)

    def _windows(self, at: int) -> int:
        return -(-self._scenarios[at].rounds // self._scenarios[at].quota_window_rounds)

    def _known_causes(self) -> Iterator[str]:
        """What keeps rounds from being leapt over, in words, and is in the estimate or its bound."""
        if not self._leaps:
            yield "mode plain plays every round"
        sharing = [at for at in self.shared if has_edges(self._scenarios[at])]
        if sharing:
            windows = max(map(self._windows, sharing))
            many = counted(len(sharing), "scenario")
            yield f"partitions share budgets in {many}: up to {counted(windows, 'window')}, each played while a budget binds"

    def _unknown_causes(self) -> Iterator[str]:
        """Likewise, of which it is seen only when it is played how many rounds that are."""
        in_turn = [self._scenarios[at] for at in self.shared]
        if count := sum(limits_copying(scenario) or limits_reading(scenario) for scenario in in_turn):
            many = counted(count, "scenario")
            yield f"copies or remote reads take turns in {many}: rounds in which one waits for another are played one by one"
        if groups := {consumer.group for scenario in self._scenarios for consumer in scenario.consumers}:
            yield f"what {counted(len(groups), 'consumer group')} read back is played round by round, remote reads above all"
