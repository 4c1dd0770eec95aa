"""Random small schedules of tiered partitions as one scenario file: stores away, metadata late, unclean elections, lost disks.

    python -m datasets.tier_schedules SCHEDULES PROTOCOL[,PROTOCOL...] [moments] > schedules.toml

Every partition is one schedule: two or three replicas on three brokers, short segments, all tasks every few rounds, empty logs at
the start, 50 rounds with trouble in the first 32. Each protocol has STORES scenarios: another store (how fast, how late its
metadata, what becomes of a copy when the leader changes, who tells followers) and other periods of tasks.

A topic has its own limits, workload, trouble of the store and commands. In odd topics elections may be unclean, and power and
disks are lost. A partition meets one of at most FAULT_SETS sets of three brokers with their faults; the partitions of a set
differ in their replicas and in the first leader, and `moments` are drawn, as in schedules.py.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from datasets.schedules import brokers_of, starts_of, with_moment
from datasets.toml_text import table, value

ROUNDS, ROUND_MS, RECORD_BYTES = 50, 500, 100
STORES, TOPICS, FAULT_SETS = 6, 40, 150
SEED = 7
_BROKER_FAULTS = (
    "broker_crash",
    "broker_crash",
    "controlled_shutdown",
    "broker_pause",
    "isolation",
    "link_cut",
    "stale_metadata",
)
_LOSSES = ("power_loss", "disk_loss", "disk_loss")
_STORE_FAULTS = ("remote_storage_outage", "remote_storage_outage", "slow_remote_storage", "open_transaction")


def tier_schedules_toml(
    schedules: int, protocols: Sequence[str], seed: int = SEED, topics: int = TOPICS, moments: bool = False
) -> str:
    """The scenario file: for each protocol as many schedules as asked, rounded up to whole stores and topics."""
    partitions = -(-schedules // (STORES * topics))
    sets = min(partitions, FAULT_SETS)
    rng, drawn = random.Random(f"tier schedules/{seed}"), random.Random(f"moments/{seed}") if moments else None
    stores = [_store(random.Random(f"store/{seed}/{number}"), number) for number in range(STORES)]
    lines = [
        'name = "tier-schedules"',
        f"protocol = {json.dumps(protocols[0])}",
        f"rounds = {ROUNDS}",
        f"round_ms = {ROUND_MS}",
        f"seed = {seed}",
        "[cluster]",
        f"brokers = {3 * sets * topics}",
        *(f"{key} = {value(of_key)}" for key, of_key in stores[0]["cluster"].items()),
        "[remote_storage]",
        *(f"{key} = {value(of_key)}" for key, of_key in stores[0]["remote_storage"].items()),
    ]
    for number in range(topics):
        first_set = number * sets
        for fault_set in range(first_set, first_set + sets):
            for fault in _faults(rng, brokers_of(fault_set), lossy=number % 2 == 1):
                lines += table("faults", with_moment(drawn, fault))
        lines += _topic(rng, f"t{number:02d}", number, [first_set + partition % sets for partition in range(partitions)])
    for at, protocol in enumerate(protocols):
        for number, store in enumerate(stores):
            if (at, number) != (0, 0):
                lines += table("variants", {"name": f"{protocol}-{number}", "protocol": protocol, **store})
    return "\n".join(lines) + "\n"


def _store(rng: random.Random, number: int) -> dict[str, Any]:
    """What a scenario has of its own: its cluster and its remote storage. The first one's copies take no time."""
    config = {
        "auto.leader.rebalance.enable": False,
        "remote.log.storage.system.enable": True,
        "replica.lag.time.max.ms": rng.choice((2, 4, 8)) * ROUND_MS,
        "replica.fetch.max.bytes": rng.choice((3, 8, 50)) * RECORD_BYTES,
        "replica.high.watermark.checkpoint.interval.ms": rng.choice((1, 4)) * ROUND_MS,
        "replica.fetch.backoff.ms": rng.choice((1, 2)) * ROUND_MS,
        "log.retention.check.interval.ms": rng.choice((1, 1, 3)) * ROUND_MS,
        "remote.log.manager.task.interval.ms": rng.choice((1, 1, 2, 4)) * ROUND_MS,
        "remote.log.manager.task.retry.backoff.max.ms": 8 * ROUND_MS,
        "follower.fetch.last.tiered.offset.enable": number % 3 == 2,
    }
    store = {
        "metadata": "list" if number % 3 == 1 else "topic",
        "metadata_lag_rounds": rng.choice((0, 1, 3)),
        "on_leadership_lost": "finish" if number % 2 else "cancel",
        "aux_state": "leader" if number % 4 == 3 else "remote",
    }
    rate = {"copy_bytes_per_second": rng.choice((2, 6)) * RECORD_BYTES} if number % 2 else {}
    return {
        "cluster": {"session_timeout_rounds": rng.randint(2, 4), "fetches_per_round": 1, "config": config},
        "remote_storage": {**store, **rate},
    }


def _interval(rng: random.Random) -> dict[str, int]:
    from_round = rng.randint(2, 32)
    return {"from_round": from_round, "to_round": from_round + rng.choice((1, 3, 6, 12))}


