"""The engine's state in Kafka's terms: the one module of the literal round and the phase fixtures that knows its columns.

`tables_of` and `inputs_of` give a state as the tables of tests/literal, `state_before` makes one of the situations of
tests/phases; `PARTITION_VIEW` and `REPLICA_VIEW` say what is what.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emulator.attach import Changes
from emulator.expressions.columns import PACKED_COLUMNS, PATHS, pack, renamed, unpack
from emulator.expressions.kafka.count_outcomes import EVENT_KINDS
from emulator.expressions.kafka.elect_leader import NEVER
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.state import STATE_COLUMNS
from emulator.expressions.log import epoch_cache
from emulator.initial.partitions import initial_state
from emulator.inputs import ScenarioInputs, scenario_inputs
from emulator.protocols import PROTOCOLS
from emulator.round_plans import laid_out, plan_rounds
from emulator.scenario import ELR_FEATURE, load_run
from tests.literal.tables import Inputs, Tables
from tests.phases.fixtures import Situation
from tests.reference.scenario_toml import to_tables

PARTITIONS_A_SCENARIO = 1_000_000
KEY = f"(scenario_id * {PARTITIONS_A_SCENARIO}L + partition_id)"
"""A partition's number over all scenarios."""


def members(mask: str) -> str:
    """The slots of a mask as a sorted array."""
    return f"filter(sequence(0, 11), s -> ({mask} & shiftleft(1, s)) != 0)"


def _known_round(column: str) -> str:
    """A round that may be NEVER."""
    return f"IF({column} < -1, null, {column})"


_ORDER = "filter(transform(sequence(0, 11), p -> CAST(shiftright(replica_order, 5 * p) & 31 AS INT) - 1), s -> s >= 0)"

PARTITION_VIEW = {
    "partition": KEY,
    "leader": "leader",
    "leader_epoch": "leader_epoch",
    "isr": members("isr"),
    "replicas": _ORDER,
    "client_leader": "client_leader",
    "client_epoch": "client_epoch",
    "known_isr": members("leader_isr"),
    "pending_joins": members("pending_join"),
    "pending_shrinks": members("pending_shrink"),
    "lead_start": "lead_start",
    "lead_hw": "lead_hw",
    "elections": "elections",
    "unclean_elections": "unclean_elections",
    "isr_shrinks": "isr_shrinks",
    "isr_expands": "isr_expands",
    "leaderless_rounds": "leaderless_rounds",
    "under_min_isr_rounds": "under_min_isr_rounds",
    "under_replicated_rounds": "under_replicated_rounds",
}
"""A partition, as the row of its client leader has it."""

REPLICA_VIEW = {
    "partition": KEY,
    "broker": "slot",
    "leads": "is_leader",
    "believed_leader": "believed_leader",
    "believed_epoch": "believed_epoch",
    "log_start": "log_start_offset",
    "leo": "leo",
    "hw": "hw",
    "hw_checkpoint": "hw_checkpoint",
    "flushed_offset": "flushed_offset",
    "credit_bytes": "credit_bytes",
    "remote_leo": "IF(slot = client_leader, null, remote_leo)",
    "caught_up_round": _known_round("caught_up_round"),
    "previous_round": _known_round("fetched_round"),
    "previous_leader_leo": f"IF({_known_round('fetched_round')} IS NULL, null, fetched_leader_leo)",
    "appended": "appended",
    "refused": "refused",
    "truncated": "truncated",
    "replicated_bytes": "replicated_bytes",
}
EPOCHS = epoch_cache("log", "log_start_offset")

