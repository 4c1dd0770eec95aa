"""Random small fault schedules as one scenario file: what a protocol has to survive, thousands of times side by side.

    python -m datasets.schedules SCHEDULES PROTOCOL[,PROTOCOL...] [moments] > schedules.toml

Every partition is one schedule: three brokers, three faults on them, 30 rounds, empty logs at the start. Two brokers stop, one
after the other; a link is cut or slow or news are stale about that time, and some brokers fetch slowly. Elections come in fast
succession then, and the workload pauses and bursts, so that epochs leave few records or none.

A topic has its own workload, elections, acks and min.insync.replicas, and at most FAULT_SETS sets of three brokers with their
faults. A partition meets one of these sets; the partitions of a set differ in the order of the replicas and in the first leader,
which gives 18 schedules that are not alike. No unclean elections are configured.

Lost disks and power excuse losses, but not with eligible leader replicas: in every LOSSY_EVERY-th set all three brokers stop, and
one of them loses what it has (power_loss, disk_loss). With `moments` what kills a broker does so at a drawn moment of its round,
or after the append. A protocol named NAME+elr is run with eligible leader replicas and min.insync.replicas 2.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterable, Sequence
from itertools import permutations
from typing import Any

from datasets.toml_text import table, value

ROUNDS, ROUND_MS, RECORD_BYTES = 30, 500, 100
TOPICS, FAULT_SETS, LOSSY_EVERY = 60, 150, 6
SEED = 7
WITH_ELR = "+elr"
CONFIG = {
    "auto.leader.rebalance.enable": False,
    "replica.lag.time.max.ms": 4 * ROUND_MS,
    "replica.high.watermark.checkpoint.interval.ms": 10 * ROUND_MS,
    "replica.fetch.wait.max.ms": 0,
}
_STOPS = (
    *("controlled_shutdown", "broker_crash"),
    *("isolation", "isolation", "isolation", "broker_pause", "broker_pause", "broker_pause"),
)
_LOSSY_STOPS = ("power_loss", "disk_loss")
_OTHERS = ("link_cut", "link_cut", "stale_metadata", "stale_metadata", "slow_link")
Start = tuple[list[int], int]
"""The replicas of a partition in their order, and which of them leads first."""


def schedules_toml(schedules: int, protocols: Sequence[str], seed: int = SEED, moments: bool = False) -> str:
    """The scenario file: as many schedules as asked, rounded up to whole topics, a variant for each protocol."""
    partitions = -(-schedules // TOPICS)
    sets = min(partitions, FAULT_SETS)
    rng, drawn = random.Random(f"schedules/{seed}"), random.Random(f"moments/{seed}") if moments else None
    first, *others = protocols
    lines = [
        'name = "schedules"',
        f"protocol = {json.dumps(first.removesuffix(WITH_ELR))}",
        f"rounds = {ROUNDS}",
        f"round_ms = {ROUND_MS}",
        f"seed = {seed}",
        "[cluster]",
        f"brokers = {3 * sets * TOPICS}",
        "session_timeout_rounds = 2",
        "fetches_per_round = 1",
        f"features = {{ {_elr(first)} }}",
        f"config = {value(CONFIG)}",
    ]
    for number in range(TOPICS):
        trouble = rng.randint(5, 9)
        first_set = number * sets
        for fault_set in range(first_set, first_set + sets):
            brokers = brokers_of(fault_set)
            for fault in _faults(rng, brokers, trouble, lossy=fault_set % LOSSY_EVERY == 0):
                lines += table("faults", with_moment(drawn, fault))
            for command in _slow_fetchers(rng, brokers):
                lines += table("commands", command)
        fault_sets = [first_set + partition % sets for partition in range(partitions)]
        lines += _topic(rng, f"s{number:02d}", number, trouble, fault_sets)
    for name in others:
        lines += _variant(name)
    return "\n".join(lines) + "\n"


def brokers_of(fault_set: int) -> list[int]:
    """The three brokers of a fault set."""
    return [3 * fault_set + i for i in (1, 2, 3)]


def _faults(rng: random.Random, brokers: list[int], trouble: int, lossy: bool) -> Iterable[dict[str, Any]]:
    """Brokers that stop one after the other, and what happens to a link or to news meanwhile."""
    stopping = rng.sample(brokers, 3 if lossy else 2)
    losing = rng.choice(stopping) if lossy else None
    round_ = trouble + rng.randint(-4, 2)
    for broker in stopping:
        kind = rng.choice(_LOSSY_STOPS if broker == losing else _STOPS)
        stop = {"kind": kind, "broker": broker, "from_round": round_, "to_round": round_ + rng.choice((1, 2, 3, 4, 8))}
        yield {**stop, "clients": True} if kind == "isolation" and rng.random() < 0.1 else stop
        round_ += rng.randint(1, 4)
    if not lossy:
        yield _other_fault(rng, brokers, trouble + rng.randint(-2, 3))


def with_moment(rng: random.Random | None, fault: dict[str, Any]) -> dict[str, Any]:
    """The fault with a moment, if it kills a broker; None: as it is."""
    if rng is None or fault["kind"] not in ("broker_crash", *_LOSSY_STOPS):
        return fault
    return {**fault, "moment": rng.choice((round(rng.random(), 6), "after-append"))}


def _other_fault(rng: random.Random, brokers: list[int], from_round: int) -> dict[str, Any]:
    kind, broker = rng.choice(_OTHERS), rng.choice(brokers)
    fault: dict[str, Any] = {"kind": kind, "broker": broker}
    fault |= {"from_round": from_round, "to_round": from_round + rng.choice((4, 8, 12))}
    if kind == "stale_metadata":
        return {**fault, "lag_rounds": rng.randint(1, 6)} if rng.random() < 0.5 else fault
    fault |= {"peer": rng.choice([b for b in brokers if b != broker]), "direction": rng.choice(("both", "in", "out"))}
    return {**fault, "bytes_per_second": RECORD_BYTES * rng.randint(2, 4)} if kind == "slow_link" else fault


def _slow_fetchers(rng: random.Random, brokers: list[int]) -> Iterable[dict[str, Any]]:
    for broker in brokers:
        if rng.random() < 0.5:
            config = {"replica.fetch.max.bytes": RECORD_BYTES * rng.randint(1, 2)}
            yield {"round": 0, "kind": "alter_config", "broker": broker, "config": config}


def _topic(rng: random.Random, name: str, number: int, trouble: int, fault_sets: list[int]) -> list[str]:
    starts = starts_of(rng, fault_sets, 3)
    config = {"min.insync.replicas": 2 if number % 3 == 2 else 1}
    lines = table("topics", {"name": name, "assignment": [replicas for replicas, _ in starts], "config": config})
    for partition, (replicas, leader) in enumerate(starts):
        if leader != replicas[0]:
            lines += table("initial.partitions", {"topic": name, "partition": partition, "leader": leader})
    flows = [(0, rng.choice((ROUNDS, trouble, trouble + 1, trouble + 2)))]
    flows += [(start, start + 1) for start in (trouble + rng.randint(-2, 8) for _ in range(rng.randint(0, 3)))]
    for from_round, to_round in flows:
        row = {"topic": name, "from_round": from_round, "to_round": to_round, "records_per_round": rng.randint(1, 3)}
        lines += table("workload", {**row, "record_bytes": RECORD_BYTES, "acks": "1" if number % 2 else "all"})
    round_ = trouble
    for _ in range(rng.choice((5, 6, 8))):
        lines += table("commands", {"round": round_, "kind": "preferred_leader_election", "topic": name})
        round_ += rng.randint(1, 3)
    return lines


def starts_of(rng: random.Random, fault_sets: Sequence[int], replicas: int) -> list[Start]:
    """The replicas and the first leader of each partition: no two of a fault set are the same, while there are others."""
    left: dict[int, list[Start]] = {}
    starts = []
    for fault_set in fault_sets:
        if not left.get(fault_set):
            brokers = brokers_of(fault_set)
            every = [(list(o), leader) for o in permutations(brokers, replicas) for leader in brokers if leader in o]
            left[fault_set] = rng.sample(every, len(every))
        starts.append(left[fault_set].pop())
    return starts


def _variant(name: str) -> list[str]:
    variant: dict[str, Any] = {"name": name, "protocol": name.removesuffix(WITH_ELR)}
    if name.endswith(WITH_ELR):
        variant["cluster"] = {"features": {"eligible.leader.replicas.version": 1}}
        config = {"min.insync.replicas": 2}
        variant["topics"] = [{"name": f"s{number:02d}", "config": config} for number in range(TOPICS)]
    return table("variants", variant)


def _elr(protocol: str) -> str:
    return f'"eligible.leader.replicas.version" = {int(protocol.endswith(WITH_ELR))}'


if __name__ == "__main__":
    sys.stdout.write(schedules_toml(int(sys.argv[1]), sys.argv[2].split(","), moments="moments" in sys.argv[3:]))
