"""Random scenarios, eventful ones and drawn out ones, by leaps and by plain rounds: every row of every table is equal, and tables
add up (table_identities.py).

Each case is a scenario of its own: a partition on brokers that no other has, with its own workload, faults and commands; those
of tiered storage have their own store and settings as well, and half of them groups that read, segments and what is left on disks
larger. `FUZZ_LEAPS=n` takes n runs of 10 batches of 200 cases, and n of 200 cases of tiered storage.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emulator.scenario import Run
from tests.engine_helpers import read_table, run_of
from tests.reference.random_scenarios import random_batch, to_toml
from tests.reference.stretched import stretched
from tests.reference.tiered.schedules import schedule
from tests.rounds.kafka.test_tier_leaps import drawn_out
from tests.table_identities import violated
from tests.test_consumers_differential import as_run as as_read_run
from tests.test_consumers_differential import case_of
from tests.test_leaps import differing, tables
from tests.test_tiered_differential import as_run

FUZZED = range(int(os.environ.get("FUZZ_LEAPS", "0")))
BATCHES, CASES, TIERED_CASES = 10, 200, 100
LONGEST_STRETCH = 5


def _batches(folder: Path, fuzzed: int | None) -> Run:
    """A scenario for each batch: half with eligible leader replicas, half with late news, a third with periods that rounds do not
    divide, some with several fetches a round, last moments, reassignments, racks cut off; stretched in different ways."""
    if fuzzed is None:
        batches = {
            "eventful": random_batch(5, 50),
            "drawn_out": stretched(random_batch(11, 20, elr=True, late_news=True, moments=True, reassigned=True), 3),
            "uneven": stretched(random_batch(44, 30, uneven=True, fetching=True, seldom=True), 4),
        }
    else:
        seeds = range(5000 + fuzzed * BATCHES, 5000 + (fuzzed + 1) * BATCHES)
        batches = {
            f"seed-{seed}": stretched(
                random_batch(
                    seed,
                    CASES,
                    elr=seed % 2 == 1,
                    late_news=seed % 4 > 1,
                    fetching=seed % 5 < 2,
                    moments=seed % 7 < 3,
                    reassigned=seed % 5 > 2,
                    uneven=seed % 3 == 2,
                    cut_racks=seed % 7 > 4,
                    seldom=seed % 8 > 5,
                ),
                1 + seed % LONGEST_STRETCH,
            )
            for seed in seeds
        }
    for name, batch in batches.items():
        (folder / f"{name}.toml").write_text(to_toml(batch))
    return run_of(folder / f"{name}.toml" for name in batches)


def _tiered(folder: Path, fuzzed: int | None) -> Run:
    """A scenario for each schedule, and for each that groups read; some have their store's metadata by LIST."""
    seeds, longest = range(40, 46), 2
    if fuzzed is not None:
        seeds, longest = range(5000 + fuzzed * TIERED_CASES, 5000 + (fuzzed + 1) * TIERED_CASES), LONGEST_STRETCH
    run = as_run({f"s{seed}": stretched(schedule(seed), 1 + seed % longest) for seed in seeds}, folder)
    read = as_read_run({f"r{seed}": drawn_out(case_of(seed), 4 + 4 * (seed % longest), True) for seed in seeds}, folder)
    scenarios = [replace(one, scenario_id=number) for number, one in enumerate((*run.scenarios, *read.scenarios))]
    return replace(run, scenarios=tuple(scenarios))


Cases = Callable[[Path, int | None], Run]


@pytest.mark.parametrize("fuzzed", FUZZED or [None])
@pytest.mark.parametrize("cases", [_batches, _tiered])
def test_leaps_equal_plain_rounds_and_tables_add_up(
    spark: SparkSession, tmp_path: Path, cases: Cases, fuzzed: int | None
) -> None:
    run = cases(tmp_path, fuzzed)
    plain = tables(spark, run, tmp_path / "plain", mode="plain")
    assert not differing(plain, tables(spark, run, tmp_path / "leap", mode="leap"))
    found = violated({name: read_table(tmp_path / "leap" / name) for name in plain})
    assert not found, found[:5]
