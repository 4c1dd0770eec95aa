"""Which events become rows of `events`, and how many there were: frames and Arrow tables with the columns of `events`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from emulator.arrow_packs import PackedRows
from emulator.arrow_schemas import to_arrow_schema
from emulator.outcomes.joined import Tables
from emulator.scenario import Scenario
from emulator.schema import OUTPUT_TABLES

_KEYS = ("scenario_id", "topic", "kind")


def written_events(events: DataFrame, scenarios: Iterable[Scenario]) -> DataFrame:
    """The events of kinds that their scenarios have written."""
    for kinds, ids in _selections(scenarios).items():
        written = F.col("kind").isin(*kinds) if kinds else F.lit(False)
        events = events.where(~F.col("scenario_id").isin(*ids) | written)
    return events


def counted_and_written(events: DataFrame | PackedRows | pa.Table, scenarios: Iterable[Scenario]) -> Tables:
    """Tables `events` and `event_counts` of a run with these events."""
    if isinstance(events, pa.Table):
        return {"events": written_rows(events, scenarios), "event_counts": counted_rows(events)}
    frame = events.rows() if isinstance(events, PackedRows) else events
    written = written_events(frame, scenarios) if _selections(scenarios) else events
    return {"events": written, "event_counts": counted_events(frame)}


def written_rows(events: pa.Table, scenarios: Iterable[Scenario]) -> pa.Table:
    """Likewise of a table in the driver."""
    for kinds, ids in _selections(scenarios).items():
        of_others = pc.invert(pc.is_in(events["scenario_id"], pa.array(ids, pa.int32())))
        events = events.filter(pc.or_(of_others, pc.is_in(events["kind"], pa.array(kinds, pa.string()))))
    return events


def counted_events(events: DataFrame) -> DataFrame:
    """The rows of `event_counts`, of all events."""
    return events.groupBy(*_KEYS).agg(F.count(F.lit(1)).alias("events"))


def counted_rows(events: pa.Table) -> pa.Table:
    """Likewise of a table in the driver."""
    return _counts(events.select(_KEYS).group_by(list(_KEYS)).aggregate([([], "count_all")]), "count_all")


def summed_counts(counts: DataFrame) -> DataFrame:
    """Rows of `event_counts`, of parts of a run, added up."""
    return counts.groupBy(*_KEYS).agg(F.sum("events").alias("events"))


def summed_count_rows(counts: pa.Table) -> pa.Table:
    """Likewise of a table in the driver."""
    return _counts(counts.group_by(list(_KEYS)).aggregate([("events", "sum")]), "events_sum")


def _counts(counts: pa.Table, column: str) -> pa.Table:
    schema = to_arrow_schema(OUTPUT_TABLES["event_counts"])
    columns = [counts[name] for name in (*_KEYS, column)]
    return pa.table(dict(zip(schema.names, columns, strict=True))).cast(schema)


def _selections(scenarios: Iterable[Scenario]) -> dict[tuple[str, ...], list[int]]:
    """Kinds that are not all, and the ids of the scenarios that have these written."""
    found: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for scenario in scenarios:
        if scenario.events is not None:
            found[scenario.events].append(scenario.scenario_id)
    return found
