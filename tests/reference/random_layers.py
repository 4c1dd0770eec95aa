"""Layers that are laid over a whole random batch: records larger than allowed, retention, deleted topics, rates in seconds.

Those of random_scenarios.py are given to `random_batch`; `layered_batch` takes all of them by name.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from .random_scenarios import random_batch

LAYERS = ("limits", "retained", "deleted", "rates")
POLICIES = ("delete", "delete", "compact", "compact,delete")
RATES = (0.001, 0.05, 0.3, 0.7, 1.0, 1.9, 2.5, 3.333333, 7, 12.25)


def layered_batch(seed: int, cases: int, *layers: str) -> dict[str, Any]:
    """A random batch with these layers over it: arguments of `random_batch`, and of LAYERS."""
    batch = random_batch(seed, cases, **{layer: True for layer in layers if layer not in LAYERS})
    if "limits" in layers:
        batch = with_limits(batch, seed)
    if "retained" in layers:
        batch = with_retention(batch, seed)
    if "deleted" in layers:
        batch = with_deletions(batch)
    return with_rates(batch, seed) if "rates" in layers else batch


def retained_batch(seed: int, cases: int, uneven: bool = False) -> dict[str, Any]:
    """A random batch whose topics have short segments and lose them by size, by age and below the log start.

    `uneven`: its rounds divide no period.
    """
    batch = with_retention(random_batch(seed, cases), seed)
    if not uneven:
        return batch
    return {**batch, "cluster": {**batch["cluster"], "round_ms": random_batch(seed, 0, uneven=True)["cluster"]["round_ms"]}}


def with_retention(batch: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The batch with short segments in its topics, which lose them by size, by age and below the log start."""
    cluster = batch["cluster"]
    config = {**cluster["config"], "log.retention.check.interval.ms": 2 * cluster["round_ms"]}
    cases = [_retained(case, seed, cluster) for case in batch["cases"]]
    return {**batch, "cluster": {**cluster, "config": config}, "cases": cases}


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


def with_deletions(batch: dict[str, Any]) -> dict[str, Any]:
    """The batch, two of three topics of which go, each in another round."""
    rounds = batch["cluster"]["rounds"]
    for at, case in enumerate(batch["cases"]):
        if at % 3:
            case["commands"] = [*case["commands"], {"round": 1 + 7 * at % (rounds - 1), "kind": "delete_topic"}]
    return batch


def with_limits(batch: dict[str, Any], seed: int) -> dict[str, Any]:
    """The batch with a limit in most topics: of sizes that its records have, some of them above it."""
    rng = random.Random(seed)
    for case in batch["cases"]:
        if rng.random() < 0.8:
            case["topic_config"]["max.message.bytes"] = rng.choice((0, 9, 100, 332, 500))
    batch["cluster"]["config"]["max.message.bytes"] = 999
    return batch


def with_rates(batch: dict[str, Any], seed: int) -> dict[str, Any]:
    """The batch with rates in seconds in most rows of its workloads."""
    rng = random.Random(seed)
    for case in batch["cases"]:
        for row in case["workload"]:
            if rng.random() < 0.7:
                del row["records_per_round"]
                row["records_per_second"] = rng.choice(RATES)
    return batch
