"""The output tables of a run that was played (emulator/table_columns has their columns)."""

from __future__ import annotations

import pyarrow as pa

from emulator.arrow.schemas import to_arrow_schema
from emulator.outcomes.scenarios import broker_rows, fault_rows
from emulator.rounds.relational.inputs.run_inputs import RunInputs
from emulator.rounds.relational.outputs.accounting import Accounts
from emulator.rounds.relational.outputs.lineage import in_lineage
from emulator.rounds.relational.play import Played
from emulator.rounds.relational.queries.query import Engine, Query
from emulator.rounds.relational.tables import EPOCH_COLUMNS, REPLICA, REPLICA_COUNTERS, TIER_COUNTERS
from emulator.rounds.relational.verbs.logs import epoch_ends
from emulator.rounds.relational.verbs.outcomes import EVENT_COLUMNS, REFUSED, local_bytes
from emulator.rounds.relational.verbs.tiers import INSIDE
from emulator.table_columns.spark_columns import OUTPUT_TABLES

Tables = dict[str, Query | pa.Table]
_PLACE = ("scenario_id", "topic", "partition")
_ACCOUNTED = ("acked", "acked_lost", "sent_unacknowledged", "unacknowledged_lost", "committed_lost")
_FENCES = pa.schema(
    [("scenario_id", pa.int32()), ("broker", pa.int32()), ("round", pa.int32()), ("kind", pa.string()), ("cause", pa.int32())]
)


def output_tables(engine: Engine, inputs: RunInputs, played: Played) -> Tables:
    """The tables that follow from what was played; those that it has nothing for are without rows."""
    tables, topics = played.tables, _topics(engine, inputs)
    accounts = Accounts(played)
    partitions = tables.partitions
    computed = {
        "partitions": _partitions(engine, inputs, played),
        "outcomes": _outcomes(played, accounts),
        "events": _events(engine, inputs, played, accounts),
        "replicas": _replicas(engine, inputs, played),
        **_remote(played),
        "leader_epochs": _epochs(played).join(partitions.select("pid", "scenario_id", "topic_id"), "pid"),
    }
    for name in ("trace", "trace_partitions"):
        rows = played.rows(name)
        if rows is not None:
            computed[name] = rows
    named = {name: _named(name, rows, topics) for name, rows in computed.items()}
    events = named["events"]
    counts = events.group_by("scenario_id", "topic", "kind").agg("count(1) AS events")
    made: Tables = {**named, "events": _written(events, inputs), "event_counts": counts}
    made |= {"brokers": broker_rows(inputs.scenarios), "faults": fault_rows(inputs.scenarios)}
    return {name: empty_table(name) for name in OUTPUT_TABLES} | made


def _written(events: Query, inputs: RunInputs) -> Query:
    """The events of kinds that their scenarios have written."""
    for scenario in inputs.scenarios:
        if scenario.events is not None:
            kinds = ", ".join(f"'{kind}'" for kind in ("", *scenario.events))
            events = events.where(f"scenario_id != {scenario.scenario_id} OR kind IN ({kinds})")
    return events


def empty_table(name: str) -> pa.Table:
    """An output table without rows."""
    return to_arrow_schema(OUTPUT_TABLES[name]).empty_table()


def _topics(engine: Engine, inputs: RunInputs) -> Query:
    rows = [{"topic_id": p.topic_id, "topic": p.name, "first_pid": p.first_pid} for p in inputs.places]
    schema = pa.schema([("topic_id", pa.int32()), ("topic", pa.string()), ("first_pid", pa.int64())])
    return engine.read(pa.Table.from_pylist(rows, schema))


def _named(table: str, rows: Query, topics: Query) -> Query:
    """The rows with the names that users know, and of the columns of the table those that there are."""
    named = rows.join(topics.broadcast(), "topic_id").with_columns(partition="CAST(pid - first_pid AS INT)")
    return named.select(*(name for name in OUTPUT_TABLES[table].names if name in named.columns))


def _sets(**flags: str) -> list[str]:
    return [f"array_sort(collect_list(broker) FILTER (WHERE {flag})) AS {name}" for name, flag in flags.items()]


def _partitions(engine: Engine, inputs: RunInputs, played: Played) -> Query:
    listed = played.tables.replicas.where("position IS NOT NULL").select("pid", "broker", "position")
    in_order = "OVER (PARTITION BY pid ORDER BY position ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"
    replicas = listed.with_columns(replicas=f"collect_list(broker) {in_order}").select("pid", "replicas").distinct()
    settings = engine.read(inputs.settings).group_by("topic_id")
    last = settings.agg("max_by(min_insync_replicas, from_round) AS min_isr")
    partitions = played.tables.partitions.select("pid", "scenario_id", "topic_id")
    whole = partitions.join(played.first.select("pid", "first_leader"), "pid", "left")
    whole = whole.with_columns(first_leader="coalesce(first_leader, -1)")
    return whole.join(replicas, "pid", "left").join(last.broadcast(), "topic_id")


