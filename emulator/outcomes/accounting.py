"""What was acknowledged, committed and lost: arithmetic on ranges of (epoch, from, to), per partition.

Every row of the final state holds its own leaderships: the log each began with, where it started, how far its high
watermark came, what it acknowledged on append. From these follows all that was ever acknowledged and committed.
Definitions: docs/kafka_rounds.md, "What is counted".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from emulator.expressions.kafka.count_outcomes import EVENT_KINDS
from emulator.expressions.kafka.eligible_leaders import min_isr
from emulator.expressions.kafka.state import TIER_COUNTERS
from emulator.outcomes.ranges import (
    above,
    below,
    log_ranges,
    no_ranges,
    one_range,
    record_count,
    record_range,
    union,
    within,
    without,
)

PARTITION_KEY = ("scenario_id", "partition_id")
_INPUT_IDS = ("world_id", "feed_id")
_PARTITION_IDS = (*PARTITION_KEY, *_INPUT_IDS)
_PARTITION_VALUES = (
    "leader",
    "leader_epoch",
    "isr",
    "elr",
    "elections",
    "unclean_elections",
    "leaderless_rounds",
    "under_min_isr_rounds",
    "under_replicated_rounds",
    "unwritable_rounds",
    "unacked_rounds",
    "isr_shrinks",
    "isr_expands",
)
_REPLICA_COUNTERS = ("appended", "truncated", "replicated_bytes", "refused")

_LISTS = (
    "IF(feed.storage.by_list, tier_counts.listing_rounds DIV feed.storage.task_rounds"
    " + IF(feed.storage.from_leader, 0L, tier_counts.aux_state_requests), 0L)"
)
_TIER_COUNTERS = {
    "local_deleted_bytes": "local_deleted_bytes",
    **{name: f"tier_counts.{name}" for name in TIER_COUNTERS if name != "listing_rounds"},
    "remote_list_requests": _LISTS,
}

_LAST_ACKED = (
    "IF(acked_to > acked_from, concat(acked_ranges, array(named_struct('from_offset', acked_from, 'to_offset',"
    " acked_to))), acked_ranges)"
)
_REACHED = f"concat(leadership_ends, array(named_struct('start_offset', lead_start, 'hw', lead_hw, 'acked', {_LAST_ACKED})))"
_DELETIONS = (
    f"transform(filter(events, e -> e.kind IN ({EVENT_KINDS.index('records_deleted')}, {EVENT_KINDS.index('local_delete')})"
    " AND e.leader_epoch = x.epoch), e -> named_struct('round', e.round, 'to_offset', e.to_offset))"
)
_LEADERSHIPS = (
    "CASE WHEN size(leaderships) > 0 THEN transform(leaderships, (x, i) -> named_struct('epoch', x.epoch, 'round',"
    " x.round, 'slot', slot, 'cause', IF(x.cause >= 0, x.cause, null), 'unclean', x.unclean, 'runs', x.runs, 'leo', x.leo,"
    f" 'log_start_offset', x.log_start_offset, 'local_start', x.local_start, 'deletions', {_DELETIONS},"
    " 'acked_before', x.acked_before, 'entries', x.entries, 'start_offset', get(reached, i).start_offset,"
    " 'hw', get(reached, i).hw, 'acked', get(reached, i).acked)) END"
)
_DAMAGED = EVENT_KINDS.index("log_damaged")
_FIRST_DAMAGE = f"array_min(transform(filter(events, e -> e.kind = {_DAMAGED}), e -> e.round))"
# Eligible leader replicas keep what is committed as long as fewer than min.insync.replicas of them lose records.
_TOLERATED_DAMAGES = f"IF(feed.elr, {min_isr()}, 1)"
# Most partitions still have the leadership they started with: no need to gather those.
_MAY_HAVE_LED_WITH_OTHERS = (
    "size(leaderships) > 0 AND NOT (get(leaderships, 0).round < 0 AND get(leaderships, 0).epoch = client_epoch)"
)
_LAST_LEADER_LOG = (
    "CASE WHEN slot = IF(leader >= 0, leader, client_leader) THEN named_struct('leo', leo, 'hw', hw,"
    " 'log_start_offset', log_start_offset, 'entries', log) END"
)


def partition_accounts(state: DataFrame) -> DataFrame:
    """One row per partition: its counters, its last leader's log, and its leaderships.

    Columns: scenario_id, partition_id, world_id, feed_id, leader (slot), leader_epoch, isr and elr (masks), the counters of
    `outcomes` but those of losses, `acked` (records appended in this run, not those of the initial log), `last` (struct
    of leo, hw, log_start_offset, entries: the log of the leader, or of the last one; null without one), `leaderships`
    (by epoch) and `histories`: null where nothing can be lost, else array<struct<epoch, round, slot, cause, unclean, runs, hw,
    log_start_offset, begin, held, acked, committed, acked_for_all>>, the latter five RANGES, not always disjoint: the log
    it began with, that and all it acknowledged or committed of its own, what it acknowledged, what was committed under
    it, and what of that it appended itself.
    """
    groups = state.withColumn("reached", F.expr(_REACHED)).groupBy(*PARTITION_KEY)
    accounts = groups.agg(
        *(F.max(name).alias(name) for name in _INPUT_IDS + _PARTITION_VALUES),
        *(F.sum(name).alias(name) for name in _REPLICA_COUNTERS),
        *(F.expr(f"coalesce(sum({path}), 0L) AS {name}") for name, path in _TIER_COUNTERS.items()),
        F.first(F.expr(_LAST_LEADER_LOG), ignorenulls=True).alias("last"),
        _leaderships_by_epoch(),
    )
    return accounts.withColumns(
        {
            "acked": _sum_of(F.col("leaderships"), _acked_in_run),
            "histories": F.when(_is_at_risk(), _histories()),
        }
    )


def with_losses(accounts: DataFrame) -> DataFrame:
    """Add `acked_lost` and `committed_lost`: records at or above the last leader's log start that its log lacks."""
    last = F.col("last")
    final = log_ranges(last["entries"], last["log_start_offset"], last["leo"])
    held = accounts.withColumn("final_log", F.when(F.col("histories").isNotNull(), final))

    def lost(kind: str) -> Column:
        known = union(F.flatten(F.transform("histories", lambda x: x[kind])))
        missing = without(above(known, last["log_start_offset"]), F.col("final_log"))
        return F.coalesce(record_count(missing), F.lit(0).cast("bigint"))

    return held.withColumns({"acked_lost": lost("acked"), "committed_lost": lost("committed")}).drop("final_log")


