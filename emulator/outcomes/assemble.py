"""From the engine's final state to the output tables of the contract (emulator/table_columns.py has their columns)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from emulator.arrow_frames import frame_of
from emulator.arrow_schemas import to_arrow_schema
from emulator.expressions.columns import texts
from emulator.expressions.kafka.count_outcomes import EVENT_KINDS, OF_NOBODY
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.segments import local_start
from emulator.expressions.kafka.tier.lineage import is_in_lineage
from emulator.expressions.kafka.tier.types import BEFORE_THE_RUN, STATE_NAMES
from emulator.expressions.log import epoch_cache
from emulator.expressions.slots import MAX_SLOTS, ORDER_BITS, bit, has, mine
from emulator.inputs import ScenarioInputs
from emulator.local_checkpoints import held
from emulator.outcomes.accounting import losses_at_elections, partition_accounts, with_losses
from emulator.outcomes.broker_rounds import DISK_BYTES
from emulator.outcomes.consumers import CONSUMER_TABLES, consumer_tables
from emulator.outcomes.names import Names, names
from emulator.outcomes.violations import format_words, invariant_rows, violation_rows
from emulator.outcomes.written_events import counted_and_written
from emulator.scenario import Scenario
from emulator.schema import OUTPUT_TABLES

_IS_REPLICA = mine("assigned")
_BROKER = "get(brokers, slot)"
_ROW_IDS = ("scenario_id", "partition_id", "world_id", "feed_id", "slot")
_FENCES = pa.schema(
    [
        ("scenario_id", pa.int32()),
        ("broker", pa.int32()),
        ("round", pa.int32()),
        ("kind", pa.string()),
        ("cause", pa.int32()),
    ]
)
_BROKERS = pa.schema([("scenario_id", pa.int32()), ("broker", pa.int32()), ("rack", pa.string())])
_EVENT_KINDS = texts(EVENT_KINDS)


def brokers_in(mask: str) -> str:
    """SQL text: the sorted broker ids of a mask of slots, for rows with `brokers`."""
    return f"array_sort(filter(brokers, (b, s) -> {has(mask, 's')}))"


def broker_or_none(slot: str) -> str:
    """SQL text: the broker id of a slot, -1 for slot -1, for rows with `brokers`."""
    return f"coalesce(get(brokers, {slot}), -1)"


def kafka_tables(spark: SparkSession, state: DataFrame, inputs: list[ScenarioInputs]) -> dict[str, DataFrame | pa.Table]:
    """The output tables of Kafka's partitions (`assemble`), what elections lost computed once for all of them."""
    return assemble(spark, state, held(losses_at_elections(state)), inputs)


def assemble(
    spark: SparkSession, state: DataFrame, losses: DataFrame, inputs: list[ScenarioInputs]
) -> dict[str, DataFrame | pa.Table]:
    """The output tables that follow from the final state, by name; not yet computed.

    `state`: one row per (scenario, partition, slot), columns of rounds/kafka/state.py; world_id and feed_id count on over
    the list of inputs. `losses`: what accounting.losses_at_elections says of it. Returns partitions, outcomes, events,
    event_counts, replicas, leader_epochs, remote_segments, violations, and where groups read consumer_groups and unread, as
    frames; what the driver knows already as pyarrow tables: brokers, faults, invariants. Source: shared design, section 7.
    """
    known = names(spark, inputs)
    computed = {
        "partitions": _partitions(state, known),
        "outcomes": _outcomes(known.add_all(partition_accounts(state))),
        "events": _events(spark, state, losses, inputs, known),
        "replicas": _replicas(state, known),
        "remote_segments": _remote_segments(state, known),
        "leader_epochs": _leader_epochs(state, known),
        "violations": _violations(spark, state, losses, inputs, known),
    }
    tables: dict[str, DataFrame | pa.Table] = {n: frame.select(OUTPUT_TABLES[n].names) for n, frame in computed.items()}
    if any(i.has_consumers for i in inputs):
        tables |= consumer_tables(spark, state, inputs, known)
    else:
        tables |= {name: empty_table(name) for name in CONSUMER_TABLES}
    scenarios = [i.scenario for i in inputs]
    tables |= counted_and_written(computed["events"].select(OUTPUT_TABLES["events"].names), scenarios)
    return tables | {"invariants": invariant_table(), "brokers": broker_rows(scenarios), "faults": fault_rows(scenarios)}


def empty_table(name: str) -> pa.Table:
    """An output table without rows."""
    return to_arrow_schema(OUTPUT_TABLES[name]).empty_table()