def _outcomes(played: Played, accounts: Accounts) -> Query:
    tables = played.tables
    sums = [f"sum({name}) AS {name}" for name in REPLICA_COUNTERS]
    leads = "broker = client_leader AND position IS NOT NULL"
    last = [f"coalesce(max(IF({leads}, {name}, null)), 0L) AS {name}" for name in ("hw", "leo")]
    of_replicas = tables.replicas.join(tables.partitions.select("pid", "client_leader"), "pid").group_by("pid")
    rows = tables.partitions.join(of_replicas.agg(*sums, *last, *_sets(isr="in_isr", elr="in_elr")), "pid")
    if tables.tiers is not None:
        rows = rows.join(tables.tiers.group_by("pid").agg(*(f"sum({name}) AS {name}" for name in TIER_COUNTERS)), "pid")
    rows = rows.join(accounts.sums(), "pid", "left")
    others = [f for f in OUTPUT_TABLES["outcomes"] if f.name not in (*rows.columns, "topic", "partition") and not f.nullable]
    more = {field.name: f"CAST(0 AS {field.dataType.simpleString()})" for field in others}
    lost = {name: f"coalesce({name}, 0L)" for name in _ACCOUNTED}
    return rows.with_columns(**lost, **more)


def _events(engine: Engine, inputs: RunInputs, played: Played, accounts: Accounts) -> Query:
    tables = played.tables
    refusing = tables.partitions.where("refusing_records > 0").select(*REFUSED)
    parts = [part.select(*EVENT_COLUMNS) for part in (played.rows("events"), refusing) if part is not None]
    if (lost := accounts.losses()) is not None:
        parts.insert(0, lost.select(*EVENT_COLUMNS, "records"))
    first, *others = parts
    of_partitions = tables.partitions.select("pid", "scenario_id", "topic_id")
    # Who was told of no leader yet, as a replica that a reassignment added, believes in none, of no epoch: it has -1.
    told = first.union(*others, missing=True).with_columns(leader_epoch="IF(leader_epoch >= 0, leader_epoch, null)")
    every = told.join(of_partitions, "pid")
    fences = _fences(inputs)
    if not fences.num_rows:
        return every
    homes = engine.read(inputs.homes).where("position >= 0").select(*REPLICA)
    of_replicas = homes.join(of_partitions, "pid").join(engine.read(fences).broadcast(), ["scenario_id", "broker"])
    return every.union(of_replicas, missing=True)


def _fences(inputs: RunInputs) -> pa.Table:
    """When which broker was fenced and unfenced."""
    rows = [
        (scenario_id, broker, s.from_round, kind, s.cause if s.cause >= 0 else None)
        for scenario_id, brokers in inputs.timelines.items()
        for broker, segments in brokers.items()
        for s in segments
        for kind, happens in (("fenced", s.fence_now), ("unfenced", s.unfence_now))
        if happens
    ]
    return pa.Table.from_pylist([dict(zip(_FENCES.names, row, strict=True)) for row in rows], _FENCES)


def _replicas(engine: Engine, inputs: RunInputs, played: Played) -> Query:
    tables = played.tables
    partitions = tables.partitions.select("pid", "scenario_id", "topic_id", "rounds", "keeps_segments")
    rows = tables.replicas.where("position IS NOT NULL").join(partitions, "pid")
    whole = "log_start AS log_start_offset"
    if tables.tiers is not None:
        rows, whole = rows.join(tables.tiers.select(*REPLICA, "whole_start"), REPLICA), "whole_start AS log_start_offset"
    brokers = engine.read(inputs.brokers).select("scenario_id", "broker", "to_round", "offline")
    rows = rows.join(brokers.broadcast(), ["scenario_id", "broker"]).where("to_round = rounds")
    sizes = local_bytes(rows, tables.logs, tables.batches, tables.segments).renamed(bytes="local_bytes")
    role = "CASE WHEN offline THEN 'offline' WHEN leads THEN 'leader' ELSE 'follower' END AS role"
    return rows.join(sizes, REPLICA, "left").select(
        "pid", "scenario_id", "topic_id", "broker", role, "believed_epoch AS leader_epoch", whole,
        "log_start AS local_log_start_offset", "leo", "hw", "in_isr", "coalesce(local_bytes, 0L) AS local_bytes",
    )  # fmt: skip


def _remote(played: Played) -> dict[str, Query]:
    """The table `remote_segments`. What is copied stays: in_lineage by the cache of the last leader."""
    tables = played.tables
    if tables.remote_segments is None or tables.remote_epochs is None:
        return {}
    leaders = tables.replicas.join(tables.partitions.select("pid", "client_leader"), "pid").where("broker = client_leader")
    caches = epoch_ends(tables.leader_epochs).join(leaders.select(*REPLICA, "leo"), REPLICA).drop("broker")
    entry = "struct(epoch AS epoch, {} AS start_offset)"
    rows = tables.remote_epochs.group_by("pid", "number").agg(
        f"array_sort(collect_list({entry.format('first_offset')}) FILTER (WHERE {INSIDE})) AS epochs",
        f"array_sort(collect_list({entry.format('start_offset')})) AS checkpoint",
    )
    named = tables.remote_segments.join(rows, ["pid", "number"]).join(
        in_lineage(tables.remote_epochs, caches), ["pid", "number"], "left"
    )
    known = named.select(
        "pid", "number AS segment", "base_offset", "segment_end AS end_offset", "epochs", "checkpoint", "size_bytes AS bytes",
        "size_bytes AS stored_bytes", "'COPY_FINISHED' AS state", "copier AS broker", "leader_epoch",
        "copied_round AS started_round", "copied_round", "coalesce(in_lineage, false) AS in_lineage",
    )  # fmt: skip
    return {"remote_segments": known.join(tables.partitions.select("pid", "scenario_id", "topic_id"), "pid")}


def _epochs(played: Played) -> Query:
    own = played.tables.replicas.where("position IS NOT NULL").select(*REPLICA)
    return epoch_ends(played.tables.leader_epochs.select(*EPOCH_COLUMNS)).join(own, REPLICA)
