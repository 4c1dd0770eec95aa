"""The state before round 0: placement and logs of every replica as one row each."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from emulator.arrow_frames import frame_of
from emulator.expressions.columns import typed
from emulator.expressions.kafka.elect_leader import NEVER
from emulator.expressions.kafka.rules import RULES
from emulator.expressions.kafka.state import STATE_COLUMNS
from emulator.expressions.log import epoch_cache, last_run
from emulator.expressions.slots import bit
from emulator.initial.readers import READERS_AT_START, reader_columns
from emulator.initial.tiers import NULL_AT_START, TIER_AT_START, enough_local, remote_columns
from emulator.inputs import ScenarioInputs
from emulator.inputs.arrays.given import Given, given_start
from emulator.inputs.arrays.placement import Placement
from emulator.inputs.arrays.topics import TopicPlaces

_EPOCHS = pa.list_(pa.struct([("epoch", pa.int32()), ("start_offset", pa.int64())]))
_GIVEN_LOG = {
    "given_leo": ("leo", pa.int64()),
    "given_hw": ("hw", pa.int64()),
    "given_log_start": ("log_start_offset", pa.int64()),
    "given_flushed": ("flushed_offset", pa.int64()),
    "given_epochs": ("epochs", _EPOCHS),
    "given_local_start": ("local_log_start_offset", pa.int64()),
    "given_segments": ("segments", pa.list_(pa.int64())),
}
"""Columns of a given log, from which of `initial_replicas` and with which type."""


def initial_state(spark: SparkSession, inputs: list[ScenarioInputs], traced: dict[int, np.ndarray]) -> DataFrame:
    """One row per (scenario, partition, slot) as it is before round 0.

    Without initial tables: the first replica leads epoch 0 with cache (0, 0), all logs are empty, all are in the ISR and
    the leader knows every follower's LEO (docs/kafka_rounds.md, Start). `traced`: scenario_id -> flags by partition_id.
    """
    tables, worlds, feeds = [], 0, 0
    given = [_given(i) for i in inputs]
    for i, (start, _) in zip(inputs, given, strict=True):
        tables.append(_partition_rows(i, start, traced[i.scenario.scenario_id], worlds, feeds))
        worlds, feeds = worlds + i.world_count, feeds + i.feed_count
    partitions = pa.concat_tables(tables)
    frame = frame_of(spark, partitions)
    rows = frame.withColumn("slot", F.explode(F.expr("sequence(0, slot_count - 1)")))
    logs = [t for t in (_replica_rows(i, *of) for i, of in zip(inputs, given, strict=True)) if t.num_rows]
    if logs:
        rows = rows.join(frame_of(spark, pa.concat_tables(logs)), ["scenario_id", "partition_id", "slot"], "left")
    else:
        rows = rows.withColumns(
            {
                "given_leo": F.lit(None).cast("bigint"),
                "given_hw": F.lit(None).cast("bigint"),
                "given_log_start": F.lit(None).cast("bigint"),
                "given_flushed": F.lit(None).cast("bigint"),
                "given_epochs": F.lit(None).cast("array<struct<epoch:int,start_offset:bigint>>"),
                "given_local_start": F.lit(None).cast("bigint"),
                "given_segments": F.lit(None).cast("array<bigint>"),
            }
        )
    return _with_logs(rows)


def _with_logs(rows: DataFrame) -> DataFrame:
    runs = (
        "transform(given, (x, i) -> named_struct('start_offset', x.start_offset, 'epoch', x.epoch,"
        " 'start_bytes', x.start_offset * record_bytes, 'batch_records', IF(x.start_offset < leo, 1, 0),"
        " 'batch_bytes', IF(x.start_offset < leo, record_bytes, 0L),"
        " 'pattern', CAST(null AS ARRAY<STRUCT<records: INT, bytes: BIGINT>>), 'round', -1))"
    )
    own_epoch = "struct(leader_epoch AS epoch, leo AS start_offset)"
    none = "filter(array(struct(0 AS epoch, 0L AS start_offset)), x -> false)"
    given = (
        f"CASE WHEN given_epochs IS NOT NULL AND size(given_epochs) > 0 THEN given_epochs"
        f" WHEN leo > coalesce(given_log_start, 0L) THEN array(struct(0 AS epoch, coalesce(given_log_start, 0L) AS start_offset))"
        f" ELSE {none} END"
    )
    rows = rows.withColumns(
        {
            "own_bit": F.expr(bit("slot")),
            "leo": F.expr("coalesce(given_leo, 0L)"),
            "hw": F.expr("coalesce(given_hw, 0L)"),
            "log_start_offset": F.expr("coalesce(given_log_start, 0L)"),
            "local_start": F.expr("IF(keeps_segments, coalesce(given_local_start, given_log_start, 0L), given_log_start)"),
        }
    )
    bases = "concat(array(local_start), filter(coalesce(given_segments, array()), b -> b > local_start))"
    rows = rows.withColumn("bases", F.expr(f"IF(keeps_segments, {bases}, null)"))
    rows = rows.withColumn("given", F.expr(given))
    rows = rows.withColumn(
        "given",
        F.expr(
            f"IF(slot = leader AND coalesce(element_at(IF(size(given) = 0, array(null), given), -1).epoch, -1)"
            f" < leader_epoch, concat(given, array({own_epoch})), given)"
        ),
    )
    rows = rows.withColumn("log", F.expr(runs))
    partition = Window.partitionBy("scenario_id", "partition_id")
    lead = F.first(
        F.expr("CASE WHEN slot = leader THEN struct(leo, hw, log, log_start_offset, local_start) END"), ignorenulls=True
    )
    rows = rows.withColumn("lead", lead.over(partition))
    values = {
        "round": "0",
        "world": f"CAST(null AS {STATE_COLUMNS['world'][0]})",
        "feed": f"CAST(null AS {STATE_COLUMNS['feed'][0]})",
        "last_known_elr": "0",
        "late_response": "null",
        "leader_news": "IF(late_news, array(struct(-1 AS round, leader AS leader, leader_epoch AS epoch)), array())",
        "recovery_answers": "array()",
        "target_order": "0L",
        "adding": "0",
        "client_leader": "leader",
        "client_epoch": "IF(leader >= 0, leader_epoch, -1)",
        "leader_ready": "leader >= 0",
        "leader_isr": "isr",
        "pending_join": "0",
        "committed_before": "0L",
        "pending_shrink": "0",
        "leader_leo": "coalesce(lead.leo, 0L)",
        "leader_hw": "coalesce(lead.hw, 0L)",
        "leader_epoch_start": f"coalesce(greatest({last_run('lead.log')}.start_offset, lead.log_start_offset), 0L)",
        "leader_log_start": "coalesce(lead.log_start_offset, 0L)",
        "is_leader": "slot = leader",
        "believed_leader": "IF((assigned & own_bit) != 0, leader, -1)",
        "believed_epoch": "IF((assigned & own_bit) != 0, leader_epoch, -1)",
        "truncating": "truncates AND (assigned & own_bit) != 0 AND slot != leader",
        "log_bytes": "leo * record_bytes",
        "hw_checkpoint": "hw",
        "flushed_offset": "coalesce(given_flushed, leo)",
        "segment_base_offset": "IF(keeps_segments, get(bases, size(bases) - 1), log_start_offset)",
        "segment_bytes": "(leo - IF(keeps_segments, get(bases, size(bases) - 1), log_start_offset)) * record_bytes",
        "segments": (
            "IF(keeps_segments, transform(slice(bases, 1, size(bases) - 1), (b, i) -> named_struct('base_offset', b, 'bytes',"
            " (get(bases, i + 1) - b) * record_bytes, 'first_round', 0, 'newest_round', 0)), null)"
        ),
        "local_deleted_bytes": "IF(keeps_segments, 0L, null)",
        **{name: f"IF(keeps_segments, {text}, null)" for name, text in TIER_AT_START.items()},
        **{name: f"IF(reader_count IS NULL, null, {text})" for name, text in READERS_AT_START.items()},
        "cold_below": "null",
        "leader_local_start": "IF(keeps_segments, lead.local_start, null)",
        "segment_round": "0",
        "credit_bytes": "0L",
        "quota_bytes": "null",
        "copy_share_bytes": "null",
        "read_shares": "null",
        "remote_leo": "IF(slot = leader OR (assigned & own_bit) = 0, null, leo)",
        "verified": "false",
        "caught_up_round": f"IF((assigned & own_bit) != 0, 0, {NEVER})",
        "fetched_round": f"IF((assigned & own_bit) != 0, -1, {NEVER})",
        "fetched_leader_leo": "IF((assigned & own_bit) != 0, 0L, -1L)",
        "leader_log": "IF(slot = leader, null, lead.log)",
        "lead_start": f"IF(slot = leader, {last_run('log')}.start_offset, null)",
        "lead_hw": "IF(slot = leader, hw, 0L)",
        "acked_from": "0L",
        "acked_to": "0L",
        "acked_ranges": "array()",
        "leaderships": (
            "IF(slot = leader, array(struct(leader_epoch AS epoch, -1 AS round, false AS unclean, true AS runs,"
            " -1 AS cause, leo AS leo, log_start_offset AS log_start_offset,"
            " coalesce(local_start, log_start_offset) AS local_start, IF(acked_to_leo, leo, hw) AS acked_before,"
            f" {epoch_cache('log', 'log_start_offset')} AS entries)), array())"
        ),
        "leadership_ends": "array()",
        "served": "array()",
        "events": "array()",
        **{"unlike_from": "null", "alike_again": "null", "epochs_fall": "false", "impaired": "false"},
        **{"broken": "0", "violations": "array()"},
        "trace": "IF(traced, array(), null)",
    }
    counters = (
        "appended truncated replicated_bytes refused refusing produced_bytes served_bytes elections unclean_elections"
        " leaderless_rounds under_min_isr_rounds under_replicated_rounds unwritable_rounds unacked unacked_rounds"
        " isr_shrinks isr_expands"
    )
    values.update(dict.fromkeys(counters.split(), "0"))
    values.update(dict.fromkeys(NULL_AT_START, "null"))
    rows = rows.withColumns({name: F.expr(text) for name, text in values.items()})
    return typed(rows)


def _partition_rows(inputs: ScenarioInputs, start: Given, traced: np.ndarray, first_world: int, first_feed: int) -> pa.Table:
    table = inputs.partitions
    assert table is not None
    ids = inputs.states
    count = len(ids)
    unconditional = np.array([f.first_acks != "all" for f in inputs.feeds], bool)
    keeps = np.array([f.keeps_segments for f in inputs.feeds], bool)
    tiered = np.array([f.tiered_at_start for f in inputs.feeds], bool)
    leader, sizes = start.leader[ids].astype(np.int32), start.record_bytes[ids]
    members = np.ones(count, np.int32) if inputs.alike is None else inputs.alike.sizes.astype(np.int32)
    return pa.table(
        {
            "scenario_id": pa.array(np.full(count, inputs.scenario.scenario_id, np.int32)),
            "partition_id": pa.array(ids.astype(np.int64)),
            "world_id": pa.array((table.world_id[ids] + first_world).astype(np.int32)),
            "feed_id": pa.array(table.feed_id[ids].astype(np.int64) + first_feed),
            "slot_count": pa.array(table.slot_count[ids].astype(np.int32)),
            "assigned": pa.array(table.assigned[ids].astype(np.int32)),
            "replica_order": pa.array(table.replica_order[ids]),
            "leader": pa.array(leader),
            "leader_epoch": pa.array(start.epoch[ids].astype(np.int32)),
            "isr": pa.array(start.isr[ids].astype(np.int32)),
            "elr": pa.array(start.elr[ids].astype(np.int32)),
            "record_bytes": pa.array(sizes),
            "acked_to_leo": pa.array(unconditional[table.feed_id[ids]]),
            "traced": pa.array(traced[ids]),
            "keeps_segments": pa.array(keeps[table.feed_id[ids]]),
            "tiered_at_start": pa.array(tiered[table.feed_id[ids]]),
            **remote_columns(inputs, leader),
            "given_enough_local": pa.array(enough_local(inputs, sizes)),
            **reader_columns(inputs),
            "members": pa.array(members),
            "late_news": pa.array(np.full(count, inputs.has_late_news)),
            "truncates": pa.array(np.full(count, RULES[inputs.scenario.protocol].asks)),
        }
    )


def _given(inputs: ScenarioInputs) -> tuple[Given, Placement]:
    """The start from the initial tables, and the slots that it is said of."""
    table = inputs.partition_table
    ids = np.array(sorted(broker.id for broker in inputs.scenario.brokers))
    width = max(len(world.brokers) for world in inputs.worlds)
    brokers = np.array([[*world.brokers, *[-1] * (width - len(world.brokers))] for world in inputs.worlds])
    slots = table.slot_count.astype(np.int64)
    by_slot = brokers[table.world_id][np.arange(width) < slots[:, None]]
    replicas = ((table.assigned[:, None].astype(np.int64) >> np.arange(width)) & 1).sum(axis=1)
    placement = Placement(np.searchsorted(ids, by_slot).astype(np.int32), np.cumsum(slots) - slots, slots, replicas)
    return given_start(inputs.scenario, TopicPlaces(inputs.scenario), ids, placement), placement


def _replica_rows(inputs: ScenarioInputs, given: Given, placement: Placement) -> pa.Table:
    """The given logs of partitions that have a state of their own, by scenario_id, partition_id and slot."""
    row = np.zeros(0, np.int64) if given.row is None else given.row
    places = np.flatnonzero(row >= 0)
    partition = np.repeat(np.arange(len(placement.slots)), placement.slots)[places]
    has_state = np.zeros(len(placement.slots), bool)
    has_state[inputs.states] = True
    places, partition = places[has_state[partition]], partition[has_state[partition]]
    logs = inputs.scenario.initial_replicas.take(pa.array(row[places]))
    columns = {
        "scenario_id": pa.array(np.full(len(places), inputs.scenario.scenario_id, np.int32)),
        "partition_id": pa.array(partition),
        "slot": pa.array((places - placement.first[partition]).astype(np.int32)),
    }
    return pa.table(columns | {name: logs.column(of).cast(kind) for name, (of, kind) in _GIVEN_LOG.items()})