def _partitions(state: DataFrame, known: Names) -> DataFrame:
    code = f"CAST(shiftright(replica_order, p * {ORDER_BITS}) & 31 AS INT)"
    codes = f"transform(sequence(0, {MAX_SLOTS - 1}), p -> {code})"
    in_order = f"transform(filter({codes}, c -> c > 0), c -> {broker_or_none('c - 1')})"
    columns = {"replicas": in_order, "min_isr": "feed.min_insync_replicas"}
    return known.add_all(state.filter("slot = 0")).withColumns({name: F.expr(text) for name, text in columns.items()})


def _outcomes(accounts: DataFrame) -> DataFrame:
    return with_losses(accounts).withColumns(
        {
            "leader": F.expr(broker_or_none("leader")),
            "isr": F.expr(brokers_in("isr")),
            "elr": F.expr(brokers_in("elr")),
            "hw": F.expr("coalesce(last.hw, 0L)"),
            "leo": F.expr("coalesce(last.leo, 0L)"),
        }
    )


def _replicas(state: DataFrame, known: Names) -> DataFrame:
    columns = {
        "broker": _BROKER,
        "role": f"CASE WHEN {mine('world.offline')} THEN 'offline' WHEN is_leader THEN 'leader' ELSE 'follower' END",
        "leader_epoch": "believed_epoch",
        "local_log_start_offset": local_start(RunRules(1, segments=True)),
        "in_isr": mine("isr"),
        "local_bytes": DISK_BYTES,
    }
    return known.add_all(state.filter(_IS_REPLICA)).withColumns({n: F.expr(text) for n, text in columns.items()})


def _remote_segments(state: DataFrame, known: Names) -> DataFrame:
    """Every attempt to copy a segment; whether it is in lineage says the log of the client leader, or of the last one."""
    rows = state.filter("slot = greatest(client_leader, 0) AND size(remote_segments) > 0")
    rows = rows.withColumn(
        "cache", F.expr(f"IF(client_leader >= 0 AND {_IS_REPLICA}, {epoch_cache('log', 'log_start_offset')}, null)")
    )
    rows = rows.select(*_ROW_IDS, "cache", "leo", F.explode("remote_segments").alias("s"))
    names = texts(STATE_NAMES)
    entry = "named_struct('epoch', coalesce(e.epoch, -1), 'start_offset', coalesce(e.start_offset, -1L))"
    columns = {
        "segment": "s.id",
        **{name: f"s.{name}" for name in ("base_offset", "end_offset", "bytes", "stored_bytes", "leader_epoch", "deleted_round")},
        **{name: f"transform(s.{name}, e -> {entry})" for name in ("epochs", "checkpoint")},
        "state": f"get({names}, s.state)",
        "broker": broker_or_none("s.slot"),
        "started_round": "s.started_round",
        "copied_round": f"IF(s.copied_round = {BEFORE_THE_RUN}, null, s.copied_round)",
        "in_lineage": f"coalesce({is_in_lineage('s', 'cache', 'leo')}, false)",
    }
    return known.add_all(rows).withColumns({n: F.expr(text) for n, text in columns.items()})


def _leader_epochs(state: DataFrame, known: Names) -> DataFrame:
    caches = state.filter(_IS_REPLICA).select(*_ROW_IDS, F.expr(epoch_cache("log", "log_start_offset")).alias("cache"))
    entries = caches.select(*_ROW_IDS, "cache", F.expr("posexplode(cache) AS (at, entry)"))
    return known.add_all(entries).withColumns(
        {
            "broker": F.expr(_BROKER),
            "epoch": F.col("entry.epoch"),
            "start_offset": F.col("entry.start_offset"),
            "end_offset": F.expr("get(cache, at + 1).start_offset"),
        }
    )


def _violations(
    spark: SparkSession, state: DataFrame, losses: DataFrame, inputs: list[ScenarioInputs], known: Names
) -> DataFrame:
    return known.add_all(violation_rows(spark, state, losses, inputs)).withColumn("witness", format_words())


def _events(spark: SparkSession, state: DataFrame, losses: DataFrame, inputs: list[ScenarioInputs], known: Names) -> DataFrame:
    columns = OUTPUT_TABLES["events"].names
    own = _replica_events(state)
    lost = losses.filter("kind IN ('acked_lost', 'committed_lost')").withColumn("of_nobody", F.lit(False))
    rows = own.unionByName(lost.select(own.columns))
    broker = f"IF(of_nobody, -1, {_BROKER})"
    events = known.add_all(rows).withColumns({"broker": F.expr(broker), "ledger": _null("ledger")}).select(columns)
    fences = _fence_rows(inputs)
    if fences.num_rows == 0:
        return events
    replicas = known.add_all(_initial_replicas(spark, state, inputs)).withColumn("broker", F.expr(_BROKER))
    fenced = replicas.join(F.broadcast(frame_of(spark, fences)), ["scenario_id", "broker"])
    fenced = fenced.withColumns({name: _null(name) for name in ("leader_epoch", "from_offset", "to_offset", "ledger")})
    return events.unionByName(fenced.select(columns))


