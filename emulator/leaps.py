"""Leaps: rounds in which nothing happens are not run but multiplied.

A partition has its own clock, the column `round`. One iteration runs one round of every partition, and then looks at what it
did. If no column but counters changed, and each counter moved by some amount, its drift, then the partition leaps: h rounds at
once add h times the drift. The round after a leap is a probe: it has to move every counter by the same drift and to change
nothing else. Guards compare values that are linear along the way, so what they say at both ends they say in between. A probe that
fails takes the partition back to where it leapt from, with a smaller leap.

h ends before the next change of any input, before the horizon that the protocol's own rules see (protocols.System: ticks
of a period, and guards whose distance is known), and never after `stop`, up to where the inputs are attached. A partition whose
clock has reached `stop` stays as it is.

Some changes disturb nothing that leaps rely on (state_schema.Calm: what a remote log manager notes, a segment that is rolled
or deleted): a round that makes no others counts as quiet. Where such a change is foreseen a leap ends in that very round, which
is the probe, and the next leap begins with it.

Nothing here knows a protocol's rules: which columns are counters (`counters`), which sample a counter by a period (`samples`),
and which add one up round by round (`sums`), stands in the system's StateSchema; only the byte counters that time buckets cut are
known by name. All rows of a partition decide alike, by one look at the partition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from emulator.expressions.columns import Step, columns_of, let
from emulator.outcomes.broker_rounds import BUCKETS_TYPE, bucket_entries
from emulator.state_schema import LARGEST_SUM, Calm, NestedCounters, StateSchema

SHRINKS_BY = 8
"""A leap whose probe failed is tried again so many times shorter."""

LEAP_COLUMNS = ("leap", "stop", "ends", "buckets")
"""Columns beside the state's: the leap; the round up to which inputs are attached; the rounds of the scenario; finished time
buckets of broker_rounds not yet collected."""


def leap_type(schema: StateSchema) -> str:
    """The leap just made, whose probe comes next: how far (0: none), the round in which an earlier probe failed (null: none), its
    drift, and the samples before it.
    """
    kinds = [f"{name}: BIGINT" for name in (*schema.counters, *schema.samples)]
    drift = ", ".join([*kinds, *(f"{name}: {kind}" for name, kind in schema.nested_drifts.items())])
    sampled = ", ".join(f"{name}: BIGINT" for name in schema.samples) or "none: INT"
    return f"STRUCT<rounds: INT, fence: INT, drift: STRUCT<{drift}>, sampled: STRUCT<{sampled}>>"


def no_leap(schema: StateSchema) -> Step:
    """SQL of the leap and the buckets of a partition that has not leapt yet."""
    return {"leap": f"CAST(null AS {leap_type(schema)})", "buckets": f"CAST(array() AS {BUCKETS_TYPE})"}


def _compared(schema: StateSchema) -> list[str]:
    """Columns that decide whether a round was quiet: all but what comes from outside, the clock and what is only recorded."""
    return [name for name in schema.packed_columns if name not in (*schema.constants, "round", "trace")]


def with_leaps(
    state: DataFrame,
    one_round: Callable[[DataFrame], DataFrame],
    horizon: str,
    bucket_rounds: int,
    tracing: bool,
    schema: StateSchema,
    nested: Mapping[str, NestedCounters],
    calm: Calm,
) -> DataFrame:
    """One iteration: a round, then for every partition a leap, a step back, or neither.

    `state`: the packed state with its attached changes and LEAP_COLUMNS. `horizon`: SQL of the first round that must be run.
    `nested`: the columns whose nested counters move in the run. `calm`: changes over which leaps go on.
    """

    def columns(step: Step) -> dict[str, Column]:
        return columns_of(step, schema)

    played = one_round(state.withColumns(columns(_remember(tracing, schema))))
    played = played.withColumns(columns(_look(schema, nested, calm))).withColumns(columns(_horizon(horizon, calm)))
    partition = Window.partitionBy("scenario_id", "partition_id")
    seen = {
        "quiet": F.min("row_quiet").over(partition),
        "steady": F.min("row_steady").over(partition),
        "horizon": F.min("row_horizon").over(partition),
        "calm_horizon": F.min("row_calm_horizon").over(partition),
    }
    played = played.withColumns(seen).withColumns(columns(_decide(bucket_rounds, schema)))
    return played.withColumns(columns(_move(bucket_rounds, tracing, schema, nested)))


def _was(name: str, schema: StateSchema) -> str:
    return f"was.{schema.paths.get(name, name)}"


def _remember(tracing: bool, schema: StateSchema) -> Step:
    kept = [*_compared(schema), "round", *(["trace"] if tracing else [])]
    return {"was": "named_struct(" + ", ".join(f"'{name}', {name}" for name in kept) + ")"}


def _look(schema: StateSchema, nested: Mapping[str, NestedCounters], calm: Calm) -> Step:
    """Whether the row's round was quiet, and its drift."""
    special = {*schema.counters, *schema.samples, *schema.sums, *nested}
    alike: list[str] = []
    undisturbed: list[str] = []
    for name in _compared(schema):
        fields = schema.groups.get(name, (name,))
        if name in schema.groups and not (special | {*calm.columns}) & {*fields}:
            fields = (name,)
        for field in fields:
            if field not in special:
                (undisturbed if field in calm.columns else alike).append(f"{field} <=> {_was(field, schema)}")
    # A count of rounds moves by one at most; more (heard for the first time, say) is a change.
    alike += [f"abs({name} - {_was(name, schema)}) <= 1" for name in schema.counters_of_rounds]
    alike += [f"({name} IS NULL) = ({_was(name, schema)} IS NULL)" for name in schema.counters]
    drift = {name: f"CAST({name} - {_was(name, schema)} AS BIGINT)" for name in schema.counters}
    for name, (counter, period) in schema.samples.items():
        sampled = f"IF({period} > 0 AND (round - 1) % greatest({period}, 1) = 0, {counter}, {_was(name, schema)})"
        drift[name] = f"{name} - {sampled}"
    for name, kind in schema.nested_drifts.items():
        drift[name] = f"CAST(null AS {kind})"
    for name, (mark, as_counter) in schema.resets.items():
        jumps = f"NOT {mark} <=> {_was(mark, schema)}"
        drift[name] = f"IF({jumps}, {'0L' if as_counter is None else drift[as_counter]}, {drift[name]})"
    for name, of_name in nested.items():
        (undisturbed if name in calm.columns else alike).append(of_name.alike(name, _was(name, schema)))
        drift[name] = of_name.drift(name, _was(name, schema))
    if undisturbed:
        alike.append(f"(({' AND '.join(undisturbed)}) OR coalesce({calm.condition}, false))")
    return {
        "row_quiet": f"IF({' AND '.join(alike)}, 1, 0)",
        "drift": "named_struct(" + ", ".join(f"'{name}', {text}" for name, text in drift.items()) + ")",
    }


