"""Compiled rounds of ledgers and of topics that are lists of them: calls in the driver, a block of ledgers after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from emulator import compiled
from emulator.engine.interface import Playing, Size
from emulator.engine.job_files import JobFiles
from emulator.errors import InputError
from emulator.inputs.ledger_arrays import PreparedLedgers, TopicBlock, read_topics
from emulator.inputs.ledger_arrays.rules import LACKS
from emulator.ledger_configs import MAX_LEDGERS, effective
from emulator.outcomes.assemble import broker_rows, empty_table, fault_rows
from emulator.outcomes.compiled_ledgers import TABLES, ledger_block_tables, ledger_names, topic_block_tables
from emulator.outcomes.joined import Tables
from emulator.outcomes.ledger_violations import ledger_invariant_rows
from emulator.outcomes.written_events import counted_rows, summed_count_rows, written_rows
from emulator.progress import Progress
from emulator.rounds.bookkeeper.play_block import Scratch, play
from emulator.rounds.bookkeeper.topics.play_block import play as play_topics
from emulator.scenario import Scenario, Topic
from emulator.storage import OutputDirectory

LEDGERS_OF_A_BLOCK = 10_000
"""Whose state is in memory at once."""


def is_of_ledgers(scenario: Scenario) -> bool:
    """Whether a scenario is BookKeeper's, or of a mutant of it: rounds of ledgers have all that it needs."""
    return scenario.protocol in LACKS


class LedgerEngine:
    """Plays scenarios of ledgers by compiled rounds.

    `traced`: by scenario_id flags of the traced ledgers, whose entries become a table. `identity`: as of CompiledEngine; nothing
    is kept to go on from.
    """

    name = "ledgers"
    settings: Mapping[str, str] = {}

    def __init__(
        self, scenarios: Sequence[Scenario], traced: Mapping[int, np.ndarray], leaps: bool, identity: Mapping[str, str]
    ) -> None:
        self._scenarios, self._traced, self._leaps, self._identity = scenarios, traced, leaps, identity

    @cached_property
    def _ledgers(self) -> PreparedLedgers:
        return PreparedLedgers(self._scenarios, self._traced, self._leaps)

    @cached_property
    def _topics(self) -> TopicBlock:
        return read_topics(self._scenarios, self._leaps)

    @cached_property
    def size(self) -> Size:
        """How much it has to do: a ledger's replicas are the bookies of its ensemble."""
        own = [(s.rounds, topic.assignment) for s in self._scenarios for topic in s.topics]
        ledgers, bookies = sum(len(ensembles) for _, ensembles in own), sum(ensembles.size for _, ensembles in own)
        return Size(ledgers, ledgers, bookies, bookies, sum(rounds * ensembles.size for rounds, ensembles in own))

    def plan(self) -> list[str]:
        """What it would do, in lines."""
        return [f"compiled rounds of ledgers: {len(self._scenarios)} of the scenarios, calls in the driver"]

    def check_spark(self, spark: SparkSession) -> None:
        """Any Spark will do."""

    def kept(self, spark: SparkSession, uri: str, folder: str) -> JobFiles:
        """What it keeps in a folder under the output folder `uri`: nothing."""
        return JobFiles(spark, uri, self._identity, folder)

    def play(self, playing: Playing) -> Tables:
        """Play every scenario to its end; the tables of these scenarios."""
        progress, size = playing.progress, self.size
        if compiled.WHY_NOT is not None:
            progress.note(f"numba cannot be used ({compiled.WHY_NOT}): rounds run as ordinary Python")
        progress.start(max(s.rounds for s in self._scenarios), size.partitions, len(self._scenarios))
        parts = [*self._of_ledgers(progress), *self._of_topics()]
        self._advance(progress, 1.0)
        progress.finish()
        tables: Tables = {name: pa.concat_tables([part[name] for part in parts]) for name in TABLES}
        return tables | {
            "event_counts": summed_count_rows(pa.concat_tables([part["event_counts"] for part in parts])),
            "broker_rounds": empty_table("broker_rounds"),
            "invariants": ledger_invariant_rows(),
            "brokers": broker_rows(self._scenarios),
            "faults": fault_rows(self._scenarios),
        }

    def finish(self, output: OutputDirectory) -> None:
        """All tables are staged: nothing is left to add."""

    def _of_ledgers(self, progress: Progress) -> Iterator[dict[str, pa.Table]]:
        prepared, scratch = self._ledgers, Scratch()
        for first in range(0, prepared.count, LEDGERS_OF_A_BLOCK):
            block = prepared.block(first, min(first + LEDGERS_OF_A_BLOCK, prepared.count))
            names = ledger_names(self._scenarios, block.state.ledgers)
            state, told = play(block.state, block.inputs, scratch)
            yield self._written(ledger_block_tables(names, block.inputs, state, told))
            self._advance(progress, min(1.0, (first + LEDGERS_OF_A_BLOCK) / self.size.partitions))

    def _of_topics(self) -> list[dict[str, pa.Table]]:
        block = self._topics
        if not len(block.state.topics):
            return []
        names = ledger_names(self._scenarios, block.state.topics)
        topics: Any = block.state.topics
        places = [self._place(int(s), int(n)) for s, n in zip(topics.scenario, topics.number, strict=True)]
        state, told = play_topics(block.state, block.inputs)
        counts = np.diff(state.ledgers.offsets)
        for (scenario, topic, partition), count in zip(places, counts.tolist(), strict=True):
            _check_count(scenario, topic, partition, count)
        spare = [topic.assignment[partition].tolist() for _, topic, partition in places]
        return [self._written(topic_block_tables(names, block.inputs, state, told, spare))]

    def _written(self, tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
        """The tables with the events that are written, and the counts of all."""
        events = tables["events"]
        return tables | {"events": written_rows(events, self._scenarios), "event_counts": counted_rows(events)}

    def _place(self, scenario: int, number: int) -> tuple[Scenario, Topic, int]:
        """The topic of a partition_id of a scenario, and its number there."""
        for topic in self._scenarios[scenario].topics:
            if number < topic.partitions:
                return self._scenarios[scenario], topic, number
            number -= topic.partitions
        raise ValueError(f"partition_id {number} is of no topic")

    def _advance(self, progress: Progress, share: float) -> None:
        rounds, size = max(s.rounds for s in self._scenarios), self.size
        progress.advance(int(rounds * share), round(size.partitions * (1 - share)), 1, int(size.replica_rounds * share))


def _check_count(scenario: Scenario, topic: Topic, partition: int, count: int) -> None:
    """Raises InputError if a topic had more ledgers than its config says it may have at most."""
    most = int(effective(scenario.config, topic.config, MAX_LEDGERS))
    if 0 < most < count:
        problem = f"{topic.name}:{partition} needs more than {most} ledgers"
        raise InputError(f"scenario {scenario.name}: {problem}; allowed: {MAX_LEDGERS} = {2 * most}, say, in its config")
