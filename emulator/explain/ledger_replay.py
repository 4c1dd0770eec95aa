"""Plays one ledger, or topic, of a run again, where the run has no trace of it or did not write all of its events.

What comes out is held against the run's tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.engine.ledger_engine import LedgerEngine
from emulator.engine.play_ledger_blocks import ledger_payload, play_ledger_payload, play_topic_payload, topic_payload
from emulator.explain.ledger_rows import LedgerRows, TopicRows
from emulator.explain.replay import refuse_others, stored_scenario
from emulator.explain.rows import Row
from emulator.inputs.ledger_arrays import PreparedLedgers, PreparedTopics
from emulator.inputs.ledger_arrays.shares import limits_bookies
from emulator.outcomes.compiled_ledgers import ledger_names
from emulator.outcomes.written_rows import written_rows
from emulator.scenario import Run, Scenario


def with_rounds(
    rows: LedgerRows | TopicRows, run: Row, first: int, last: int, stored: Run | None = None
) -> LedgerRows | TopicRows:
    """Returns the rows with what a trace would have of rounds `first` - 1 to `last`, and with events of all kinds.

    `run`: the row of table `runs`; `stored`: its scenarios, where they are read already. Raises InputError for what cannot be
    played again, and where it ends otherwise than in the run's tables; EnvironmentProblem where its rounds are too many for a
    machine that cannot compile them.
    """
    scenario = stored_scenario(run, [rows], stored)
    tables = _play(replace(scenario, events=None), rows)
    number = rows.number if isinstance(rows, LedgerRows) else None
    own = {name: _of_ledger(table, number) for name, table in tables.items()}
    written = {"events": written_rows(own["events"], [scenario])}
    if isinstance(rows, LedgerRows):
        there: dict[str, Any] = {"ledgers": [rows.ledger], "fragments": rows.fragments, "bookies": rows.bookies}
    else:
        there = {"topics": [rows.row], "ledgers": rows.ledgers}
    refuse_others({**own, **written}, there | {"events": rows.events, "ledger_readers": rows.readers})
    events = rows.events if scenario.events is None else own["events"].to_pylist()
    trace = {name: _in_rounds(own[name], first, last) for name in ("ledger_rounds", "bookie_rounds", "topic_rounds")}
    if isinstance(rows, LedgerRows):
        return replace(rows, events=events, trace=trace["ledger_rounds"], bookie_trace=trace["bookie_rounds"])
    return replace(rows, events=events, trace=trace["topic_rounds"], ledger_trace=trace["ledger_rounds"])


def _play(scenario: Scenario, rows: LedgerRows | TopicRows) -> Mapping[str, pa.Table]:
    """All tables of a ledger, or of a topic, with every round of it."""
    firsts = np.cumsum([0, *(topic.partitions for topic in scenario.topics)])
    topic = next(at for at, one in enumerate(scenario.topics) if one.name == rows.topic)
    partition = int(firsts[topic]) + rows.partition
    flags = {scenario.scenario_id: np.arange(firsts[-1]) == partition}
    of_list = isinstance(rows, TopicRows) or rows.number is not None
    prepared: Any = (PreparedTopics if of_list else PreparedLedgers)([scenario], flags, True)
    (place,) = np.flatnonzero(prepared.numbers(0, prepared.count)[1] == partition)
    names = ledger_names([scenario], *prepared.numbers(place, place + 1))
    if limits_bookies(scenario):
        return _with_all(scenario, flags, rows.topic, rows.partition)
    payload = prepared.payload(place, place + 1)
    if not of_list:
        return play_ledger_payload(0, ledger_payload(names, payload))
    spare = [scenario.topics[topic].assignment[rows.partition].tolist()]
    return play_topic_payload(0, topic_payload(names, payload, spare))


def _with_all(scenario: Scenario, flags: Mapping[int, np.ndarray], topic: str, partition: int) -> Mapping[str, pa.Table]:
    """The same where ledgers share bookies' budgets: all of the scenario is played, what is told of others is left out."""
    engine = LedgerEngine([scenario], flags, leaps=True, bucket_rounds=0)
    is_own = (pc.field("topic") == topic) & (pc.field("partition") == partition)
    tables = engine.play_all()
    return {name: table.filter(is_own) if "partition" in table.column_names else table for name, table in tables.items()}


def _of_ledger(table: pa.Table, number: int | None) -> pa.Table:
    if number is None or "ledger" not in table.column_names:
        return table
    return table.filter(pc.field("ledger") == number)


def _in_rounds(table: pa.Table, first: int, last: int) -> list[Row]:
    there = table.filter((pc.field("round") >= first - 1) & (pc.field("round") <= last))
    order = [(name, "ascending") for name in ("round", "ledger", "broker") if name in there.column_names]
    rows: list[Row] = there.sort_by(order).to_pylist()
    return rows
