"""Segments and retention of topics that are not tiered: the engine against the plain-Python reference on random cases."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.differing_rows import Differences, rows_that_differ
from tests.engine_helpers import emulate
from tests.reference.random_scenarios import cases_of, random_batch, to_toml
from tests.reference.tiered.simulate import simulate
from tests.test_differential import PARTITION_COLUMNS, SHOWN_DIFFERENCES, TRACE_COLUMNS, by_topic, events_that_differ, first_few

SEED, CASES = 5, 70
POLICIES = ("delete", "delete", "compact", "compact,delete")
COLUMNS = (*TRACE_COLUMNS, "local_segments", "local_bytes")
EVENTS_TOO = ("segment_roll", "local_delete")


def retained_batch(seed: int, cases: int, uneven: bool = False) -> dict[str, Any]:
    """A random batch whose topics have short segments and lose them by size, by age and below the log start.

    `uneven`: its rounds divide no period.
    """
    batch = random_batch(seed, cases)
    cluster = batch["cluster"]
    config = {**cluster["config"], "log.retention.check.interval.ms": 2 * cluster["round_ms"]}
    round_ms = random_batch(seed, 0, uneven=True)["cluster"]["round_ms"] if uneven else cluster["round_ms"]
    return {
        **batch,
        "cluster": {**cluster, "config": config, "round_ms": round_ms},
        "cases": [_retained(case, seed, cluster) for case in batch["cases"]],
    }


def _retained(case: dict[str, Any], seed: int, cluster: dict[str, Any]) -> dict[str, Any]:
    rng = random.Random(f"retained/{seed}/{case['topic']}")
    retention = {
        "segment.bytes": rng.choice((300, 1000, 3000)),
        "retention.bytes": rng.choice((-1, 0, 500, 2000, 5000)),
        "retention.ms": rng.choice((-1, 3, 10, 20)) * cluster["round_ms"],
    }
    retention["retention.ms"] = max(retention["retention.ms"], -1)
    commands = list(case["commands"])
    if rng.random() < 0.3:
        round_ = rng.randrange(cluster["rounds"])
        commands.append({"round": round_, "kind": "delete_records", "offset": rng.choice((-1, 5, 20))})
    if max(retention["retention.ms"], retention["retention.bytes"]) < 0:
        retention["retention.bytes"] = 1000  # else the segments would not be kept
    retention["cleanup.policy"] = random.Random(f"policy/{seed}/{case['topic']}").choice(POLICIES)
    if retention["cleanup.policy"] == "compact":  # what lies below the log start goes all the same; segments are kept for it
        commands.append({"round": cluster["rounds"] // 2, "kind": "delete_records", "offset": rng.choice((-1, 5, 20))})
    initial = case["initial"]
    if initial is not None and rng.random() < 0.7 and "replicas" in initial:
        given = {}
        for broker, log in initial["replicas"].items():
            bases = sorted(
                rng.sample(range(log["log_start_offset"], log["leo"] + 1), min(3, log["leo"] - log["log_start_offset"]))
            )
            given[broker] = {**log, "segments": [base for base in bases if base < log["leo"]]}
        initial = {**initial, "replicas": given}
    return {**case, "topic_config": {**case["topic_config"], **retention}, "commands": commands, "initial": initial}


def differences(expected: Any, tables: dict[str, list[dict[str, Any]]]) -> Differences:
    """What differs, earliest round first."""
    found = rows_that_differ(expected.trace, tables["trace"], ("round", "broker"), COLUMNS)
    found += rows_that_differ(expected.trace_partitions, tables["trace_partitions"], ("round",), PARTITION_COLUMNS)
    found += events_that_differ(expected, tables.get("events", []), EVENTS_TOO)
    outcomes = tables["outcomes"][0]
    end = len(expected.trace_partitions)
    found += [(k, end, "outcomes", v, outcomes[k]) for k, v in expected.outcomes.items() if k in outcomes and v != outcomes[k]]
    return sorted(found, key=lambda difference: difference[1])


def test_retention_equals_reference(spark: SparkSession, tmp_path: Path) -> None:
    batch = retained_batch(SEED, CASES)
    tables = by_topic(emulate(spark, to_toml(batch), tmp_path / "out"))
    differing = {}
    for index, case in enumerate(cases_of(batch)):
        found = differences(simulate(case), tables[f"t{index}"])
        if found:
            differing[index] = found[:SHOWN_DIFFERENCES]
    assert not differing, f"{len(differing)} of {CASES} cases differ: {first_few(differing)}"
