"""Which events become rows of `events`, and how many there were: frames and Arrow tables with the columns of `events`."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from emulator.arrow.packs import PackedRows
from emulator.outcomes.joined import Tables
from emulator.outcomes.written_rows import KEYS, counted_rows, selections, written_rows
from emulator.scenario import Scenario


def written_events(events: DataFrame, scenarios: Iterable[Scenario]) -> DataFrame:
    """The events of kinds that their scenarios have written."""
    for kinds, ids in selections(scenarios).items():
        written = F.col("kind").isin(*kinds) if kinds else F.lit(False)
        events = events.where(~F.col("scenario_id").isin(*ids) | written)
    return events


def counted_and_written(events: DataFrame | PackedRows | pa.Table, scenarios: Iterable[Scenario]) -> Tables:
    """Tables `events` and `event_counts` of a run with these events."""
    if isinstance(events, pa.Table):
        return {"events": written_rows(events, scenarios), "event_counts": counted_rows(events)}
    frame = events.rows() if isinstance(events, PackedRows) else events
    written = written_events(frame, scenarios) if selections(scenarios) else events
    return {"events": written, "event_counts": counted_events(frame)}


def counted_events(events: DataFrame) -> DataFrame:
    """The rows of `event_counts`, of all events."""
    return events.groupBy(*KEYS).agg(F.count(F.lit(1)).alias("events"))


def summed_counts(counts: DataFrame) -> DataFrame:
    """Rows of `event_counts`, of parts of a run, added up."""
    return counts.groupBy(*KEYS).agg(F.sum("events").alias("events"))