def _faults(rng: random.Random, brokers: list[int], lossy: bool) -> Iterable[dict[str, Any]]:
    """What happens to three brokers; often where records may be lost the followers of one are left behind before it goes."""
    kinds = (*_BROKER_FAULTS, *_LOSSES) if lossy else _BROKER_FAULTS
    for _ in range(rng.randint(1, 3)):
        fault = {"kind": rng.choice(kinds), "broker": rng.choice(brokers), **_interval(rng)}
        if fault["kind"] == "link_cut":
            fault["peer"] = rng.choice([broker for broker in brokers if broker != fault["broker"]])
        yield fault
    if rng.random() < 0.4:
        late = {"kind": "remote_metadata_lag", "broker": rng.choice(brokers), **_interval(rng)}
        yield {**late, "lag_rounds": rng.choice((1, 4))} if rng.random() < 0.7 else late
    if lossy and rng.random() < 0.6:
        leader, from_round = rng.choice(brokers), rng.randint(3, 10)
        gone = from_round + rng.randint(6, 14)
        for broker in brokers:
            if broker != leader:
                yield {"kind": "link_cut", "broker": leader, "peer": broker, "from_round": from_round, "to_round": gone + 8}
        kind = rng.choice(("broker_crash", "isolation", "isolation", "broker_pause"))
        yield {"kind": kind, "broker": leader, "from_round": gone, "to_round": gone + rng.randint(6, 12)}


def _topic(rng: random.Random, name: str, number: int, fault_sets: list[int]) -> list[str]:
    unclean = number % 2 == 1
    starts = starts_of(rng, fault_sets, 2 if number % 4 >= 2 else 3)
    assignment = [replicas for replicas, _ in starts]
    lines = table("topics", {"name": name, "assignment": assignment, "config": _config(rng, unclean)})
    for partition, (replicas, leader) in enumerate(starts):
        if leader != replicas[0]:
            lines += table("initial.partitions", {"topic": name, "partition": partition, "leader": leader})
    flows = [(0, rng.randint(15, ROUNDS), rng.randint(1, 3))]
    flows += [(start, start + 1, rng.randint(1, 6)) for start in (rng.randint(5, 40) for _ in range(rng.randint(0, 2)))]
    acks = rng.choice(("1", "all")) if unclean else "all"
    for from_round, to_round, records in flows:
        row = {"topic": name, "from_round": from_round, "to_round": to_round, "records_per_round": records}
        lines += table("workload", {**row, "record_bytes": RECORD_BYTES, "acks": acks})
    for _ in range(rng.choice((0, 1, 1, 2))):
        fault = {"kind": rng.choice(_STORE_FAULTS), "topic": name, **_interval(rng)}
        slow = {"bytes_per_second": rng.choice((0, RECORD_BYTES))} if fault["kind"] == "slow_remote_storage" else {}
        lines += table("faults", {**fault, **slow})
    for command in (*_of_topic(rng, name), *_of_partitions(rng, name, assignment, fault_sets)):
        lines += table("commands", command)
    return lines


def _config(rng: random.Random, unclean: bool) -> dict[str, Any]:
    """A topic's limits, one topic in three with delayed upload (KIP-1241), one in five with leaders by local log (KIP-1303)."""
    segment_bytes = rng.randint(2, 5) * RECORD_BYTES
    local_bytes = rng.randint(0, 3) * segment_bytes
    config = {
        "remote.storage.enable": True,
        "min.insync.replicas": rng.choice((1, 1, 2)),
        "unclean.leader.election.enable": unclean,
        "segment.bytes": segment_bytes,
        "local.retention.bytes": local_bytes,
        "retention.ms": rng.choice((-1, -1, 15 * ROUND_MS)),
        "retention.bytes": rng.choice((-1, -1, rng.randint(3, 8) * segment_bytes)),
        "flush.messages": rng.choice((1, 3, 1000)),
    }
    if rng.random() < 0.33:
        config["remote.copy.lag.ms"] = rng.choice((-1, rng.randint(1, 12) * ROUND_MS))
        config["remote.copy.lag.bytes"] = rng.choice((-1, rng.randint(0, local_bytes // RECORD_BYTES) * RECORD_BYTES))
    if rng.random() < 0.2:
        unit, most = rng.choice((("ms", 12 * ROUND_MS), ("bytes", 4 * segment_bytes)))
        config[f"leader.election.eligible.local.log.{unit}"] = rng.randint(1, most)
    return config


def _of_topic(rng: random.Random, name: str) -> Iterable[dict[str, Any]]:
    """Elections of preferred leaders; copying is turned off, and perhaps on again."""
    for _ in range(rng.choice((0, 1, 2))):
        yield {"round": rng.randint(8, 36), "kind": "preferred_leader_election", "topic": name}
    if rng.random() < 0.15:
        round_ = rng.randint(8, 36)
        for at, off in ((round_, True), (round_ + rng.choice((1, 5, ROUNDS)), False)):
            if at < ROUNDS:
                config = {"remote.log.copy.disable": off}
                yield {"round": at, "kind": "alter_config", "topic": name, "config": config}


def _of_partitions(
    rng: random.Random, name: str, assignment: Sequence[list[int]], fault_sets: Sequence[int]
) -> Iterable[dict[str, Any]]:
    """One partition in four gets other replicas, one in ten loses the front of its log."""
    for partition, (replicas, fault_set) in enumerate(zip(assignment, fault_sets, strict=True)):
        place, chance = {"topic": name, "partition": partition}, rng.random()
        if chance < 0.25:
            target = rng.sample(brokers_of(fault_set), 5 - len(replicas))
            yield {"round": rng.randint(8, 36), "kind": "reassign", **place, "replicas": target}
        elif chance < 0.35:
            yield {"round": rng.randint(8, 36), "kind": "delete_records", **place, "offset": rng.choice((-1, 5, 12, 20))}


if __name__ == "__main__":
    sys.stdout.write(tier_schedules_toml(int(sys.argv[1]), sys.argv[2].split(","), moments="moments" in sys.argv[3:]))
