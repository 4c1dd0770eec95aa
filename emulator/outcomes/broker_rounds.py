"""What each broker carried in a time bucket, and how it stood at its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emulator.expressions.kafka.segments import LOCAL_BYTES
from emulator.expressions.log import bytes_at
from emulator.expressions.slots import mine
from emulator.inputs import ScenarioInputs
from emulator.outcomes.names import member_brokers
from emulator.schema import OUTPUT_TABLES

BUCKET_UNIT_ROUNDS = 25
"""Time buckets are whole multiples of so many rounds."""

_SUMS = ("bytes_in", "bytes_out", "leader_count", "follower_count", "local_bytes")

_BYTES_FROM_START = f"log_bytes - IF(log_start_offset > 0, {bytes_at('log', 'log_start_offset')}, 0L)"
DISK_BYTES = f"IF(segments IS NOT NULL, {LOCAL_BYTES}, {_BYTES_FROM_START})"
"""SQL: bytes of a replica's log on its own disk, whether its segments are kept or not."""

BUCKETS_TYPE = "ARRAY<STRUCT<to_round: INT, slot: INT, " + ", ".join(f"{name}: BIGINT" for name in _SUMS) + ">>"
"""What a replica's row keeps of time buckets that ended while it went on."""

_ADDED = (*_SUMS, "cross_rack_bytes_out")
# A row's entry at the slot of another broker is of what it fetched from there.
_CROSSES_RACKS = "coalesce(get(racks, at.slot) != get(racks, slot), false)"

BucketSums = dict[tuple[int, int, int], dict[str, int]]
"""(scenario_id, to_round, broker) -> the sums of its rows."""

SaturatedRounds = Callable[[int, int, int, int, Sequence[str]], int]
"""scenario_id, broker, from_round, to_round, kinds -> rounds in which one of its budgets of these kinds was used up."""