_ACKED = (
    "explode(concat(acked_ranges, IF(acked_to > acked_from, array(named_struct('from_offset', acked_from, 'to_offset',"
    " acked_to)), array()))) AS x"
)
_BATCHES_OF_A_CYCLE = (
    "IF(run.pattern IS NULL, array(named_struct('records', run.batch_records, 'bytes', run.batch_bytes)), run.pattern)"
)
# Several batches of a round stand in a list, a single one by itself.
_SENT = (
    "CASE WHEN feed.batches IS NOT NULL THEN feed.batches WHEN feed.records > 0 THEN array(named_struct('records', feed.records,"
    " 'bytes', feed.bytes, 'acked_on_append', feed.unconditional_records > 0)) END"
)
_SETTINGS = {
    "partition": KEY,
    "round": "round",
    "controller_up": "world.controller_up",
    "min_insync_replicas": "feed.min_insync_replicas",
    "unclean_election": "feed.unclean_election",
    "lag_rounds": "feed.lag_rounds",
    "isr_check_rounds": "feed.isr_check_rounds",
    "checkpoint_rounds": "feed.checkpoint_rounds",
    "elects_preferred": (
        "feed.preferred_election OR (feed.rebalance_rounds > 0 AND round > 0 AND round % greatest(feed.rebalance_rounds, 1) = 0)"
    ),
    "delete_before": "feed.delete_before",
}
FLAGS = (
    "running", "offline", "untold", "deaf", "returning", "restarted", "clean_stop", "power_loss", "disk_loss", "clients_cut",
)  # fmt: skip
_BROKERS = {
    "partition": KEY,
    "broker": "slot",
    **{flag: f"(world.{flag} & own_bit) != 0" for flag in FLAGS},
    "fenced": "(world.unfenced & own_bit) = 0",
    "fetch_max_bytes": "coalesce(get(world.fetch_max_bytes, slot), feed.fetch_max_bytes)",
    "waits": "NOT coalesce(get(world.no_wait, slot), feed.no_wait)",
    "disk_bytes": "get(world.disk, slot)",
}


def seen(state: DataFrame, view: dict[str, str]) -> DataFrame:
    """The columns of a view."""
    return state.select([F.expr(text).alias(name) for name, text in view.items()])


def of_partitions(state: DataFrame) -> DataFrame:
    """One row a partition: that of its client leader, else of slot 0."""
    return state.where("slot = greatest(client_leader, 0)")


def tables_of(state: DataFrame) -> Tables:
    """The state as tables."""
    state = unpack(state)
    leaders = of_partitions(state)
    return Tables(
        partitions=seen(leaders, PARTITION_VIEW),
        replicas=seen(state, REPLICA_VIEW),
        epochs=state.selectExpr(f"{KEY} AS partition", "slot AS broker", f"inline({EPOCHS})"),
        batches=_batches_of(state),
        acked=leaders.selectExpr(f"{KEY} AS partition", _ACKED).selectExpr("partition", "x.from_offset", "x.to_offset"),
    )


def _batches_of(state: DataFrame) -> DataFrame:
    """The runs of the logs as batches: a run repeats a cycle of batches, and the last one may be cut off."""
    runs = state.selectExpr(
        f"{KEY} AS partition",
        "slot AS broker",
        "log_start_offset AS log_start",
        "explode(transform(log, (x, i) -> struct(x AS run, coalesce(get(log, i + 1).start_offset, leo) AS end))) AS x",
    ).selectExpr("partition", "broker", "log_start", "x.run", "x.end")
    cycles = runs.where("run.batch_records > 0 AND end > run.start_offset").selectExpr(
        "*",
        "explode(sequence(0L, (end - run.start_offset - 1) DIV run.batch_records)) AS cycle",
        f"{_BATCHES_OF_A_CYCLE} AS batches",
    )
    before = "aggregate(slice(batches, 1, place), 0L, (sum, b) -> sum + b.records)"
    batches = cycles.selectExpr("*", "posexplode(batches) AS (place, batch)").selectExpr(
        "*", f"run.start_offset + cycle * run.batch_records + {before} AS base"
    )
    return batches.where("base < end AND base + batch.records > log_start").selectExpr(
        "partition",
        "broker",
        "greatest(base, log_start) AS base_offset",
        "least(base + batch.records, end) AS end_offset",
        "run.epoch",
        "batch.bytes DIV batch.records AS record_bytes",
    )


