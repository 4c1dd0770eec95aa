"""Random small fault schedules as one scenario file: what a protocol has to survive, thousands of times side by side.

    python -m datasets.schedules SCHEDULES PROTOCOL[,PROTOCOL...] > schedules.toml

Every partition is one schedule: three brokers, at most three faults on them, 30 rounds, a workload that pauses and bursts, slow
fetchers, elections that come soon after the trouble. A topic has its own workload, elections, acks and min.insync.replicas, and
at most FAULT_SETS sets of brokers with their faults; a partition meets one of them with a replica order of its own. No unclean
elections are configured. In every fifth fault set one broker may lose records (power_loss, disk_loss). A protocol named
NAME+elr is run with eligible leader replicas and min.insync.replicas 2.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterable, Sequence
from typing import Any

ROUNDS, ROUND_MS, RECORD_BYTES = 30, 500, 100
TOPICS, FAULT_SETS = 24, 250
SEED = 7
WITH_ELR = "+elr"
_HARMLESS = (
    *("broker_crash", "controlled_shutdown", "controlled_shutdown", "broker_pause", "isolation"),
    *("link_cut", "link_cut", "slow_link", "stale_metadata", "stale_metadata", "stale_metadata"),
)
_LOSSY = ("power_loss", "disk_loss")


def schedules_toml(schedules: int, protocols: Sequence[str], seed: int = SEED) -> str:
    """The scenario file: as many schedules as asked, rounded up to whole topics, a variant for each protocol."""
    partitions = -(-schedules // TOPICS)
    sets = min(partitions, FAULT_SETS)
    rng = random.Random(f"schedules/{seed}")
    first, *others = protocols
    lines = [
        'name = "schedules"',
        f"protocol = {json.dumps(first.removesuffix(WITH_ELR))}",
        f"rounds = {ROUNDS}",
        f"round_ms = {ROUND_MS}",
        f"seed = {seed}",
        "[cluster]",
        f"brokers = {3 * sets * TOPICS}",
        "session_timeout_rounds = 3",
        f"features = {{ {_elr(first)} }}",
        f'config = {{ "auto.leader.rebalance.enable" = false, "replica.lag.time.max.ms" = {3 * ROUND_MS},'
        f' "replica.high.watermark.checkpoint.interval.ms" = {3 * ROUND_MS} }}',
    ]
    for number in range(TOPICS):
        trouble = rng.randint(4, 12)
        first_set = number * sets
        for at in range(sets):
            brokers = _brokers(first_set + at)
            for fault in _faults(rng, brokers, trouble, lossy=at % 5 == 4):
                lines += _table("faults", fault)
            for command in _slow_fetchers(rng, brokers):
                lines += _table("commands", command)
        assignment = [rng.sample(_brokers(first_set + p % sets), 3) for p in range(partitions)]
        lines += _topic(rng, f"s{number:02d}", number, trouble, assignment)
    for name in others:
        lines += _variant(name)
    return "\n".join(lines) + "\n"


def _brokers(fault_set: int) -> list[int]:
    return [3 * fault_set + i for i in (1, 2, 3)]


def _faults(rng: random.Random, brokers: list[int], trouble: int, lossy: bool) -> Iterable[dict[str, Any]]:
    for at in range(rng.randint(1, 3)):
        fault: dict[str, Any] = {"kind": rng.choice(_HARMLESS), "broker": rng.choice(brokers)}
        if lossy and at == 0:
            fault["kind"] = rng.choice(_LOSSY)
        fault["from_round"] = max(1, trouble + rng.randint(-5, 3))
        fault["to_round"] = fault["from_round"] + rng.choice((1, 2, 4, 8, 12))
        if fault["kind"] in ("link_cut", "slow_link"):
            fault["peer"] = rng.choice([b for b in brokers if b != fault["broker"]])
            fault["direction"] = rng.choice(("both", "in", "out"))
        if fault["kind"] == "stale_metadata" and rng.random() < 0.5:
            fault["lag_rounds"] = rng.randint(1, 6)
        if fault["kind"] == "slow_link":
            fault["bytes_per_second"] = RECORD_BYTES * rng.randint(1, 4)
        yield fault


def _slow_fetchers(rng: random.Random, brokers: list[int]) -> Iterable[dict[str, Any]]:
    for broker in brokers:
        if rng.random() < 0.4:
            config = {"replica.fetch.max.bytes": RECORD_BYTES * rng.randint(1, 2)}
            yield {"round": 0, "kind": "alter_config", "broker": broker, "config": config}


def _topic(rng: random.Random, name: str, number: int, trouble: int, assignment: list[list[int]]) -> list[str]:
    config = {"min.insync.replicas": 2 if number % 3 == 2 else 1}
    lines = _table("topics", {"name": name, "assignment": assignment, "config": config})
    flows = [(0, rng.choice((ROUNDS, trouble, trouble + 1, trouble + 2)))]
    flows += [(start, start + 1) for start in (trouble + rng.randint(-2, 8) for _ in range(rng.randint(0, 3)))]
    for from_round, to_round in flows:
        row = {"topic": name, "from_round": from_round, "to_round": to_round, "records_per_round": rng.randint(1, 3)}
        lines += _table("workload", {**row, "record_bytes": RECORD_BYTES, "acks": "1" if number % 2 else "all"})
    round_ = trouble
    for _ in range(rng.randint(0, 4)):
        lines += _table("commands", {"round": round_, "kind": "preferred_leader_election", "topic": name})
        round_ += rng.choice((1, 2, 3))
    return lines


def _variant(name: str) -> list[str]:
    variant: dict[str, Any] = {"name": name, "protocol": name.removesuffix(WITH_ELR)}
    if name.endswith(WITH_ELR):
        variant["cluster"] = {"features": {"eligible.leader.replicas.version": 1}}
        config = {"min.insync.replicas": 2}
        variant["topics"] = [{"name": f"s{number:02d}", "config": config} for number in range(TOPICS)]
    return _table("variants", variant)


def _elr(protocol: str) -> str:
    return f'"eligible.leader.replicas.version" = {int(protocol.endswith(WITH_ELR))}'


def _table(name: str, row: dict[str, Any]) -> list[str]:
    return [f"[[{name}]]", *(f"{key} = {_value(value)}" for key, value in row.items())]


def _value(value: Any) -> str:
    """A TOML value: JSON but for tables."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_value(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value)


if __name__ == "__main__":
    sys.stdout.write(schedules_toml(int(sys.argv[1]), sys.argv[2].split(",")))
