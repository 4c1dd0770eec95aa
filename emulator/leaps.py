"""Leaps: rounds in which nothing happens are not run but multiplied.

A partition has its own clock, the column `round`. One iteration runs one round of every partition, and then looks at what it
did. If no column but counters changed, and each counter moved by some amount, its drift, then the partition leaps: h rounds at
once add h times the drift. The round after a leap is a probe: it has to move every counter by the same drift and to change
nothing else. Guards compare values that are linear along the way, so what they say at both ends they say in between. A probe that
fails takes the partition back to where it leapt from, with a smaller leap.

h ends before the next change of any input, before the horizon that the protocol's own rules see (protocols.LEAP_HORIZONS: ticks
of a period, and guards whose distance is known), and never after `stop`, up to where the inputs are attached. A partition whose
clock has reached `stop` stays as it is.

Nothing here knows a protocol's rules: which columns are counters (COUNTERS), which sample a counter by a period (SAMPLES),
stands in emulator/schema.py; only the byte counters that time buckets cut are known by name. All rows of a partition decide
alike, by one look at the partition.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from emulator.outcomes.broker_rounds import BUCKETS_TYPE, bucket_entries
from emulator.rounds.columns import PACKED_COLUMNS, PATHS, Step, built_once
from emulator.schema import CONSTANTS, COUNTERS, COUNTERS_OF_ROUNDS, SAMPLES, STATE_GROUPS

SHRINKS_BY = 8
"""A leap whose probe failed is tried again so many times shorter."""

_DRIFT = ", ".join(f"{name}: BIGINT" for name in (*COUNTERS, *SAMPLES))
_SAMPLED = ", ".join(f"{name}: BIGINT" for name in SAMPLES)
LEAP_TYPE = f"STRUCT<rounds: INT, fence: INT, drift: STRUCT<{_DRIFT}>, sampled: STRUCT<{_SAMPLED}>>"
"""The leap just made, whose probe comes next: how far (0: none), the round in which an earlier probe failed (null: none), its
drift, and the samples before it."""

LEAP_COLUMNS = {
    "leap": LEAP_TYPE,
    "stop": "INT",
    "ends": "INT",
    "buckets": BUCKETS_TYPE,
}
"""Columns beside the state's: the leap; the round up to which inputs are attached; the rounds of the scenario; finished time
buckets of broker_rounds not yet collected."""

NO_LEAP = {"leap": f"CAST(null AS {LEAP_COLUMNS['leap']})", "buckets": f"CAST(array() AS {LEAP_COLUMNS['buckets']})"}
"""SQL of the leap and the buckets of a partition that has not leapt yet."""

_COMPARED = [name for name in PACKED_COLUMNS if name not in (*CONSTANTS, "round", "trace")]
"""Columns that decide whether a round was quiet: all but what comes from outside, the clock and what is only recorded."""


def with_leaps(
    state: DataFrame, one_round: Callable[[DataFrame], DataFrame], horizon: str, bucket_rounds: int, tracing: bool
) -> DataFrame:
    """One iteration: a round, then for every partition a leap, a step back, or neither.

    `state`: the packed state with its attached changes and LEAP_COLUMNS. `horizon`: SQL of the first round that must be run.
    """
    played = one_round(state.withColumns(_remember(tracing))).withColumns(_look()).withColumns(_horizon(horizon))
    partition = Window.partitionBy("scenario_id", "partition_id")
    seen = {
        "quiet": F.min("row_quiet").over(partition),
        "steady": F.min("row_steady").over(partition),
        "horizon": F.min("row_horizon").over(partition),
    }
    return played.withColumns(seen).withColumns(_decide(bucket_rounds)).withColumns(_move(bucket_rounds, tracing))


def _was(name: str) -> str:
    return f"was.{PATHS.get(name, name)}"


@built_once
def _remember(tracing: bool) -> Step:
    kept = [*_COMPARED, "round", *(["trace"] if tracing else [])]
    return {"was": "named_struct(" + ", ".join(f"'{name}', {name}" for name in kept) + ")"}


@built_once
def _look() -> Step:
    """Whether the row's round was quiet, and its drift."""
    special = {*COUNTERS, *SAMPLES}
    alike = []
    for name in _COMPARED:
        if name in STATE_GROUPS and special & set(STATE_GROUPS[name]):
            alike += [f"{field} <=> {_was(field)}" for field in STATE_GROUPS[name] if field not in special]
        elif name not in special:
            alike.append(f"{name} <=> was.{name}")
    # A count of rounds moves by one at most; more (heard for the first time, say) is a change.
    alike += [f"abs({name} - {_was(name)}) <= 1" for name in COUNTERS_OF_ROUNDS]
    alike += [f"({name} IS NULL) = ({_was(name)} IS NULL)" for name in COUNTERS]
    drift = {name: f"CAST({name} - {_was(name)} AS BIGINT)" for name in COUNTERS}
    for name, (counter, period) in SAMPLES.items():
        sampled = f"IF({period} > 0 AND (round - 1) % greatest({period}, 1) = 0, {counter}, {_was(name)})"
        drift[name] = f"{name} - {sampled}"
    return {
        "row_quiet": f"IF({' AND '.join(alike)}, 1, 0)",
        "drift": "named_struct(" + ", ".join(f"'{name}', {text}" for name, text in drift.items()) + ")",
    }


