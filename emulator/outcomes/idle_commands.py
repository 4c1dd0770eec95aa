"""Commands of which nothing came in a run: told by the events that there would have been."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emulator.arrow.packs import PackedRows
from emulator.errors import MOST_NAMED, few, first_lines, listing, some_scenarios
from emulator.scenario import Scenario
from emulator.scenario.globs import matching_topics
from emulator.scenario.model import Command
from emulator.scenario.protocols import PARTITIONS, system_of
from emulator.table_columns.spark_columns import OUTPUT_TABLES

COMPLETED = "reassignment_completed"
ANSWERS = {"preferred_leader_election": ("election", "unclean_election"), "delete_records": ("records_deleted",)}
"""Events of the same round, without which nothing came of a command."""
KINDS = (*ANSWERS["preferred_leader_election"], *ANSWERS["delete_records"], COMPLETED)
"""All that are asked for."""

WHY = {
    "preferred_leader_election": "nobody was elected then",
    "delete_records": "no log began further on then",
    "cancel_reassignment": "nothing was under way any more",
}

Place = tuple[str, int]
"""A topic's name and a partition of it."""

Happened = Mapping[tuple[int, str, int], Sequence[tuple[int, str]]]
"""By (scenario_id, topic, partition): (round, kind) of events of KINDS."""


def asks(scenario: Scenario) -> bool:
    """Whether it has a command whose events tell whether anything came of it."""
    told = system_of(scenario.protocol) == PARTITIONS and (scenario.events is None or {*KINDS} <= {*scenario.events})
    return told and any(command.kind in WHY for command in scenario.commands)


def commands_without_effect(
    spark: SparkSession, uri: str, scenarios: Sequence[Scenario], events: pa.Table | DataFrame | PackedRows
) -> list[str]:
    """A line for each command of which nothing came, for all of its partitions or for some.

    `events`: as they were told, or else they are read from `uri`, where a command asks for them.
    """
    if not any(asks(scenario) for scenario in scenarios):
        return []
    columns = ["scenario_id", "topic", "partition", "round", "kind"]
    if isinstance(events, pa.Table):
        found = events.select(columns).filter(pc.is_in(events.column("kind"), pa.array(KINDS)))
    else:
        rounds = {command.round for scenario in scenarios if asks(scenario) for command in scenario.commands}
        is_asked = F.col("kind").isin(*KINDS) & (F.col("round").isin(*rounds) | (F.col("kind") == COMPLETED))
        found = spark.read.schema(OUTPUT_TABLES["events"]).parquet(uri).where(is_asked).select(*columns).toArrow()
    happened: dict[tuple[int, str, int], list[tuple[int, str]]] = {}
    for scenario_id, topic, partition, round_, kind in zip(*(found.column(name).to_pylist() for name in columns), strict=True):
        happened.setdefault((scenario_id, topic, partition), []).append((round_, kind))
    return lines_of(scenarios, happened)


def lines_of(scenarios: Sequence[Scenario], happened: Happened) -> list[str]:
    """The same, of what happened: one that not all scenarios have names those that do."""
    answered: dict[tuple[int, int, str], set[Place]] = {}
    for (scenario_id, topic, partition), events in happened.items():
        for round_, kind in events:
            answered.setdefault((scenario_id, round_, kind), set()).add((topic, partition))
    having: dict[str, list[str]] = {}
    for scenario in scenarios:
        if asks(scenario):
            for line in _of_scenario(scenario, happened, answered):
                having.setdefault(line, []).append(scenario.name)
    count = len(scenarios)
    lines = [line if len(names) == count else f"{line} ({some_scenarios(names, count)})" for line, names in having.items()]
    return first_lines(lines, "commands had no effect on partitions of theirs")


def _of_scenario(scenario: Scenario, happened: Happened, answered: Mapping[tuple[int, int, str], set[Place]]) -> Iterator[str]:
    """`answered`: where something happened, by scenario, round and kind of event."""
    sizes = {topic.name: len(topic.assignment) for topic in scenario.topics}
    moves: dict[Place, list[int]] = {}
    for command in sorted(scenario.commands, key=lambda command: command.round):
        if command.round >= scenario.rounds or command.topic is None:
            continue
        places = _places(command, sizes)
        if command.kind == "reassign":
            for place in places:
                moves.setdefault(place, []).append(command.round)
        elif command.kind == "cancel_reassignment":
            idle = [
                place
                for place in places
                if place in moves and _is_over(moves[place], command.round, happened.get((scenario.scenario_id, *place), ()))
            ]
            yield from _line(command, idle, len(places))
        elif command.kind in ANSWERS:
            of_round = [answered.get((scenario.scenario_id, command.round, kind), set()) for kind in ANSWERS[command.kind]]
            something_came = set[Place]().union(*of_round)
            yield from _line(command, [place for place in places if place not in something_came], len(places))


def _places(command: Command, sizes: Mapping[str, int]) -> list[Place]:
    places: list[Place] = []
    for name in matching_topics(command.topic or "", sizes):
        partitions = range(sizes[name]) if command.partition is None else (command.partition,)
        places += [(name, partition) for partition in partitions if partition < sizes[name]]
    return places


def _is_over(moves: Sequence[int], cancelled: int, events: Sequence[tuple[int, str]]) -> bool:
    """Whether the reassignment that was begun last, of those in these rounds, is over before it is cancelled."""
    first_over = moves[-1] + (len(moves) > 1)
    return any(kind == COMPLETED and first_over <= round_ < cancelled for round_, kind in events)


def _line(command: Command, idle: Sequence[Place], count: int) -> Iterator[str]:
    if idle:
        of = listing(few([f"{topic} {partition}" for topic, partition in idle[:MOST_NAMED]], len(idle)))
        which = f"on {len(idle)} of {count} partitions, {of}" if count > 1 else f"on {of}"
        yield f"{command.kind} in round {command.round} had no effect {which}: {WHY[command.kind]}"
