"""Compiled rounds of groups that commit by quorums: a small run in the driver, a large one as Spark jobs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial

import numpy as np

from emulator.engine.blocks import JOB_WEIGHT, Plan, plan_blocks
from emulator.engine.in_driver import Parts, play_in_driver
from emulator.engine.interface import Playing, Size
from emulator.engine.jobs import Advance, Jobs
from emulator.engine.play_blocks import Payload, play_blocks
from emulator.engine.play_group_blocks import compile_groups, group_payload, play_group_payload
from emulator.engine.rows import GROUP_TABLES, packed_rows_of
from emulator.engine.warm_up import check_numba, compile_all
from emulator.engine.weighed_engine import WeighedEngine
from emulator.inputs.quorum_arrays.prepare import PreparedGroups, read_group_block
from emulator.outcomes.compiled_groups import TABLES
from emulator.outcomes.compiled_ledgers import ledger_names
from emulator.outcomes.invariants import OF_GROUPS
from emulator.outcomes.joined import Tables, empty_table
from emulator.progress import Progress
from emulator.rounds import compiled
from emulator.scenario import Scenario

GROUPS_OF_A_BLOCK = 20_000
"""Whose state is in memory at once, at most."""


class GroupEngine(WeighedEngine):
    """Plays scenarios of groups by compiled rounds. `leaps`: quiet rounds are leapt over."""

    name, rounds_of, invariants = "groups", "quorums", OF_GROUPS

    def __init__(self, scenarios: Sequence[Scenario], leaps: bool) -> None:
        super().__init__(scenarios)
        self._leaps = leaps

    @cached_property
    def _groups(self) -> PreparedGroups:
        return PreparedGroups(self._scenarios, self._leaps)

    @property
    def _weights(self) -> np.ndarray:
        return self._groups.weights

    @cached_property
    def size(self) -> Size:
        """How much it has to do."""
        own = [(s.rounds, topic.assignment >= 0) for s in self._scenarios for topic in s.topics]
        groups, servers = sum(len(present) for _, present in own), sum(int(present.sum()) for _, present in own)
        return Size(groups, groups, servers, servers, sum(rounds * int(present.sum()) for rounds, present in own))

    def warm_up(self, progress: Progress) -> None:
        """Have the rounds compiled, as of warm_up.warm_up."""
        check_numba(float(self._weights.sum()), progress)
        if compiled.is_compiling():
            blocks = [read_group_block(self._groups.payload(at, at + 1)) for at in self._groups.one_of_each_protocol()]
            compile_all(progress, [partial(compile_groups, block) for block in blocks])

    def _in_driver(self, plan: Plan, cores: int, advance: Advance) -> Tables:
        told = play_in_driver(plan, self._payload, [play_group_payload], cores, Parts(plan, self._weights, advance))
        return {**{name: told[name] for name in TABLES}, "broker_rounds": empty_table("broker_rounds")}

    def _in_jobs(self, playing: Playing, advance: Advance) -> Tables:
        names = list(GROUP_TABLES)
        jobs = Jobs(playing, self._files, self._weights, names, advance, partial(self._plan, job_weight=JOB_WEIGHT))
        jobs.play(self._payload, partial(play_blocks, (play_group_payload,), names))
        (rows,) = jobs.rows()
        tables: Tables = {name: packed_rows_of(rows, name) for name in TABLES}
        return {**tables, "broker_rounds": empty_table("broker_rounds")}

    def _plan(self, cores: int, job_weight: float | None) -> Plan:
        return plan_blocks(self._weights, cores, job_weight, GROUPS_OF_A_BLOCK)

    def _payload(self, first: int, last: int) -> Payload:
        """What plays a block of the places [first, last)."""
        names = ledger_names(self._scenarios, *self._groups.numbers(first, last))
        return group_payload(names, self._groups.payload(first, last)), 0