def inputs_of(attached: DataFrame, round_number: str = "round") -> Inputs:
    """What faults, settings, workload and commands say of a round: by default the one that the state is about to play.

    `attached`: a state with the changes of its job, those of the round included. `round_number`: SQL text.
    """

    def in_force(kind: str) -> str:
        last = f"array_max(filter(transform({kind}_changes, (c, i) -> IF(c.from_round <= {round_number}, i, -1)), i -> i >= 0))"
        return f"coalesce(get({kind}_changes, {last}).value, {kind})"

    now = {"world": in_force("world"), "feed": in_force("feed"), "round": f"CAST({round_number} AS INT)"}
    state = attached.withColumns({name: F.expr(text) for name, text in now.items()})
    one_row = state.where("slot = 0")
    links = one_row.selectExpr(f"{KEY} AS partition", "posexplode(world.drop) AS (sender, receivers)")
    return Inputs(
        settings=seen(one_row, _SETTINGS),
        brokers=seen(state, _BROKERS),
        workload=one_row.selectExpr(f"{KEY} AS partition", f"posexplode({_SENT}) AS (number, x)").selectExpr(
            "partition", "number", "x.records", "x.bytes DIV x.records AS record_bytes", "x.acked_on_append"
        ),
        cut_links=links.selectExpr("partition", "sender", f"explode({members('receivers')}) AS receiver"),
        slow_links=one_row.selectExpr(f"{KEY} AS partition", "inline(world.slow)").selectExpr(
            "partition", "from_slot AS sender", "to_slot AS receiver", "bytes_per_round AS link_bytes"
        ),
    )


def start_of(spark: SparkSession, inputs: list[ScenarioInputs], rounds: int, tasks: int) -> DataFrame:
    """The state before round 0 with what begins in the first rounds attached."""
    untraced = {i.scenario.scenario_id: np.zeros(len(i.partition_table.partition), bool) for i in inputs}
    state = laid_out(pack(initial_state(spark, inputs, untraced)), tasks).localCheckpoint()
    return Changes(spark, inputs, 0, rounds).attach(state)


def states_and_next(
    spark: SparkSession, inputs: list[ScenarioInputs], rounds: list[int], tasks: int
) -> tuple[DataFrame, DataFrame]:
    """Run scenarios and give the states before these rounds, as partitions of one state, and that state after the round.

    The states before have what begins in the round attached. The round after is the engine's own, all phases, one job.
    """
    rules = RunRules(max(int(i.partition_table.slot_count.max()) for i in inputs))
    planned = plan_rounds(spark, rules, False, tasks)
    partitions = max(len(i.partition_table.partition) for i in inputs)
    state = start_of(spark, inputs, 0, tasks).select(PACKED_COLUMNS)
    states: list[DataFrame] = []
    for before, at in zip([0, *rounds], rounds, strict=False):
        if at > before:
            attached = Changes(spark, inputs, before, at).attach(state)
            state = planned.run(attached, at - before).select(PACKED_COLUMNS).localCheckpoint()
        attached = Changes(spark, inputs, at, at + 1).attach(state)
        states.append(attached.withColumn("partition_id", F.expr(f"partition_id + {len(states) * partitions}L")))
    together = laid_out(reduce(DataFrame.unionByName, states), tasks).localCheckpoint()
    return together, planned.run(together, 1).localCheckpoint()


_FACTS = {
    "offline": ("offline", "untold", "deaf"),
    "paused": ("untold", "deaf"),
    "isolated": ("untold", "deaf"),
    "waking": ("untold",),
    "unclean_restart": ("restarted",),
    "stale": ("untold", "deaf"),
}
"""What more is true of a broker of which a fault says this (docs/kafka_rounds.md, "What the faults say of a broker")."""


