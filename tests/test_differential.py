"""The engine against the plain-Python reference on random scenarios: every trace column, outcome and event is equal.

A batch is a scenario: its cases are topics of one partition on brokers of their own. `FUZZ_BATCHES=n` adds n runs of one batch
of another seed each. The suite's are a few of those that rounds/kafka/test_against_reference.py has without Spark: here they go
through jobs and tables.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.differing_rows import Differences, rows_that_differ
from tests.engine_helpers import Row, emulate, of_scenario, run_of
from tests.reference.kafka import Result, simulate
from tests.reference.random_scenarios import cases_of, random_batch, to_toml

SEEDS, CASES = range(2), 30
FUZZED = range(1000, 1000 + int(os.environ.get("FUZZ_BATCHES", "0")))
FUZZED_CASES = 500
TRACE_COLUMNS = (
    "role", "leader_epoch", "log_start_offset", "local_log_start_offset", "leo", "hw", "remote_leo", "in_isr", "epochs",
)  # fmt: skip
PARTITION_COLUMNS = ("leader", "leader_epoch", "isr", "elr", "last_known_elr")
# The reference tells what it saw of these kinds; of the others it knows nothing.
EVENT_KINDS = (
    "election", "unclean_election", "leader_lost", "isr_shrink", "isr_expand", "truncate", "acked_lost",
    "unacknowledged_lost", "committed_lost", "refused", "records_deleted", "log_damaged", "reassignment_completed",
)  # fmt: skip
SHOWN_DIFFERENCES = 12
VARIANTS = ("kafka-high-watermark", "kafka-kip101", "kafka-kip279")
VARIANTS_SEED, ELR_SEED = 77, 99


def test_engine_equals_reference(spark: SparkSession, tmp_path: Path) -> None:
    """Eligible leader replicas, with every recovery strategy, as well."""
    batches = {f"seed-{seed}": random_batch(seed, CASES) for seed in SEEDS}
    assert_equal(spark, batches | {"elr": random_batch(ELR_SEED, CASES, elr=True)}, tmp_path)


@pytest.mark.parametrize("seed", FUZZED)
def test_other_seeds_equal_reference(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    assert_equal(spark, {f"seed-{seed}": random_batch(seed, FUZZED_CASES)}, tmp_path)


def test_protocol_variants_equal_reference(spark: SparkSession, tmp_path: Path) -> None:
    """The older generations of Kafka on the same faults, as variants of one run."""
    batch = random_batch(VARIANTS_SEED, CASES)
    variants = "".join(f'[[variants]]\nname = "{name}"\nprotocol = "{name}"\n' for name in VARIANTS)
    tables = emulate(spark, f"{to_toml(batch)}\n{variants}", tmp_path / "out")
    differing = {}
    for name in VARIANTS:
        topics = by_topic(of_scenario(tables, name))
        for index, case in enumerate(cases_of(batch)):
            found = differences(simulate({**case, "protocol": name}), topics[f"t{index}"])
            if found:
                differing[name, index] = found[:SHOWN_DIFFERENCES]
    assert not differing, f"{len(differing)} cases differ: {first_few(differing)}"


def assert_equal(spark: SparkSession, batches: Mapping[str, Mapping[str, Any]], folder: Path) -> None:
    """One run of the batches as scenarios, by name: the engine gives for every case what the reference does."""
    assert_like_reference(emulate_batches(spark, batches, folder), batches)


def emulate_batches(
    spark: SparkSession, batches: Mapping[str, Mapping[str, Any]], folder: Path, others: Iterable[Path] = ()
) -> dict[str, list[Row]]:
    """The tables, under `folder`/out as well, of one run of the batches as scenarios, by name, and of other files."""
    for name, batch in batches.items():
        (folder / f"{name}.toml").write_text(to_toml(batch))
    return emulate(spark, run_of([*(folder / f"{name}.toml" for name in batches), *others]), folder / "out")


def assert_like_reference(tables: dict[str, list[Row]], batches: Mapping[str, Mapping[str, Any]]) -> None:
    """Every case of every batch is as the reference has it."""
    differing = {}
    for name, batch in batches.items():
        topics = by_topic(of_scenario(tables, name))
        for index, case in enumerate(cases_of(batch)):
            found = differences(simulate(case), topics[f"t{index}"])
            if found:
                differing[name, index] = found[:SHOWN_DIFFERENCES]
    assert not differing, f"{len(differing)} cases differ: {first_few(differing)}"


def by_topic(tables: Mapping[str, list[Row]]) -> dict[str, dict[str, list[Row]]]:
    """The tables' rows, parted by topic."""
    parted: dict[str, dict[str, list[Row]]] = {}
    for name in ("trace", "trace_partitions", "outcomes", "events"):
        for row in tables[name]:
            parted.setdefault(row["topic"], {}).setdefault(name, []).append(row)
    return parted


def first_few(differing: Mapping[Any, Differences]) -> dict[Any, Differences]:
    """A handful of the differing cases, those that differ first in time before the others."""
    return dict(sorted(differing.items(), key=lambda item: item[1][0][1])[:5])


def differences(expected: Result, tables: Mapping[str, list[Row]]) -> Differences:
    """What differs, as (column, round, key, of the reference, of the engine), earliest round first."""
    found = rows_that_differ(expected.trace, tables["trace"], ("round", "broker"), TRACE_COLUMNS)
    found += rows_that_differ(expected.trace_partitions, tables["trace_partitions"], ("round",), PARTITION_COLUMNS)
    found += events_that_differ(expected, tables.get("events", []))
    outcomes = tables["outcomes"][0]
    end = len(expected.trace_partitions)
    found += [(k, end, "outcomes", v, outcomes[k]) for k, v in expected.outcomes.items() if v != outcomes[k]]
    return sorted(found, key=lambda difference: difference[1])


def events_that_differ(expected: Any, seen: Iterable[Row], more_kinds: tuple[str, ...] = ()) -> Differences:
    """Events that only one side has, as often as it has more of them."""
    kinds = (*EVENT_KINDS, *more_kinds)
    left = Counter(tuple(event) for event in expected.events if event.kind in kinds)
    columns = ("round", "kind", "broker", "leader_epoch", "from_offset", "to_offset", "cause", "records")
    right = Counter(tuple(row[c] for c in columns) for row in seen if row["kind"] in kinds)
    return [
        *(("event", event[0], event, count, 0) for event, count in (left - right).items()),
        *(("event", event[0], event, 0, count) for event, count in (right - left).items()),
    ]