def _horizon(horizon: str, calm: Calm) -> Step:
    changes = ", ".join(f"coalesce(get({kind}_changes, {kind}_next).from_round, stop)" for kind in ("world", "feed"))
    return {
        "row_horizon": f"CAST(IF(traced, round, least({horizon}, {changes}, stop)) AS INT)",
        "row_calm_horizon": f"CAST(least({calm.horizon}, {2**31 - 1}L) AS INT)",
        "row_steady": "IF(drift <=> leap.drift, 1, 0)",
    }


def _decide(bucket_rounds: int, schema: StateSchema) -> Step:
    """`jump`: which state to go on from (`back`: the one before this round), and by how many rounds of which drift to move it.

    `by`: rounds from that state's clock; below 0 it takes back the leap that led there. `ahead`: the leap now made.
    """
    leapt = "coalesce(leap.rounds, 0)"
    stays = "was.round >= stop"
    fails = f"({leapt} > 0 AND NOT (quiet = 1 AND steady = 1))"
    fence = "IF(leap.fence >= round, leap.fence, null)"
    edge = f"(round DIV {bucket_rounds} + 1) * {bucket_rounds}"
    room = f"least(calm_horizon, least(horizon, {edge}, ends) - 1) - round"
    ahead = f"IF(quiet = 1, greatest(least({room}, coalesce(({fence} - round) DIV 2, {room})), 0), 0)"
    shorter = f"{leapt} DIV {SHRINKS_BY}"

    def jump(back: str, by: str, made: str, limit: str, drift: str, sampled: str) -> str:
        return (
            f"named_struct('back', {back}, 'by', CAST({by} AS INT), 'leap', named_struct('rounds', CAST({made} AS INT),"
            f" 'fence', CAST({limit} AS INT), 'drift', {drift}, 'sampled', {sampled}))"
        )

    sampled = "named_struct(" + (", ".join(f"'{name}', {name}" for name in schema.samples) or "'none', 0") + ")"
    return {
        "jump": (
            f"CASE WHEN {stays} THEN named_struct('back', true, 'by', 0, 'leap', leap)"
            f" WHEN {fails} THEN {jump('true', f'{shorter} - {leapt}', shorter, 'was.round', 'leap.drift', 'leap.sampled')}"
            f" ELSE {jump('false', ahead, ahead, fence, 'drift', sampled)} END"
        )
    }