def state_before(spark: SparkSession, situations: list[Situation]) -> DataFrame:
    """A state in which every situation is a scenario of one partition, with its faults and settings in force."""
    inputs = [_inputs_of(situation, number) for number, situation in enumerate(situations)]
    untraced = {i.scenario.scenario_id: np.zeros(1, bool) for i in inputs}
    rows = [
        {"scenario_id": number, "slot": slot, **_columns(situation, inputs[number], slot)}
        for number, situation in enumerate(situations)
        for slot in range(len(situation.replicas))
    ]
    schema = ", ".join(f"{name} {STATE_COLUMNS[name][0]}" for name in rows[0])
    given = spark.createDataFrame(rows, schema)
    kept = initial_state(spark, inputs, untraced).drop(*(name for name in rows[0] if name not in ("scenario_id", "slot")))
    return Changes(spark, [], 0, 0).attach(pack(kept.join(given, ["scenario_id", "slot"])))


def _inputs_of(situation: Situation, number: int) -> ScenarioInputs:
    """A scenario with the logs, the configuration, the workload and the commands; its leader starts with its last epoch."""
    place = {"topic": "t", "partition": 0}
    brokers = [slot + 1 for slot in range(len(situation.replicas))]
    leader = situation.partition["client_leader"]
    epoch = situation.replicas[leader]["epochs"][-1][0]
    tables: list[tuple[str, dict[str, Any]]] = [("topics", {"name": "t", "assignment": [brokers]})]
    tables.append(("initial.partitions", {**place, "leader": leader + 1, "leader_epoch": epoch, "isr": brokers}))
    for slot, replica in enumerate(situation.replicas):
        log = {"log_start_offset": replica["log_start"], "epochs": [list(entry) for entry in replica["epochs"]]}
        log |= {name: replica[name] for name in ("leo", "hw", "flushed_offset", "record_bytes")}
        tables.append(("initial.replicas", {**place, "broker": slot + 1, **log}))
    tables += [("workload", {"topic": "t", **row}) for row in situation.appends]
    tables += [("commands", _command(row, situation.partition["round"])) for row in situation.commands]
    head = f"rounds = {situation.partition['round'] + 1}\n[cluster]\nbrokers = {len(brokers)}\n"
    for key, value in situation.settings.items():
        head += f'{"features" if key == ELR_FEATURE else "config"}."{key}" = {json.dumps(value)}\n'
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(head + to_tables(tables))
        file.flush()
        return scenario_inputs(replace(load_run(file.name).scenarios[0], scenario_id=number))


def _command(row: dict[str, Any], round_number: int) -> dict[str, Any]:
    """A command as a scenario file has it: of brokers 1, 2, ...; a configuration is the whole topic's."""
    of_topic = row["kind"] == "alter_config"
    brokers = {"replicas": [slot + 1 for slot in row["replicas"]]} if "replicas" in row else {}
    return {"topic": "t", **({} if of_topic else {"partition": 0}), "round": round_number, **row, **brokers}


def _columns(situation: Situation, inputs: ScenarioInputs, slot: int) -> dict[str, Any]:
    """The columns of one row that no scenario file can give a state to start with."""
    partition, replica = situation.partition, situation.replicas[slot]
    caught_up, previous = replica["caught_up_round"], replica["previous_round"]
    return {
        "world": _world(situation, inputs),
        "feed": inputs.feeds[0].at(partition["round"]),
        **{name: partition[name] for name in ("round", "leader", "leader_epoch", "client_leader", "client_epoch")},
        **{name: _mask(partition[name]) for name in ("isr", "elr", "last_known_elr")},
        "recovery_answers": partition["answers"],
        "leader_ready": partition["ready"],
        "leader_isr": _mask(partition["known_isr"]),
        "pending_join": _mask(partition["pending_joins"]),
        "pending_shrink": _mask(partition["pending_shrinks"]),
        **{name: replica[name] for name in ("believed_leader", "believed_epoch", "hw_checkpoint")},
        "is_leader": replica["leads"],
        "remote_leo": None if slot == partition["client_leader"] else replica["remote_leo"],
        "caught_up_round": NEVER if caught_up is None else caught_up,
        "fetched_round": NEVER if previous is None else previous,
        "fetched_leader_leo": -1 if previous is None else replica["previous_leader_leo"],
    }