def _null(name: str) -> Column:
    """A null of the type of this column of `events`."""
    return F.lit(None).cast(OUTPUT_TABLES["events"][name].dataType)


def _replica_events(state: DataFrame) -> DataFrame:
    """What the rounds wrote down, one row per event; `refused` for as long as the same number was refused each round."""
    refused = f"x.kind = {EVENT_KINDS.index('refused')}"
    next_told = "coalesce(array_min(filter(refusals, r -> r > x.round)), round)"
    fields = "'round', x.round, 'kind', x.kind, 'leader_epoch', x.leader_epoch, 'from_offset', x.from_offset"
    whole = (
        f"named_struct({fields}, 'to_offset', x.from_offset + (x.to_offset - x.from_offset) * ({next_told} - x.round),"
        " 'cause', x.cause)"
    )
    told = state.filter("size(events) > 0").withColumn(
        "refusals", F.expr(f"transform(filter(events, x -> {refused}), x -> x.round)")
    )
    told = told.withColumn("events", F.expr(f"filter(events, x -> NOT ({refused} AND x.to_offset = x.from_offset))"))
    told = told.withColumn("events", F.expr(f"IF(size(refusals) = 0, events, transform(events, x -> IF({refused}, {whole}, x)))"))
    events = told.select(*_ROW_IDS, F.explode("events").alias("event"))
    return events.select(
        *_ROW_IDS,
        "event.round",
        F.expr(f"element_at({_EVENT_KINDS}, event.kind + 1) AS kind"),
        "event.leader_epoch",
        "event.from_offset",
        "event.to_offset",
        F.expr("IF(event.cause >= 0, event.cause, null) AS cause"),
        F.expr(f"event.kind IN ({', '.join(map(str, OF_NOBODY))}) AS of_nobody"),
    )


def _initial_replicas(spark: SparkSession, state: DataFrame, inputs: list[ScenarioInputs]) -> DataFrame:
    """The rows of replicas assigned at the start: a partition's later slots are brokers that it is to move to."""
    rows = state.select(*_ROW_IDS)
    moving = _moving_partitions(inputs)
    if moving.num_rows == 0:
        return rows
    first_slots = F.broadcast(frame_of(spark, moving))
    return (
        rows.join(first_slots, ["scenario_id", "partition_id"], "left")
        .filter(f"coalesce((first_assigned & {bit('slot')}) != 0, true)")
        .drop("first_assigned")
    )


def _moving_partitions(inputs: list[ScenarioInputs]) -> pa.Table:
    """Partitions whose slots are not all assigned at the start: scenario_id, partition_id, first_assigned (mask)."""
    parts = []
    for i in inputs:
        assert i.partitions is not None
        ids = np.flatnonzero(i.partitions.assigned != (1 << i.partitions.slot_count) - 1)
        parts.append(
            pa.table(
                {
                    "scenario_id": pa.array(np.full(len(ids), i.scenario.scenario_id, np.int32)),
                    "partition_id": pa.array(ids.astype(np.int64)),
                    "first_assigned": pa.array(i.partitions.assigned[ids].astype(np.int32)),
                }
            )
        )
    return pa.concat_tables(parts)


def _fence_rows(inputs: list[ScenarioInputs]) -> pa.Table:
    """When which broker was fenced and unfenced: scenario_id, broker, round, kind, cause."""
    rows = [
        {
            "scenario_id": i.scenario.scenario_id,
            "broker": broker,
            "round": segment.from_round,
            "kind": kind,
            "cause": segment.cause if segment.cause >= 0 else None,
        }
        for i in inputs
        for broker, segments in i.timelines.items()
        for segment in segments
        for kind, happens in (("fenced", segment.fence_now), ("unfenced", segment.unfence_now))
        if happens
    ]
    return pa.Table.from_pylist(rows, _FENCES)


def invariant_table() -> pa.Table:
    """The table `invariants`."""
    columns = [pa.array(column, pa.string()) for column in zip(*invariant_rows(), strict=True)]
    return pa.table(columns, OUTPUT_TABLES["invariants"].names)


def broker_rows(scenarios: Sequence[Scenario]) -> pa.Table:
    """The table `brokers`."""
    rows = [{"scenario_id": s.scenario_id, "broker": b.id, "rack": b.rack} for s in scenarios for b in s.brokers]
    return pa.Table.from_pylist(rows, _BROKERS)


def fault_rows(scenarios: Sequence[Scenario]) -> pa.Table:
    """The table `faults`."""
    parts = []
    for s in scenarios:
        faults = s.faults
        ids = pa.array(np.arange(faults.num_rows, dtype=np.int32))
        scenario = pa.array(np.full(faults.num_rows, s.scenario_id, np.int32))
        parts.append(faults.append_column("fault_id", ids).append_column("scenario_id", scenario))
    return pa.concat_tables(parts)