def _move(bucket_rounds: int, tracing: bool, schema: StateSchema, nested: Mapping[str, NestedCounters]) -> Step:
    at_edge = f"NOT jump.back AND (round % {bucket_rounds} = 0 OR round = ends)"
    moved: Step = {}
    for name in (*schema.counters, *schema.samples):
        value = f"IF(jump.back, {_was(name, schema)}, {name})"
        if name in ("produced_bytes", "served_bytes"):
            value = f"IF({at_edge}, 0L, {value})"
        text = f"{value} + coalesce(jump.by * jump.leap.drift.{name}, 0L)"
        moved[name] = f"CAST({text} AS INT)" if name in schema.counters_of_rounds else text
    for name, (counter, period) in schema.samples.items():
        moved[name] = _sample(name, counter, period, schema)
    for name, counter in schema.sums.items():
        moved[name] = _sum(name, counter, schema)
    for name, of_name in nested.items():
        value = f"IF(jump.back, {_was(name, schema)}, {name})"
        moved[name] = let("n_", value, of_name.moved("n_", "jump.by", f"jump.leap.drift.{name}"))
    step: Step = {"round": "IF(jump.back, was.round, round) + jump.by", "leap": "jump.leap"}
    for name in _compared(schema):
        if name in (*schema.counters, *schema.sums):
            step[name] = moved[name]
        elif name in schema.groups and set(moved) & set(schema.groups[name]):
            fields = (f"'{f}', {moved.get(f) or f'IF(jump.back, {_was(f, schema)}, {f})'}" for f in schema.groups[name])
            step[name] = "named_struct(" + ", ".join(fields) + ")"
            if name in schema.optional_groups:
                step[name] = f"IF({schema.optional_groups[name]} IS NULL, {name}, {step[name]})"
        else:
            step[name] = f"IF(jump.back, was.{name}, {name})"
    if tracing:
        step["trace"] = "IF(jump.back, was.trace, trace)"
    if schema.has_buckets:
        step["served"] = f"IF({at_edge}, filter(served, x -> false), {step['served']})"
        step["buckets"] = f"IF({at_edge}, {bucket_entries('buckets', 'round')}, buckets)"
    return step


def _sum(name: str, counter: str, schema: StateSchema) -> str:
    """A sum after the leap: the counter moved by its drift in each of the rounds, which may be taken back, too."""
    value = f"IF(jump.back, {_was(name, schema)}, {name})"
    at = f"CAST(IF(jump.back, {_was(counter, schema)}, {counter}) AS DECIMAL(19, 0))"
    drift = f"CAST(jump.leap.drift.{counter} AS DECIMAL(19, 0))"
    by = "CAST(jump.by AS DECIMAL(12, 0))"
    total = f"({value} + {by} * {at} + {drift} * ({by} * ({by} + 1) / 2))"
    return f"IF(jump.by = 0, {value}, CAST(least({total}, {LARGEST_SUM}) AS BIGINT))"


def _sample(name: str, counter: str, period: str, schema: StateSchema) -> str:
    """A sample after the leap: the counter as it was at the end of the last tick within, else what it was before."""
    start = "IF(jump.back, was.round - leap.rounds, round)"
    tick = f"(({start} + jump.leap.rounds - 1) DIV greatest({period}, 1) * {period})"
    since = f"({tick} - {start} + 1 - IF(jump.back, leap.rounds, 0))"
    at_end = f"IF(jump.back, {_was(counter, schema)}, {counter}) + jump.leap.drift.{counter} * {since}"
    before = f"IF(jump.back, IF(jump.by = 0, {_was(name, schema)}, jump.leap.sampled.{name}), {name})"
    held = f"{before} + IF(jump.by = 0, 0L, jump.leap.rounds * jump.leap.drift.{name})"
    return f"IF(jump.by != 0 AND jump.leap.rounds > 0 AND {period} > 0 AND {tick} >= {start}, {at_end}, {held})"
