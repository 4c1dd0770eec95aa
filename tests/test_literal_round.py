"""The engine's round against the same round written literally (tests/literal), from states in the middle of random runs.

All states are partitions of one frame: the engine plays its next round in one job. `FUZZ_BATCHES=n` adds n sets of states.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from chispa import assert_df_equality
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emulator.expressions import loop as engine
from emulator.inputs import ScenarioInputs, scenario_inputs
from emulator.scenario import load_run
from emulator.session import engine_settings
from tests.engine_state import inputs_of, states_and_next, tables_of
from tests.literal.kafka_round import play_round
from tests.literal.tables import REPLICA, Tables, computed
from tests.reference.random_scenarios import random_batch, to_toml

CLUSTERS, PARTITIONS = 4, 45
"""Random clusters, each with its own clock, lag time, session timeout and intervals, and the partitions of each."""

ROUNDS = [0, 2, 6, 10, 14]
"""Every partition is compared in each of these."""

EVENTFUL_SEED = 4
SEEDS = [EVENTFUL_SEED, *range(1000, 1000 + int(os.environ.get("FUZZ_BATCHES", "0")))]
TASKS = 2

# These rows are few, and planning and compiling for them takes longer than running.
SETTINGS = engine.codegen_settings(0)


@dataclass(frozen=True)
class Played:
    """The same states before and after a round."""

    before: Tables
    by_engine: Tables
    literally: Tables


@pytest.fixture(scope="module", params=SEEDS)
def played(spark: SparkSession, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    inputs = random_inputs(request.param, tmp_path_factory.mktemp("literal"))
    with engine_settings(spark, TASKS, SETTINGS):
        states, after = states_and_next(spark, inputs, ROUNDS, TASKS)
        before = settled(tables_of(states))
        yield Played(before, settled(tables_of(after)), settled(play_round(before, inputs_of(states))))


def random_inputs(seed: int, folder: Path) -> list[ScenarioInputs]:
    """Some of the clusters that the differential test draws, without reassignments: the literal round has none."""
    inputs = []
    for number in range(CLUSTERS):
        batch = random_batch(CLUSTERS * seed + number, PARTITIONS)
        for case in batch["cases"]:
            case["commands"] = [command for command in case["commands"] if command["kind"] != "reassign"]
            case["faults"] = [_sooner(fault) for fault in case["faults"]]
        path = folder / f"{number}.toml"
        path.write_text(to_toml(batch))
        inputs.append(scenario_inputs(replace(load_run(str(path)).scenarios[0], scenario_id=number)))
    return inputs


def _sooner(fault: dict[str, Any]) -> dict[str, Any]:
    """The fault in the first third of the run, so that the rounds looked at are full of faults."""
    sooner = fault["from_round"] - fault["from_round"] // 3
    return {**fault, **{edge: fault[edge] - sooner for edge in ("from_round", "to_round") if edge in fault}}


def settled(tables: Tables) -> Tables:
    return Tables(**{name: computed(frame) for name, frame in vars(tables).items()})


def replicas(tables: Tables) -> DataFrame:
    """A row a replica, with its epoch cache; flushing is the engine's alone."""
    caches = tables.epochs.groupBy(*REPLICA).agg(F.sort_array(F.collect_list(F.struct("epoch", "start_offset"))).alias("epochs"))
    return tables.replicas.join(caches, REPLICA, "left").drop("flushed_offset")


def partitions(tables: Tables) -> DataFrame:
    """A row a partition, with the records that its client leader acknowledged: below its high watermark, or on append."""
    ranges = tables.acked.join(tables.partitions.select("partition", "lead_hw"), "partition")
    above = "sum(greatest(to_offset - greatest(from_offset, lead_hw), 0L)) AS acked_above"
    on_append = ranges.groupBy("partition").agg(F.expr(above))
    acked = "coalesce(lead_hw - lead_start, 0L) + coalesce(acked_above, 0L)"
    return tables.partitions.join(on_append, "partition", "left").withColumn("acked", F.expr(acked)).drop("acked_above")


VIEWS = {"replicas": replicas, "partitions": partitions, "batches": lambda tables: tables.batches}


@pytest.mark.parametrize("view", VIEWS)
def test_engine_plays_the_literal_round(played: Played, view: str) -> None:
    literal, engine = VIEWS[view](played.literally), VIEWS[view](played.by_engine)
    # What both have goes first, so that a failure shows the other rows and not thousands.
    differing = literal.exceptAll(engine), engine.exceptAll(literal)
    assert literal.count() > 0
    assert_df_equality(*differing, ignore_row_order=True, ignore_nullable=True, ignore_column_order=True)


@pytest.mark.parametrize("played", [EVENTFUL_SEED], indirect=True)  # other seeds may lack the rarest events
@pytest.mark.parametrize("view", ("replicas", "partitions"))
def test_the_states_are_eventful(played: Played, view: str) -> None:
    """Every column that a round can change is changed somewhere."""
    before, after = VIEWS[view](played.before), VIEWS[view](played.by_engine)
    key = [name for name in REPLICA if name in after.columns]
    columns = [name for name in after.columns if name not in (*key, "replicas")]
    both = before.alias("b").join(after.alias("a"), key)
    changes = both.agg(*(F.expr(f"count_if(NOT (b.{name} <=> a.{name})) AS {name}") for name in columns)).first()
    assert changes is not None
    assert not [name for name, count in changes.asDict().items() if count == 0], changes