def losses_at_elections(state: DataFrame) -> DataFrame:
    """What each election lost: records that the leader before had in its log and the new one did not begin with.

    One row per contiguous range: scenario_id, partition_id, world_id, feed_id, round (of the election), kind, slot (of the
    new leader), leader_epoch (of the records), from_offset, to_offset, cause; elected_epoch, unclean (the election),
    unclean_before (one before it), reached_hw (high watermark that the new leader reached), damaged_replicas (replicas
    that had lost records to a fault by then), tolerated_damages (as many must have before a committed one may be lost).
    Kinds: acked_lost and committed_lost; committed_missing and acked_missing are records that any earlier leader had
    committed, or acknowledged for acks=all, and a leader lacks that runs when it is elected: what invariants are about.
    Records below the new leader's log start count as deleted. What a leader lost by damage counts at the next election, also
    when it is elected again.
    """
    rows = state.filter(f"({_MAY_HAVE_LED_WITH_OTHERS}) OR {_FIRST_DAMAGE} IS NOT NULL")
    partitions = (
        rows.withColumn("reached", F.expr(_REACHED))
        .groupBy(*PARTITION_KEY)
        .agg(
            *(F.max(name).alias(name) for name in _INPUT_IDS),
            F.collect_list(F.expr(_FIRST_DAMAGE)).alias("damages"),
            F.max(F.expr(_TOLERATED_DAMAGES)).alias("tolerated_damages"),
            _leaderships_by_epoch(),
        )
    )
    histories = partitions.filter("size(leaderships) > 1").withColumn("histories", _histories())
    elections = (
        histories.select(
            *_PARTITION_IDS,
            "histories",
            "damages",
            "tolerated_damages",
            F.expr("explode(sequence(1, size(histories) - 1)) AS election"),
        )
        .withColumns(_gone_and_missing())
        .filter("size(gone) > 0 OR size(missing) > 0")
    )
    losses = elections.select(*_PARTITION_IDS, *_losses_of_election(), "tolerated_damages")
    return losses.select(
        *_PARTITION_IDS,
        *("round", "loss.kind", "slot"),
        F.col("loss.records.epoch").alias("leader_epoch"),
        *("loss.records.from_offset", "loss.records.to_offset"),
        *("cause", "elected_epoch", "unclean", "unclean_before", "reached_hw", "damaged_replicas"),
        "tolerated_damages",
    )


