"""What was acknowledged, committed and lost, worked out at the end from what was written down at elections.

Definitions: docs/kafka_rounds.md, "What is counted". Every leadership has its epoch; it began with a log, was told that it
leads at `lead_start`, and its high watermark came to `lead_hw`.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from .logs import contents
from .play import Played
from .ranges import count, merged, without
from .tables import REPLICA, exprs, settled_to_stay

SET = ["pid", "epoch"]


class Accounts:
    """The accounts of a run that was played."""

    def __init__(self, played: Played) -> None:
        self._played = played
        final = played.tables.partitions
        begun = played.rows("leaderships")
        self._histories = played.rows("histories")
        reached = final.selectExpr("pid", "client_epoch", "lead_start", "lead_hw")
        if begun is not None:
            columns = ("previous_client_epoch AS client_epoch", "ended_start AS lead_start", "ended_hw AS lead_hw")
            ended = begun.selectExpr("pid", *columns)
            reached = reached.unionByName(ended)
        self._begun = begun
        self._reached = settled_to_stay(reached)
        self._acked = settled_to_stay(self._acknowledged())
        self._committed = settled_to_stay(self._all_committed())

    def _parts(self, part: str) -> DataFrame:
        assert self._histories is not None
        return self._histories.where(f"part = '{part}'").drop("part")

    def _own(self) -> DataFrame:
        """What leaderships committed of their own epochs: pid, client_epoch, epoch, from_offset, to_offset."""
        return self._reached.where("lead_start IS NOT NULL").selectExpr(
            "pid", "client_epoch", "client_epoch AS epoch", "lead_start AS from_offset", "lead_hw AS to_offset"
        )

    def _acknowledged(self) -> DataFrame:
        """All that was acknowledged, with the epoch of the leadership under which it was; `initial`: before the run."""
        initial = self._parts("begin").where("round = -1").join(self._played.first, "pid")
        initial = initial.withColumn("to_offset", F.expr("least(to_offset, acked_to)"))
        appended = self._played.tables.batches.where("acked_on_append").selectExpr(
            "pid", "epoch AS client_epoch", "epoch", "base_offset AS from_offset", "end_offset AS to_offset"
        )
        own = self._own().join(self._played.first.select("pid", "first_leo", "first_epoch"), "pid", "left")
        # What the first leader's log held before the run counts as acknowledged, but not by this run.
        is_first = "coalesce(client_epoch = first_epoch, false)"
        held = own.where(is_first).withColumn("to_offset", F.expr("least(to_offset, first_leo)"))
        own = own.withColumn("from_offset", F.expr(f"IF({is_first}, greatest(from_offset, first_leo), from_offset)"))
        held, own = (rows.drop("first_leo", "first_epoch") for rows in (held, own))
        parts = [
            initial.select("pid", "client_epoch", "epoch", "from_offset", "to_offset", F.lit(True).alias("initial")),
            held.withColumn("initial", F.lit(True)),
            appended.withColumn("initial", F.lit(False)),
            own.withColumn("initial", F.lit(False)),
        ]
        return reduce(DataFrame.unionByName, parts).where("from_offset < to_offset")

    def _all_committed(self) -> DataFrame:
        """All that leaderships committed: of the logs they began with, and of their own."""
        begun = self._parts("begin").join(self._reached, ["pid", "client_epoch"])
        begun = begun.withColumn("to_offset", F.expr("least(to_offset, lead_hw)"))
        columns = ("pid", "client_epoch", "epoch", "from_offset", "to_offset")
        return begun.select(*columns).unionByName(self._own().select(*columns)).where("from_offset < to_offset")

    def sums(self) -> DataFrame:
        """By partition: acked, acked_lost, committed_lost; null where there is nothing."""
        tables = self._played.tables
        last = tables.replicas.join(tables.partitions.select("pid", "client_leader"), "pid").where(
            "broker = client_leader AND position IS NOT NULL"
        )
        if tables.tiers is not None:
            last = last.join(tables.tiers.select(*REPLICA, "whole_start"), REPLICA)
            last = last.withColumn("log_start", F.expr("least(log_start, whole_start)"))
        last = last.select(*REPLICA, "log_start", "leo")
        log = contents(tables.logs, last).select(*SET, "from_offset", "to_offset")
        starts = last.select("pid", "log_start")
        found = count(self._acked.where("NOT initial"), ["pid"], "acked")
        for name, known in (("acked_lost", self._acked), ("committed_lost", self._committed)):
            kept = known.join(starts, "pid", "left").withColumn("from_offset", F.expr("greatest(from_offset, log_start, 0L)"))
            missing = without(merged(kept.select(*SET, "from_offset", "to_offset"), SET), log, SET)
            found = found.join(count(missing, ["pid"], name), "pid", "full")
        return found

    def losses(self) -> DataFrame | None:
        """What elections lost, as events: what the leader before held and the new one did not begin with."""
        if self._begun is None:
            return None
        keys = ["pid", "elected_epoch", "epoch"]
        elected = self._begun.withColumnRenamed("client_epoch", "elected_epoch")
        before = elected.selectExpr("pid", "elected_epoch", "previous_client_epoch AS client_epoch", "log_start AS new_start")
        assert self._histories is not None
        held = self._histories.where("part != 'begin'").join(before, ["pid", "client_epoch"])
        held = held.withColumn("from_offset", F.expr("greatest(from_offset, new_start)"))
        begins = self._parts("begin").withColumnRenamed("client_epoch", "elected_epoch")
        gone = settled_to_stay(without(merged(held.select(*keys, "from_offset", "to_offset"), keys), begins, keys))
        parts = []
        for kind, known in (("acked_lost", self._acked), ("committed_lost", self._committed)):
            parts.append(merged(self._lost(gone, known), keys).withColumn("kind", F.lit(kind)))
        # Named anew: Spark can't tell the columns of `gone`, which was computed, from those that it came of.
        told = self._begun.selectExpr("pid", "client_epoch AS elected_epoch", "broker", "round", "cause")
        return (
            parts[0].unionByName(parts[1]).join(told, ["pid", "elected_epoch"]).withColumnRenamed("epoch", "leader_epoch")
        ).select("pid", "round", "kind", "broker", "leader_epoch", "from_offset", "to_offset", "cause")

    def _lost(self, gone: DataFrame, known: DataFrame) -> DataFrame:
        """Of what is gone, what earlier leaderships had acknowledged or committed."""
        theirs = known.selectExpr("pid", "epoch", "client_epoch", "from_offset AS other_from", "to_offset AS other_to")
        both = gone.join(theirs, SET).where("other_from < to_offset AND from_offset < other_to AND client_epoch < elected_epoch")
        overlap = exprs(from_offset="greatest(from_offset, other_from)", to_offset="least(to_offset, other_to)")
        return both.withColumns(overlap).select("pid", "elected_epoch", "epoch", "from_offset", "to_offset")
