"""Plays one partition of a run again, round by round, where the run has no trace of it, or did not write all of its events.

Where partitions share what their brokers have, all of the scenario are played. What comes out is held against the run's tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.engine.stretches import END, Stretches
from emulator.engine.warm_up import warm_up
from emulator.errors import InputError
from emulator.explain.rows import PartitionRows, Row, StoryRows
from emulator.inputs.arrays import prepare, read_block
from emulator.inputs.arrays.shared import shares_budgets
from emulator.outcomes.compiled.tables import TABLES
from emulator.outcomes.written_rows import written_rows
from emulator.progress import Progress
from emulator.scenario import Run, Scenario
from emulator.scenario.protocols import GROUPS, system_of
from emulator.scenario.stored import load_stored

_TRACE = ("round", "broker", "role", "leader_epoch", "leo", "hw", "remote_leo", "fetch_state")
_CONTROLLERS = ("round", "leader", "leader_epoch", "isr", "elr")


def with_replay(rows: PartitionRows, run: Row, first: int, last: int, progress: Progress) -> PartitionRows:
    """Returns the rows with what a trace would have of rounds `first` - 1 to `last`, and with events of all kinds.

    `run`: the row of table `runs`. Raises InputError for a partition that cannot be played again, and where it ends otherwise
    than in the run's tables; EnvironmentProblem where its rounds are too many for a machine that cannot compile them.
    """
    return with_replays([(rows, first, last)], run, progress)[0]


def with_replays(
    told: Sequence[tuple[PartitionRows, int, int]],
    run: Row,
    progress: Progress,
    also_sharing: bool = True,
    stored: Run | None = None,
) -> list[PartitionRows]:
    """Likewise of several partitions of one scenario, each with its first and last round; all of them are played at once.

    `also_sharing`: also where all partitions of the scenario have to be played; else InputError is raised there. `stored`: the
    run's scenarios, where they are read already.
    """
    scenario = stored_scenario(run, [rows for rows, _, _ in told], stored)
    if system_of(scenario.protocol) == GROUPS:
        raise InputError(f"groups of {scenario.protocol} are told of from their events alone")
    if not also_sharing and shares_budgets(scenario):
        raise InputError("partitions share what their brokers have, and all of them would have to be played again")
    played = play_again(replace(scenario, events=None), [(rows.topic, rows.partition) for rows, _, _ in told], progress)
    return [_replayed(rows, first, last, scenario, tables) for (rows, first, last), tables in zip(told, played, strict=True)]


def _replayed(rows: PartitionRows, first: int, last: int, scenario: Scenario, tables: Mapping[str, pa.Table]) -> PartitionRows:
    written = written_rows(tables["events"], [scenario])
    stored = {"outcomes": [rows.outcome], "replicas": rows.ends, "leader_epochs": rows.leader_epochs}
    refuse_others({**tables, "events": written}, stored | {"events": rows.events, "violations": rows.violations})
    events = rows.events if scenario.events is None else tables["events"].to_pylist()
    return replace(traced_rows(rows, tables, first, last), events=events)


def traced_rows(rows: PartitionRows, tables: Mapping[str, pa.Table], first: int, last: int) -> PartitionRows:
    """The rows with a trace of rounds `first` - 1 to `last`."""
    return replace(rows, trace=_trace(tables["trace"], first, last), controllers=_controllers(tables, first, last))


def stored_scenario(run: Row, told: Sequence[StoryRows], stored: Run | None = None) -> Scenario:
    """The scenario of the rows, as the run stored it; raises InputError where it has no such partitions."""
    found = {scenario.scenario_id: scenario for scenario in (stored or load_stored(run)).scenarios}
    scenario = found.get(told[0].scenario["scenario_id"])
    partitions = {} if scenario is None else {topic.name: topic.partitions for topic in scenario.topics}
    for rows in told:
        if scenario is None or rows.partition >= partitions.get(rows.topic, 0):
            raise InputError(f"{run['scenario_path']} as it was run has no partition {rows.topic}:{rows.partition}")
    assert scenario is not None
    return scenario


def play_again(
    scenario: Scenario, chosen: Sequence[tuple[str, int]], progress: Progress, is_traced: bool = True
) -> list[Mapping[str, pa.Table]]:
    """All tables of each of these partitions, with a trace of every round if `is_traced`."""
    sizes = [one.partitions for one in scenario.topics]
    starts = dict(zip((one.name for one in scenario.topics), np.cumsum([0, *sizes[:-1]]).tolist(), strict=True))
    places = np.unique([starts[topic] + partition for topic, partition in chosen])
    traced = np.zeros(sum(sizes), bool)
    traced[places] = is_traced
    shares = shares_budgets(scenario)
    prepared = prepare([scenario], {scenario.scenario_id: traced}, shares, scenario.rounds)
    tables: Mapping[str, pa.Table]
    if shares:
        from emulator.engine.budgets.play_shared import play_shared, shared_payload  # what most runs take no part of

        progress.note(f"partitions share what their brokers have: all {len(traced)} are played again")
        warm_up(prepared, progress)
        tables = play_shared(0, shared_payload(prepared, 0))
    else:
        warm_up(prepared, progress, places, in_one_block=True)
        played = Stretches(read_block(prepared.block(places)))
        played.play_to(END)
        tables = played.tables()
    return [{name: _of_partition(tables[name], *each) for name in TABLES} for each in chosen]


def _of_partition(table: pa.Table, topic: str, partition: int) -> pa.Table:
    return table.filter((pc.field("topic") == topic) & (pc.field("partition") == partition))


def refuse_others(tables: Mapping[str, pa.Table], stored: Mapping[str, Sequence[Row]]) -> None:
    """Raises InputError if the run's rows are others than those of the replay: of another version's rounds, say."""
    for name, rows in stored.items():
        columns = [column for column in tables[name].column_names if not rows or column in rows[0]]
        again = tables[name].select(columns).to_pylist()
        if sorted(str([row[c] for c in columns]) for row in rows) != sorted(str([row[c] for c in columns]) for row in again):
            raise InputError(f"played again, the partition has other {name} than in the run: they are of another version")


def _trace(table: pa.Table, first: int, last: int) -> list[Row]:
    """The rows of `trace` as a story needs them, by round and broker."""
    there = _in_rounds(table, first, last).sort_by([("round", "ascending"), ("broker", "ascending")])
    epochs = there.column("epochs").combine_chunks()
    ends = epochs.offsets.to_numpy()
    places = pa.array(ends[1:] - 1, mask=ends[1:] == ends[:-1])
    return there.select(_TRACE).append_column("log_epoch", pc.struct_field(epochs.values, "epoch").take(places)).to_pylist()


def _controllers(tables: Mapping[str, pa.Table], first: int, last: int) -> list[Row]:
    return _in_rounds(tables["trace_partitions"], first, last).select(_CONTROLLERS).sort_by("round").to_pylist()


def _in_rounds(table: pa.Table, first: int, last: int) -> pa.Table:
    return table.filter((pc.field("round") >= first - 1) & (pc.field("round") <= last))