@built_once
def _horizon(horizon: str) -> Step:
    changes = ", ".join(f"coalesce(get({kind}_changes, {kind}_next).from_round, stop)" for kind in ("world", "feed"))
    return {
        "row_horizon": f"CAST(IF(traced, round, least({horizon}, {changes}, stop)) AS INT)",
        "row_steady": "IF(drift <=> leap.drift, 1, 0)",
    }


@built_once
def _decide(bucket_rounds: int) -> Step:
    """`jump`: which state to go on from (`back`: the one before this round), and by how many rounds of which drift to move it.

    `by`: rounds from that state's clock; below 0 it takes back the leap that led there. `ahead`: the leap now made.
    """
    leapt = "coalesce(leap.rounds, 0)"
    stays = "was.round >= stop"
    fails = f"({leapt} > 0 AND NOT (quiet = 1 AND steady = 1))"
    fence = "IF(leap.fence >= round, leap.fence, null)"
    edge = f"(round DIV {bucket_rounds} + 1) * {bucket_rounds}"
    room = f"least(horizon, {edge}, ends) - 1 - round"
    ahead = f"IF(quiet = 1, greatest(least({room}, coalesce(({fence} - round) DIV 2, {room})), 0), 0)"
    shorter = f"{leapt} DIV {SHRINKS_BY}"

    def jump(back: str, by: str, made: str, limit: str, drift: str, sampled: str) -> str:
        return (
            f"named_struct('back', {back}, 'by', CAST({by} AS INT), 'leap', named_struct('rounds', CAST({made} AS INT),"
            f" 'fence', CAST({limit} AS INT), 'drift', {drift}, 'sampled', {sampled}))"
        )

    sampled = "named_struct(" + ", ".join(f"'{name}', {name}" for name in SAMPLES) + ")"
    return {
        "jump": (
            f"CASE WHEN {stays} THEN named_struct('back', true, 'by', 0, 'leap', leap)"
            f" WHEN {fails} THEN {jump('true', f'{shorter} - {leapt}', shorter, 'was.round', 'leap.drift', 'leap.sampled')}"
            f" ELSE {jump('false', ahead, ahead, fence, 'drift', sampled)} END"
        )
    }


@built_once
def _move(bucket_rounds: int, tracing: bool) -> Step:
    at_edge = f"NOT jump.back AND (round % {bucket_rounds} = 0 OR round = ends)"
    moved: Step = {}
    for name in (*COUNTERS, *SAMPLES):
        value = f"IF(jump.back, {_was(name)}, {name})"
        if name in ("produced_bytes", "served_bytes"):
            value = f"IF({at_edge}, 0L, {value})"
        text = f"{value} + coalesce(jump.by * jump.leap.drift.{name}, 0L)"
        moved[name] = f"CAST({text} AS INT)" if name in COUNTERS_OF_ROUNDS else text
    for name, (counter, period) in SAMPLES.items():
        moved[name] = _sample(name, counter, period)
    step: Step = {"round": "IF(jump.back, was.round, round) + jump.by", "leap": "jump.leap"}
    for name in _COMPARED:
        if name in COUNTERS:
            step[name] = moved[name]
        elif name in STATE_GROUPS and set(moved) & set(STATE_GROUPS[name]):
            fields = (f"'{f}', {moved.get(f) or f'IF(jump.back, {_was(f)}, {f})'}" for f in STATE_GROUPS[name])
            step[name] = "named_struct(" + ", ".join(fields) + ")"
        else:
            step[name] = f"IF(jump.back, was.{name}, {name})"
    if tracing:
        step["trace"] = "IF(jump.back, was.trace, trace)"
    step["served"] = f"IF({at_edge}, filter(served, x -> false), {step['served']})"
    step["buckets"] = f"IF({at_edge}, {bucket_entries('buckets', 'round')}, buckets)"
    return step


def _sample(name: str, counter: str, period: str) -> str:
    """A sample after the leap: the counter as it was at the end of the last tick within, else what it was before."""
    start = "IF(jump.back, was.round - leap.rounds, round)"
    tick = f"(({start} + jump.leap.rounds - 1) DIV greatest({period}, 1) * {period})"
    since = f"({tick} - {start} + 1 - IF(jump.back, leap.rounds, 0))"
    at_end = f"IF(jump.back, {_was(counter)}, {counter}) + jump.leap.drift.{counter} * {since}"
    before = f"IF(jump.back, IF(jump.by = 0, {_was(name)}, jump.leap.sampled.{name}), {name})"
    held = f"{before} + IF(jump.by = 0, 0L, jump.leap.rounds * jump.leap.drift.{name})"
    return f"IF(jump.by != 0 AND jump.leap.rounds > 0 AND {period} > 0 AND {tick} >= {start}, {at_end}, {held})"