def bucket_length(rounds: int, time_buckets: int) -> int:
    """Rounds of a time bucket of broker_rounds: about that part of the run, in whole units; it does not depend on jobs."""
    return -(-max(-(-rounds // time_buckets), 1) // BUCKET_UNIT_ROUNDS) * BUCKET_UNIT_ROUNDS


def broker_bucket(
    spark: SparkSession,
    state: DataFrame,
    inputs: list[ScenarioInputs],
    from_round: int,
    to_round: int,
    of: list[ScenarioInputs] | None = None,
    saturated: SaturatedRounds | None = None,
) -> list[tuple[Any, ...]]:
    """The rows of `broker_rounds` for the bucket [from_round, to_round), in the order of its columns.

    `state`: as it is at the bucket's end, its byte counters set to 0 at its start. `inputs`: of all scenarios of the run; `of`:
    those whose rows are wanted, None for all. Every broker has a row. bytes_in:
    produced to and fetched by the broker; bytes_out: fetched from it; cross_rack_bytes_out: of these, by brokers of other
    racks. leader_count: partitions of which it is the
    controller's leader and running; follower_count: those it otherwise replicates while it runs. A scenario that ended
    before the bucket has no rows; one that ends in it cuts it short.
    """
    ends = F.lit(to_round).alias("round")
    buckets = state.select(*_KEPT, ends, F.expr(_carried()).alias("at")).withColumn("buckets", F.expr(_entries("at", "round")))
    return bucket_rows(of or inputs, _cut_short(bucket_sums(spark, buckets, inputs), inputs), from_round, to_round, saturated)


def bucket_entries(buckets: str, to_round: str) -> str:
    """SQL: finished buckets and the one that ends now, of BUCKETS_TYPE."""
    return f"concat({buckets}, {_entries(_carried(), to_round)})"


def bucket_sums(spark: SparkSession, state: DataFrame, inputs: list[ScenarioInputs]) -> BucketSums:
    """What the rows' finished `buckets` add up to: each row counts at up to a few brokers."""
    counted = state.select(*_KEPT, F.explode("buckets").alias("at"))
    by_broker = counted.join(F.broadcast(member_brokers(spark, inputs)), ["scenario_id", "partition_id"]).groupBy(
        "scenario_id", "at.to_round", F.expr("get(brokers, at.slot)").alias("broker")
    )
    values = {name: f"at.{name}" for name in _SUMS} | {"cross_rack_bytes_out": f"IF({_CROSSES_RACKS}, at.bytes_out, 0L)"}
    sums = by_broker.agg(*(F.sum(F.expr(f"members * {text}")).alias(name) for name, text in values.items())).collect()
    return {(r["scenario_id"], r["to_round"], r["broker"]): {name: r[name] for name in _ADDED} for r in sums}


def add_sums(total: BucketSums, more: BucketSums) -> None:
    """Add what other rows of the same buckets carried."""
    for key, values in more.items():
        known = total.setdefault(key, dict.fromkeys(_ADDED, 0))
        for name, value in values.items():
            known[name] += value


def sums_as_rows(sums: BucketSums) -> list[list[int]]:
    """The sums as lists of numbers, for a checkpoint."""
    return [[*key, *(values[name] for name in _ADDED)] for key, values in sums.items()]


def sums_from(rows: list[list[int]]) -> BucketSums:
    """What `sums_as_rows` gave."""
    return {(row[0], row[1], row[2]): dict(zip(_ADDED, row[3:], strict=True)) for row in rows}


def bucket_rows(
    inputs: list[ScenarioInputs], sums: BucketSums, from_round: int, to_round: int, saturated: SaturatedRounds | None = None
) -> list[tuple[Any, ...]]:
    """The rows of one bucket; a scenario that ends in it has its sums at its end."""
    rows = []
    for times in _broker_times(inputs, from_round, to_round):
        found = sums.get((times["scenario_id"], times["to_round"], times["broker"]))
        values = times | {name: 0 if found is None else found[name] for name in _ADDED}
        values |= _saturated(saturated, times)
        rows.append(tuple(values[name] for name in OUTPUT_TABLES["broker_rounds"].names))
    return rows


def _saturated(saturated: SaturatedRounds | None, times: dict[str, Any]) -> dict[str, int]:
    """In how many of the bucket's rounds which of the broker's budgets held fetches back."""
    if saturated is None:
        return dict.fromkeys(_SATURATED, 0)
    span = (times["scenario_id"], times["broker"], times["from_round"], times["to_round"])
    return {column: saturated(*span, kinds) for column, kinds in _SATURATED.items()}


_SATURATED = {
    "network_in_saturated_rounds": ("network_in",),
    "network_out_saturated_rounds": ("network_out",),
    "disk_saturated_rounds": ("disk",),
    "throttled_rounds": ("leader_throttle", "follower_throttle"),
}

_KEPT = ("scenario_id", "partition_id", "slot")


def _cut_short(sums: BucketSums, inputs: list[ScenarioInputs]) -> BucketSums:
    """The same, a scenario's bucket ending where the scenario does."""
    ends = {i.scenario.scenario_id: i.scenario.rounds for i in inputs}
    return {(s, min(to_round, ends[s]), broker): values for (s, to_round, broker), values in sums.items()}


def _entries(carried: str, to_round: str) -> str:
    fields = ", ".join(f"'{name}', x.{name}" for name in ("slot", *_SUMS))
    return f"transform({carried}, x -> named_struct('to_round', {to_round}, {fields}))"


def _carried() -> str:
    """What a replica's row says of its own broker, of the one it fetches from, and of those it fetched from before."""
    runs = mine("world.running")
    own = {
        "bytes_in": "produced_bytes + served_bytes + aggregate(served, 0L, (sum, x) -> sum + x.bytes)",
        "bytes_out": "0L",
        "leader_count": f"IF(leader = slot AND {runs}, 1L, 0L)",
        "follower_count": f"IF(leader != slot AND {runs} AND {mine('assigned')}, 1L, 0L)",
        "local_bytes": DISK_BYTES,
    }
    source = _at_broker("believed_leader", {"bytes_out": "served_bytes"})
    earlier = _at_broker("x.slot", {"bytes_out": "x.bytes"})
    fetches = f"IF(served_bytes > 0 AND believed_leader >= 0, array({source}), array())"
    return f"concat(array({_at_broker('slot', own)}), {fetches}, transform(served, x -> {earlier}))"


def _at_broker(slot: str, values: dict[str, str]) -> str:
    fields = {"slot": slot} | {name: values.get(name, "0L") for name in _SUMS}
    return "named_struct(" + ", ".join(f"'{name}', {text}" for name, text in fields.items()) + ")"


def _broker_times(inputs: list[ScenarioInputs], from_round: int, to_round: int) -> list[dict[str, Any]]:
    """One row per scenario under way and broker, with whether and how long it ran."""
    rows: list[dict[str, Any]] = []
    for i in inputs:
        end = min(to_round, i.scenario.rounds)
        if end <= from_round:
            continue
        for broker in (b.id for b in i.scenario.brokers):
            up_rounds = sum(
                max(0, min(segment.to_round, end) - max(segment.from_round, from_round))
                for segment in i.timelines[broker]
                if not segment.offline
            )
            up = not i.over_time.segment(broker, end - 1).offline
            rows.append(
                {
                    "scenario_id": i.scenario.scenario_id,
                    "broker": broker,
                    "from_round": from_round,
                    "to_round": end,
                    "up": up,
                    "up_rounds": up_rounds,
                }
            )
    return rows