# Cached: built of Columns, each of which costs the driver calls of Java.
@cache
def _gone_and_missing() -> dict[str, Column]:
    """What the leader before had and the new one did not begin with, and what any one before had committed, likewise."""
    before, after = F.get("histories", F.col("election") - 1), _elected()
    deleted = F.filter(before["deletions"], lambda d: d["round"] < after["round"])
    deleted_to = F.coalesce(F.array_max(F.transform(deleted, lambda d: d["to_offset"])), F.lit(0))
    committed = F.flatten(F.transform(_earlier(), lambda x: x["committed"]))
    missing = above(without(committed, after["begin"]), after["log_start_offset"])
    return {
        "gone": above(without(above(before["held"], deleted_to), after["begin"]), after["log_start_offset"]),
        "missing": F.when(after["runs"], missing).otherwise(no_ranges()),
    }


@cache
def _losses_of_election() -> tuple[Column, ...]:
    """What is told of an election, and `loss`, a row for each range of records."""
    after, earlier = _elected(), _earlier()

    def among(what: str, kind: str, name: str) -> Column:
        known = F.flatten(F.transform(earlier, lambda x: x[kind]))
        return F.transform(union(within(known, F.col(what))), lambda x: F.struct(F.lit(name).alias("kind"), x.alias("records")))

    lost = [among("gone", kind, f"{kind}_lost") for kind in ("acked", "committed")]
    lacked = [among("missing", "committed", "committed_missing"), among("missing", "acked_for_all", "acked_missing")]
    return (
        *(after[name].alias(name) for name in ("round", "slot", "cause", "unclean")),
        after["epoch"].alias("elected_epoch"),
        after["hw"].alias("reached_hw"),
        F.exists(earlier, lambda x: x["unclean"]).alias("unclean_before"),
        F.size(F.filter("damages", lambda d: d <= after["round"])).alias("damaged_replicas"),
        F.explode(F.concat(*lost, *lacked)).alias("loss"),
    )


def _elected() -> Column:
    return F.get("histories", F.col("election"))


def _earlier() -> Column:
    """The leaderships before the election."""
    return F.slice("histories", F.lit(1), F.col("election"))


@cache
def _leaderships_by_epoch() -> Column:
    return F.array_sort(F.flatten(F.collect_list(F.expr(_LEADERSHIPS)))).alias("leaderships")


def _sum_of(items: Column, value: Callable[[Column], Column]) -> Column:
    return F.aggregate(items, F.lit(0).cast("bigint"), lambda sum_, x: sum_ + value(x))


def _acked_in_run(x: Column) -> Column:
    """Records a leadership acknowledged that were appended in this run: the initial log's lie below its LEO."""
    first = F.when(x["round"] < 0, F.greatest(x["start_offset"], x["leo"])).otherwise(x["start_offset"])
    below_hw = F.coalesce(F.greatest(x["hw"] - first, F.lit(0)), F.lit(0))
    return below_hw + _sum_of(x["acked"], lambda r: F.greatest(r["to_offset"] - F.greatest(r["from_offset"], x["hw"]), F.lit(0)))


@cache
def _is_at_risk() -> Column:
    """More than one leadership, or an only one that reached beyond the log that is left of it."""
    only = F.get("leaderships", 0)
    return (F.size("leaderships") > 1) | F.coalesce(_reach(only) > F.col("last")["leo"], F.lit(False))


def _reach(x: Column) -> Column:
    """End of all that a leadership acknowledged or committed."""
    return F.greatest(x["hw"], x["acked_before"], F.array_max(x["acked"]["to_offset"]))


@cache
def _histories() -> Column:
    return F.transform(_with_logs(F.col("leaderships")), _history)


def _with_logs(leaderships: Column) -> Column:
    """Leaderships with `begin`, the log each began with, and `own_from`, where its own records start (null: none)."""

    def with_log(x: Column) -> Column:
        own_from = F.when(x["start_offset"].isNotNull(), F.greatest(x["start_offset"], x["log_start_offset"]))
        begin = log_ranges(x["entries"], x["log_start_offset"], x["leo"])
        return x.withField("begin", begin).withField("own_from", own_from)

    return F.transform(leaderships, with_log)


def _history(x: Column) -> Column:
    def own(to_offset: Column) -> Column:
        return one_range(x["epoch"], x["own_from"], to_offset)

    on_append = F.transform(x["acked"], lambda r: record_range(x["epoch"], r["from_offset"], r["to_offset"]))
    return F.struct(
        *(
            x[name].alias(name)
            for name in ("epoch", "round", "slot", "cause", "unclean", "runs", "hw", "log_start_offset", "begin")
        ),
        x["deletions"].alias("deletions"),
        above(F.concat(x["begin"], own(_reach(x))), x["local_start"]).alias("held"),
        union(F.concat(below(x["begin"], x["acked_before"]), own(x["hw"]), on_append)).alias("acked"),
        F.concat(below(x["begin"], x["hw"]), own(x["hw"])).alias("committed"),
        own(x["hw"]).alias("acked_for_all"),
    )
