"""Small random schedules: the engine's invariants catch every older protocol and every mutant, and never Kafka of today.

The schedules are those of tests/reference/small_schedules.py on one cluster's settings; `CAUGHT` names, for each protocol,
some that the reference found to break an invariant (`cd tests; python -m reference.small_schedules`). One run without eligible
leader replicas, one with them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.engine_helpers import emulate
from tests.reference.scenario_toml import BROKERS_PER_CASE, to_toml
from tests.reference.small_schedules import ROUND_MS, has_elr, schedule

MUTANT_PREFIX = "kafka-mutant-"
CLUSTER: dict[str, Any] = {
    "rounds": 30,
    "round_ms": ROUND_MS,
    "session_timeout_rounds": 3,
    "config": {
        "auto.leader.rebalance.enable": False,
        "replica.lag.time.max.ms": 4 * ROUND_MS - 1,  # three rounds; the ISR is checked every two
        "replica.high.watermark.checkpoint.interval.ms": 2 * ROUND_MS,
        "replica.fetch.wait.max.ms": 500,
    },
    "faults": [],
}
CAUGHT: dict[str, tuple[int, ...]] = {
    "kafka-high-watermark": (1, 5, 23, 29, 40, 43, 49, 52, 53, 85, 86),
    "kafka-kip101": (1, 5, 11, 40, 53, 89, 95),
    "kafka-kip279": (53, 416, 503, 505, 763, 857),
    MUTANT_PREFIX + "truncate-to-high-watermark": (1, 40, 43, 89, 95, 121, 124, 125),
    MUTANT_PREFIX + "join-without-high-watermark": (4, 7, 13, 14, 22, 29, 32, 34),
    MUTANT_PREFIX + "join-without-epoch-start": (1006, 2716),
    MUTANT_PREFIX + "high-watermark-over-committed-isr": (92, 314, 355, 359, 410),
    MUTANT_PREFIX + "fetch-without-epoch-check": (1537, 1727),
    MUTANT_PREFIX + "response-after-epoch-moved": (145, 281, 301, 349, 661, 887, 1118),
    MUTANT_PREFIX + "new-leader-keeps-old-remote-leo": (4, 13, 40, 41, 55, 115),
    MUTANT_PREFIX + "high-watermark-below-min-isr": (92, 143, 193, 314),
}
CAUGHT_WITH_ELR: dict[str, tuple[int, ...]] = {
    MUTANT_PREFIX + "high-watermark-below-min-isr": (12, 15, 33, 45, 66, 69, 72),
    MUTANT_PREFIX + "unclean-kept-in-elr": (57, 60, 81, 126, 132, 135, 240),
}
OTHERS = 36
"""Schedules of the first numbers that go along."""


@pytest.mark.parametrize("elr", [False, True], ids=["without-elr", "with-elr"])
def test_invariants_catch_all_but_kafka(spark: SparkSession, tmp_path: Path, elr: bool) -> None:
    caught = CAUGHT_WITH_ELR if elr else CAUGHT
    seeds = sorted({s for named in caught.values() for s in named} | {s for s in range(3 * OTHERS) if has_elr(s) == elr})
    assert all(has_elr(seed) == elr for seed in seeds)
    tables = emulate(spark, _scenario(seeds, list(caught), elr), tmp_path / "out", trace="none")
    broken = _broken_by_protocol(tables, seeds)
    assert broken.get("kafka", {}) == {}
    missed = {name: sorted(set(expected) - set(broken.get(name, {}))) for name, expected in caught.items()}
    assert {name: seeds for name, seeds in missed.items() if seeds} == {}
    told = {row["invariant"] for row in tables["invariants"]}
    assert {row["invariant"] for row in tables["violations"]} <= told


def _scenario(seeds: list[int], protocols: list[str], elr: bool) -> str:
    """The schedules as topics of one partition on brokers of their own, and a variant for every protocol."""
    cases = [_on_own_brokers(schedule(seed), number) for number, seed in enumerate(seeds)]
    cluster = {**CLUSTER, **({"features": {"eligible.leader.replicas.version": 1}} if elr else {})}
    variants = "".join(f'[[variants]]\nname = "{name}"\nprotocol = "{name}"\n' for name in protocols)
    return to_toml({"seed": 0, "cluster": cluster, "cases": cases}) + variants


def _on_own_brokers(case: dict[str, Any], number: int) -> dict[str, Any]:
    def moved(row: dict[str, Any]) -> dict[str, Any]:
        ids = {key: BROKERS_PER_CASE * number + row[key] for key in ("broker", "peer") if row.get(key) is not None}
        if "replicas" in row:
            ids["replicas"] = [BROKERS_PER_CASE * number + broker for broker in row["replicas"]]
        return {**row, **ids}

    topic, initial = f"t{number}", case["initial"]
    order = [BROKERS_PER_CASE * number + broker for broker in case["replicas"]]
    faults = []
    for fault in case["faults"]:
        if fault["kind"] in ("controller_loss", "rack_isolation"):  # it would be the whole cluster's, or on brokers of others
            continue
        if fault["kind"] == "slow_link" and fault["bytes_per_second"] == 0:
            fault = {**{key: value for key, value in fault.items() if key != "bytes_per_second"}, "kind": "link_cut"}
        faults.append(moved(fault))
    return {
        **case,
        "topic": topic,
        "replicas": order,
        "faults": faults,
        "commands": [moved(command) for command in case["commands"]],
        "initial": {
            **{key: initial[key] for key in ("leader_epoch",)},
            "leader": BROKERS_PER_CASE * number + initial["leader"],
            "isr": sorted(order),
            "replicas": {BROKERS_PER_CASE * number + broker: log for broker, log in initial["replicas"].items()},
        },
    }


def _broken_by_protocol(tables: dict[str, list[dict[str, Any]]], seeds: list[int]) -> dict[str, dict[int, set[str]]]:
    """Protocol -> seed -> names of the invariants it breaks."""
    protocols = {row["scenario_id"]: row["protocol"] for row in tables["scenarios"]}
    broken: dict[str, dict[int, set[str]]] = {}
    for row in tables["violations"]:
        seed = seeds[int(row["topic"][1:])]
        if row["kind"] == "violation" or protocols[row["scenario_id"]] == "kafka":  # which has no suspects either
            broken.setdefault(protocols[row["scenario_id"]], {}).setdefault(seed, set()).add(row["invariant"])
    return broken
