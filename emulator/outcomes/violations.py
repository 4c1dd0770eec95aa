"""The table of violated invariants: those seen while the run went on, at its elections, and at its end."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from emulator.arrow_frames import frame_of
from emulator.expressions.columns import texts
from emulator.expressions.kafka.count_outcomes import EVENT_KINDS
from emulator.expressions.kafka.invariants import AT_ELECTIONS, AT_THE_END, EVERY_ROUND, INVARIANTS, OF_TIERS, Invariant
from emulator.inputs import ScenarioInputs

_IDS = ("scenario_id", "partition_id", "world_id", "feed_id")
SETTLING_ROUNDS = 10
"""Rounds that a partition may take beyond its timeouts until it has settled after the last fault."""

_STRONG_ISR = [i.name for i in EVERY_ROUND].index("StrongIsr")
_EXCUSED = (
    f"(v.invariant = {_STRONG_ISR} AND NOT feed.elr AND coalesce(first_damage <= v.round, false)"
    " AND coalesce(get(v.epochs, size(v.epochs) - 1).epoch > v.leader_epoch, true))"
)
"""Without eligible leader replicas one replica that lost records may lead: what a superseded leader then has alone, or what an
empty log lacks, is the fault's doing."""

_SETTLED = f"round - quiet_from >= session_timeout_rounds + 2 * feed.lag_rounds + {SETTLING_ROUNDS}"


def violation_rows(spark: SparkSession, state: DataFrame, losses: DataFrame, inputs: list[ScenarioInputs]) -> DataFrame:
    """Every violation of a run: _IDS, round, invariant, cause, and `slots` and `words` to tell its witness with.

    `losses`: what accounting.losses_at_elections gives. A witness is its words with the brokers of its slots put in:
    `format_words`.
    """
    last_faults = F.broadcast(frame_of(spark, _last_faults(inputs)))
    end = state.join(last_faults, "scenario_id").withColumn("settled", F.expr(_SETTLED))
    return _while_running(state).unionByName(_at_elections(losses)).unionByName(_at_the_end(end))


def format_words() -> Column:
    """The witness of rows with `words`, `slots` and `brokers` (by slot): each %s is the next slot's broker."""
    return F.expr("aggregate(slots, words, (text, s) -> regexp_replace(text, '^(.*?)%s', concat('$1', get(brokers, s))))")


def invariant_rows() -> list[tuple[str, str, str, str, str]]:
    """The invariants as rows: name, what it says, the predicate that finds a violation, when it is looked at, source."""
    looks = ((EVERY_ROUND + OF_TIERS, "every round"), (AT_ELECTIONS, "elections"), (AT_THE_END, "end"))
    return [(i.name, i.says, i.violated, when, i.source) for group, when in looks for i in group]


def _while_running(state: DataFrame) -> DataFrame:
    names = texts(i.name for i in EVERY_ROUND + OF_TIERS)
    damage = f"array_min(transform(filter(events, e -> e.kind = {EVENT_KINDS.index('log_damaged')}), e -> e.round))"
    first_damage = F.min(F.expr(damage)).over(Window.partitionBy("scenario_id", "partition_id"))
    found = state.withColumn("first_damage", first_damage).filter("size(violations) > 0")
    found = found.select(*_IDS, "slot", "feed", "first_damage", F.explode("violations").alias("v"))
    return found.where(f"NOT {_EXCUSED}").select(
        *_IDS,
        "v.round",
        F.expr(f"element_at({names}, v.invariant + 1) AS invariant"),
        F.expr("IF(v.cause >= 0, v.cause, null) AS cause"),
        F.expr("array(slot, v.leader) AS slots"),
        F.expr(
            f"concat('broker %s: LEO ', v.leo, ', HW ', v.hw, ', epochs ', {_epochs('v.epochs')},"
            " '; leader %s of epoch ', v.leader_epoch, ': LEO ', v.leader_leo, ', HW ', v.leader_hw, ', epochs ',"
            f" {_epochs('v.leader_epochs')}, '; alike below ', v.agreed_to) AS words"
        ),
    )


def _epochs(entries: str) -> str:
    """[[epoch, start offset], ...] as text."""
    return f"concat('[', concat_ws(', ', transform({entries}, x -> concat('[', x.epoch, ', ', x.start_offset, ']'))), ']')"


def _at_elections(losses: DataFrame) -> DataFrame:
    words = (
        "concat('broker %s, elected in epoch ', elected_epoch, ', lacks offsets ', from_offset, ' to ', to_offset - 1,"
        " ' of epoch ', leader_epoch) AS words"
    )
    return losses.withColumn("broken", _broken(AT_ELECTIONS)).select(
        *_IDS, "round", F.explode("broken").alias("invariant"), "cause", F.expr("array(slot) AS slots"), F.expr(words)
    )


def _at_the_end(state: DataFrame) -> DataFrame:
    words = (
        "concat('broker %s in round ', round - 1, ': LEO ', leo, ', last heard in round ', fetched_round, '; leader ',"
        " IF(leader >= 0, '%s', 'none'), ' in epoch ', leader_epoch, ', HW ', leader_hw) AS words"
    )
    return (
        state.where("NOT coalesce(is_deleted, false)")
        .withColumn("broken", _broken(AT_THE_END))
        .select(
            *_IDS,
            F.expr("round - 1 AS round"),
            F.explode("broken").alias("invariant"),
            F.expr("CAST(null AS INT) AS cause"),
            F.expr("IF(leader >= 0, array(slot, leader), array(slot)) AS slots"),
            F.expr(words),
        )
    )


def _broken(invariants: tuple[Invariant, ...]) -> Column:
    """The names of those that are violated."""
    names = ", ".join(f"IF({i.violated}, '{i.name}', null)" for i in invariants)
    return F.expr(f"filter(array({names}), n -> n IS NOT NULL)")


def _last_faults(inputs: list[ScenarioInputs]) -> pa.Table:
    """By scenario: `quiet_from`, the first round after the last fault and command, and `session_timeout_rounds`."""
    quiet_from = []
    for scenario in (i.scenario for i in inputs):
        ends = [scenario.rounds if end is None else end for end in scenario.faults.column("to_round").to_pylist()]
        quiet_from.append(max([0, *ends, *(command.round + 1 for command in scenario.commands)]))
    return pa.table(
        {
            "scenario_id": pa.array([i.scenario.scenario_id for i in inputs], pa.int32()),
            "quiet_from": pa.array(quiet_from, pa.int32()),
            "session_timeout_rounds": pa.array([i.scenario.session_timeout_rounds for i in inputs], pa.int32()),
        }
    )


assert len({i.name for i in INVARIANTS}) == len(INVARIANTS)
