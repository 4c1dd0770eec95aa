"""The table `broker_rounds`: what each broker carried in a time bucket, and how it stood at its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from emulator.rounds.relational.inputs.run_inputs import RunInputs
from emulator.rounds.relational.play import Played
from emulator.rounds.relational.queries.query import Engine, Query
from emulator.table_columns.spark_columns import OUTPUT_TABLES

BUCKET_UNIT_ROUNDS = 25
"""Buckets of a run are multiples of this: as the default engine has them."""

KEY = ("scenario_id", "to_round", "broker")


def bucket_edges(rounds: int, time_buckets: int) -> list[int]:
    """After how many rounds a bucket ends; the last at the end of the run."""
    length = -(-max(-(-rounds // time_buckets), 1) // BUCKET_UNIT_ROUNDS) * BUCKET_UNIT_ROUNDS
    return [*range(length, rounds, length), rounds]


def broker_rounds(engine: Engine, inputs: RunInputs, played: Played, edges: Sequence[int]) -> list[tuple[Any, ...]]:
    """The rows of the table, a row for each broker and bucket; a scenario that ends in a bucket cuts it short.

    bytes_in: fetched by the broker; bytes_produced: produced to it; bytes_out: fetched from it; cross_rack_bytes_out: of these,
    by brokers of other racks; bytes_uploaded: copied to remote storage.
    """
    spans = [
        {"scenario_id": s.scenario_id, "broker": b.id, "rack": b.rack, "from_round": start, "to_round": min(end, s.rounds)}
        for s in inputs.scenarios
        for b in s.brokers
        for start, end in zip([0, *edges], edges, strict=False)
        if start < s.rounds
    ]
    buckets = engine.read(pa.Table.from_pylist(spans, _SPANS))
    rows = {tuple(row[name] for name in KEY): row for row in spans}
    always = (("carried", _carried(played, buckets)), ("standing", played.rows("standing")))
    uploaded = _uploaded(played, buckets)
    for name, frame in (*always, *([] if uploaded is None else [("uploads", uploaded)])):
        assert frame is not None, name
        named = frame.renamed(round="to_round") if name == "standing" else frame
        for found in named.rows():
            at = tuple(found[key] for key in KEY)
            if at in rows:
                rows[at] |= found
    return [_row(inputs, row) for row in rows.values()]


_SPANS = pa.schema(
    [("scenario_id", pa.int32()), ("broker", pa.int32()), ("rack", pa.string())]
    + [("from_round", pa.int32()), ("to_round", pa.int32())]
)


def _carried(played: Played, buckets: Query) -> Query | None:
    """Bytes in and out by bucket and broker."""
    carried = played.rows("carried")
    if carried is None:
        return None
    taken = carried.join(buckets.broadcast(), ["scenario_id", "broker"]).where("from_round <= round AND round < to_round")
    sources = buckets.select("scenario_id", "broker AS source", "rack AS source_rack").distinct()
    taken = taken.join(sources.broadcast(), ["scenario_id", "source"], "left")
    crosses = "coalesce(rack != source_rack, false)"
    of_clients = "source IS NULL"
    into = taken.group_by(*KEY).agg(
        f"sum(IF({of_clients}, 0L, bytes)) AS bytes_in", f"sum(IF({of_clients}, bytes, 0L)) AS bytes_produced"
    )
    given = taken.where("source IS NOT NULL").drop("broker").renamed(source="broker").group_by(*KEY)
    out = given.agg("sum(bytes) AS bytes_out", f"sum(IF({crosses}, bytes, 0L)) AS cross_rack_bytes_out")
    columns = ("bytes_in", "bytes_produced", "bytes_out", "cross_rack_bytes_out")
    return into.join(out, KEY, "full").with_columns(**{name: f"coalesce({name}, 0L)" for name in columns})


def _uploaded(played: Played, buckets: Query) -> Query | None:
    """Bytes that brokers copied to remote storage, by bucket; None: none did."""
    uploads = played.rows("uploads")
    if uploads is None:
        return None
    uploads = uploads.join(played.tables.partitions.select("pid", "scenario_id"), "pid")
    own = uploads.join(buckets.broadcast(), ["scenario_id", "broker"]).where("from_round <= round AND round < to_round")
    return own.group_by(*KEY).agg("sum(size_bytes) AS bytes_uploaded")


def _row(inputs: RunInputs, row: dict[str, Any]) -> tuple[Any, ...]:
    segments = inputs.timelines[row["scenario_id"]][row["broker"]]
    start, end = row["from_round"], row["to_round"]
    ups = (max(0, min(s.to_round, end) - max(s.from_round, start)) for s in segments if not s.offline)
    up = any(s.from_round < end <= s.to_round and not s.offline for s in segments)
    values = {"up": up, "up_rounds": sum(ups), "entries": None, **row}
    return tuple(values.get(name, 0) for name in OUTPUT_TABLES["broker_rounds"].names)
