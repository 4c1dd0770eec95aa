"""The tables of a literal round. A broker is known by a number of its own in each partition; offsets are exclusive ends."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

PARTITION = ["partition"]
REPLICA = ["partition", "broker"]

PARTITION_STATE = [
    "partition", "leader", "leader_epoch", "isr", "replicas", "client_leader", "client_epoch", "known_isr",
    "pending_joins", "pending_shrinks", "lead_start", "lead_hw", "elections", "unclean_elections", "isr_shrinks",
    "isr_expands", "leaderless_rounds", "under_min_isr_rounds", "under_replicated_rounds",
]  # fmt: skip
REPLICA_STATE = [
    "partition", "broker", "leads", "believed_leader", "believed_epoch", "log_start", "leo", "hw", "hw_checkpoint",
    "flushed_offset", "credit_bytes", "remote_leo", "caught_up_round", "previous_round", "previous_leader_leo", "appended",
    "refused", "truncated", "replicated_bytes",
]  # fmt: skip


@dataclass(frozen=True)
class Tables:
    """The state between two rounds.

    partitions: a row a partition, PARTITION_STATE. isr, replicas, ...: arrays of brokers; client_leader and client_epoch: T and
    T_epoch; known_isr and the pending ones: what T knows; [lead_start, lead_hw): what T committed, lead_start null until T
    knows that it leads.
    replicas: a row a partition and broker, REPLICA_STATE. remote_leo to previous_leader_leo: what T knows of it, null: nothing.
    epochs: the leader epoch caches, a row an entry: partition, broker, epoch, start_offset.
    batches: the logs, a row a batch: partition, broker, base_offset, end_offset, epoch, record_bytes.
    acked: what T acknowledged on append: partition, from_offset, to_offset.
    """

    partitions: DataFrame
    replicas: DataFrame
    epochs: DataFrame
    batches: DataFrame
    acked: DataFrame


@dataclass(frozen=True)
class Inputs:
    """What comes from outside in one round.

    settings: a row a partition: round, controller_up, min_insync_replicas, unclean_election, lag_rounds, isr_check_rounds,
    checkpoint_rounds, elects_preferred, delete_before.
    brokers: a row a partition and broker: flags (running, offline, untold, deaf, fenced, returning, restarted, clean_stop,
    power_loss, disk_loss, clients_cut) and how it fetches: fetch_max_bytes, waits, disk_bytes (a round, null: no limit).
    workload: a row a batch to append: partition, number (order of the file), records, record_bytes, acked_on_append.
    cut_links, slow_links: partition, sender, receiver, of the latter also link_bytes (a round).
    """

    settings: DataFrame
    brokers: DataFrame
    workload: DataFrame
    cut_links: DataFrame
    slow_links: DataFrame


@dataclass(frozen=True)
class Round:
    """A round on its way: partitions have their settings, replicas what the faults say of their broker and their `position`
    in the replica list (null: no replica). The tables behind `slow_links` are what one verb leaves to the next: requests
    that were answered, followers as T judges them, its changes of the ISR, batches on their way.
    """

    partitions: DataFrame
    replicas: DataFrame
    epochs: DataFrame
    batches: DataFrame
    acked: DataFrame
    workload: DataFrame
    cut_links: DataFrame
    slow_links: DataFrame
    fetches: DataFrame | None = None
    followers: DataFrame | None = None
    isr_changes: DataFrame | None = None
    taken: DataFrame | None = None

    def about_replicas(self, *columns: str) -> DataFrame:
        """The replicas with these columns of their partition."""
        return self.replicas.join(self.partitions.select("partition", *columns), "partition")

    def with_replicas(self, replicas: DataFrame) -> Round:
        """The round with other replicas, of which it takes its columns."""
        return replace(self, replicas=replicas.select(self.replicas.columns))

    def with_partitions(self, partitions: DataFrame) -> Round:
        """The round with other partitions, of which it takes its columns."""
        return replace(self, partitions=partitions.select(self.partitions.columns))

    def settled(self, before: Round) -> Round:
        """The round with every table computed that `before` has not: each verb is planned by itself.

        By way of Arrow, as a checkpoint would keep Spark's estimate of a table's size: a number that every join squares.
        """
        names = [field.name for field in fields(self)]
        changed = [name for name in names if getattr(self, name) is not getattr(before, name)]
        return replace(self, **{name: computed(getattr(self, name)) for name in changed})


def computed(frame: DataFrame) -> DataFrame:
    """The same rows without what led to them."""
    return frame.sparkSession.createDataFrame(frame.toArrow(), schema=frame.schema)


def begin_round(tables: Tables, inputs: Inputs) -> Round:
    """Put the state of the round before and the inputs of this one side by side."""
    partitions = tables.partitions.join(inputs.settings, PARTITION)
    replicas = tables.replicas.join(inputs.brokers, REPLICA).join(partitions.select("partition", "replicas"), PARTITION)
    position = "IF(array_contains(replicas, broker), array_position(replicas, broker) - 1, null)"
    return Round(
        partitions,
        replicas.withColumn("position", F.expr(position)).drop("replicas"),
        tables.epochs,
        tables.batches,
        tables.acked,
        inputs.workload,
        inputs.cut_links,
        inputs.slow_links,
    )


def end_round(now: Round) -> Tables:
    """What the next round starts with; sets of brokers are sorted."""
    sets = {name: F.sort_array(name) for name in ("isr", "known_isr", "pending_joins", "pending_shrinks")}
    partitions = now.partitions.withColumns(sets).select(PARTITION_STATE)
    return Tables(partitions, now.replicas.select(REPLICA_STATE), now.epochs, now.batches, now.acked)


def exprs(**texts: str) -> dict[str, Column]:
    """Columns from SQL text, for `withColumns`: all of them see the values before."""
    return {name: F.expr(text) for name, text in texts.items()}