def _world(situation: Situation, inputs: ScenarioInputs) -> dict[str, Any]:
    """What the faults say of the brokers, over what they say where there are none."""
    partition, replicas = situation.partition, situation.replicas
    words = [set(replica["faults"]) for replica in replicas]
    known = [{fact for word in said for fact in (word, *_FACTS.get(word, ()))} for said in words]
    unknown = set().union(*words) - {*FLAGS, *_FACTS, "fenced"}
    assert not unknown, f"no such fault: {unknown}"
    cut = [(a, b) for a in range(len(replicas)) for b in range(len(replicas)) if a != b and "isolated" in words[a] | words[b]]
    drop = [_mask([to for sender, to in {*partition["cut_links"], *cut} if sender == slot]) for slot in range(len(replicas))]
    world: dict[str, Any] = inputs.world_change_table(0, 1)["changes"][0].as_py()[0]["value"]
    return {
        **world,
        **{flag: _mask([slot for slot, facts in enumerate(known) if flag in facts]) for flag in (*FLAGS, "unclean_restart")},
        "running": _mask([slot for slot, facts in enumerate(known) if not facts & {"offline", "paused"}]),
        "unfenced": _mask([slot for slot, facts in enumerate(known) if "fenced" not in facts]),
        "controller_up": partition["controller_up"],
        "drop": drop if any(drop) else None,
    }


def _mask(slots: list[int]) -> int:
    return sum(1 << slot for slot in slots)


_SEEN_AFTER = {
    **{name: text for name, text in PARTITION_VIEW.items() if name not in ("lead_start", "lead_hw")},
    **REPLICA_VIEW,
    "elr": members("elr"),
    "last_known_elr": members("last_known_elr"),
    "answers": "array_sort(recovery_answers)",
    "checkpoint": "hw_checkpoint",
    "flushed": "flushed_offset",
    "caught_up": _known_round("caught_up_round"),
    "ready": "leader_ready",
    "epochs": EPOCHS,
    "segment_base": "segment_base_offset",
    "segment_bytes": "segment_bytes",
    "leader_hw": "leader_hw",
}
_SEEN_AFTER_PHASE = {
    "elect_leader": {"unclean": "coalesce(election.unclean_elected, false)"},
    "request_fetch": {"noted": "noted"},
    "judge_in_sync": {"joins": "joins", "shrinks": "shrinks", "holds": "holds", "holds_after": "holds_after"},
    "count_outcomes": {
        "events": f"transform(events, e -> element_at(array({', '.join(repr(kind) for kind in EVENT_KINDS)}), e.kind + 1))"
    },
}


def seen_after_phases(state: DataFrame, slots: int, protocol: str = "kafka") -> dict[str, list[dict[str, Any]]]:
    """Play one round and give what is seen after each of its phases: name of the phase -> a dict per replica.

    A dict has `situation` and `broker`, the columns of the views, and what only this phase tells.
    """
    phases, rules = PROTOCOLS[protocol].phases, RunRules(slots, (protocol,), elr=True)
    names = [phase.__name__ for phase in phases]
    for name, phase in zip(names, phases, strict=True):
        state = phase(state, rules)
        view = {"situation": "scenario_id", **_SEEN_AFTER, **_SEEN_AFTER_PHASE.get(name, {})}
        columns = (F.expr(renamed(text, PATHS)).alias(column) for column, text in view.items())
        state = state.withColumn(f"after_{name}", F.struct(*columns))
    rows = state.select([f"after_{name}" for name in names]).collect()
    return {name: [row[f"after_{name}"].asDict(recursive=True) for row in rows] for name in names}
