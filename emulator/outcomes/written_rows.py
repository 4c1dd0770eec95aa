"""Which events become rows of `events`, and how many there were, as Arrow tables; of frames: written_events.py."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from emulator.scenario import Scenario
from emulator.table_columns.arrow_columns import arrow_schema

KEYS = ("scenario_id", "topic", "kind")


def written_rows(events: pa.Table, scenarios: Iterable[Scenario]) -> pa.Table:
    """The events of kinds that their scenarios have written."""
    for kinds, ids in selections(scenarios).items():
        of_others = pc.invert(pc.is_in(events["scenario_id"], pa.array(ids, pa.int32())))
        events = events.filter(pc.or_(of_others, pc.is_in(events["kind"], pa.array(kinds, pa.string()))))
    return events


def counted_rows(events: pa.Table) -> pa.Table:
    """The rows of `event_counts`, of all events."""
    return _counts(events.select(KEYS).group_by(list(KEYS)).aggregate([([], "count_all")]), "count_all")


def summed_count_rows(counts: pa.Table) -> pa.Table:
    """Rows of `event_counts`, of parts of a run, added up."""
    return _counts(counts.group_by(list(KEYS)).aggregate([("events", "sum")]), "events_sum")


def selections(scenarios: Iterable[Scenario]) -> dict[tuple[str, ...], list[int]]:
    """Kinds that are not all, and the ids of the scenarios that have these written."""
    found: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for scenario in scenarios:
        if scenario.events is not None:
            found[scenario.events].append(scenario.scenario_id)
    return found


def _counts(counts: pa.Table, column: str) -> pa.Table:
    schema = arrow_schema("event_counts")
    columns = [counts[name] for name in (*KEYS, column)]
    return pa.table(dict(zip(schema.names, columns, strict=True))).cast(schema)
