"""What tiered schedules have laid over them: fetches, ages of segments, moments, other faults, ELR, more settings.

Each draws with a generator of its own, so that the schedules it is laid over stay as their seed gives them. They are for
comparing engines, and may be laid over schedules with a state of the start, too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from ..random_additions import case_with_elr, case_with_moments, with_elr
from .schedules import BROKERS, RACKS, RECORD_BYTES, ROUND_MS, ROUNDS

Case = Mapping[str, Any]
FETCHING: tuple[dict[str, float], ...] = (
    {"fetch_round_trip_ms": 1},
    {"fetch_round_trip_ms": 1},
    {"fetches_per_round": 2},
    {"fetches_per_round": 4},
    {"fetch_round_trip_ms": ROUND_MS / 3},
    {"fetch_round_trip_ms": 30.125, "fetch_bytes_per_second": 3000},
)
"""What a schedule says of fetches; the first is the default, as many as fit."""


def with_fetches(seed: int, case: Case) -> dict[str, Any]:
    """The schedule with several fetches a round, some of them of a record or two, and in half of them with more records."""
    rng = random.Random(f"tiered/fetches/{seed}")
    config = {**case["config"], "replica.fetch.max.bytes": rng.choice((1, 2, 3, 8)) * RECORD_BYTES}
    more = rng.choice((0, 0, 2, 5))
    workload = [{**row, "records_per_round": row["records_per_round"] + more} for row in case["workload"]]
    return {**case, **rng.choice(FETCHING), "config": config, "workload": workload}


def with_ages(seed: int, case: Case) -> dict[str, Any]:
    """The schedule with segments that roll by age: from the start, by a command, or both; half of them seldom by size."""
    rng = random.Random(f"tiered/ages/{seed}")
    topic_config, commands = dict(case["topic_config"]), list(case["commands"])
    if rng.random() < 0.8:
        topic_config["segment.ms"] = rng.randint(1, 12) * ROUND_MS
    if rng.random() < 0.5 or "segment.ms" not in topic_config:
        age = {"segment.ms": rng.choice((1, 2, 3, 8, 10_000)) * ROUND_MS}
        commands.append({"round": rng.randint(0, 40), "kind": "alter_config", "config": age})
    if rng.random() < 0.5:
        topic_config["segment.bytes"] = rng.choice((8, 20, 200)) * RECORD_BYTES
    workload = list(case["workload"])
    if rng.random() < 0.5:  # quiet for a while, so that a segment is old when the next record comes
        start = rng.randint(5, 30)
        workload[0] = {**workload[0], "to_round": start}
        workload.append({**workload[0], "from_round": start + rng.randint(2, 9), "to_round": ROUNDS})
    return {**case, "topic_config": topic_config, "commands": commands, "workload": workload}


def with_last_moments(seed: int, case: Case) -> dict[str, Any]:
    """The schedule with moments of faults, with more records, some of acks 1."""
    return case_with_moments(random.Random(f"tiered/moments/{seed}"), case)


def with_other_faults(seed: int, case: Case) -> dict[str, Any]:
    """The schedule with faults of links, disks, the controller and racks that it has not by itself."""
    rng = random.Random(f"tiered/faults/{seed}")
    faults = [_otherwise(rng, fault) for fault in case["faults"]]
    for _ in range(rng.choice((1, 1, 2, 3))):
        faults.append({**_other_fault(rng), **_interval(rng)})
    racks = {broker: str((broker - 1) % RACKS) for broker in BROKERS}
    return {**case, "racks": racks, "rack_count": RACKS, "faults": faults}


def _otherwise(rng: random.Random, fault: Mapping[str, Any]) -> dict[str, Any]:
    """A fault of the schedule, some with a direction, without clients or with old news."""
    if fault["kind"] == "link_cut" and rng.random() < 0.6:
        return {**fault, "direction": rng.choice(("in", "out", "both"))}
    if fault["kind"] == "isolation" and rng.random() < 0.5:
        return {**fault, "clients": rng.random() < 0.8}
    if fault["kind"] == "stale_metadata" and rng.random() < 0.7:
        return {**fault, "lag_rounds": rng.randint(1, 8)}
    return dict(fault)


def _other_fault(rng: random.Random) -> dict[str, Any]:
    broker = rng.choice(BROKERS)
    peer = rng.choice([other for other in BROKERS if other != broker])
    kind = rng.choice(("slow_link", "slow_link", "slow_disk", "controller_loss", "rack_loss", "link_cut", "stale_metadata"))
    fault: dict[str, Any] = {"kind": kind}
    if kind in ("slow_link", "slow_disk", "link_cut", "stale_metadata"):
        fault["broker"] = broker
    if kind == "link_cut" or (kind == "slow_link" and rng.random() < 0.6):
        fault |= {"peer": peer, "direction": rng.choice(("in", "out", "both"))}
    if kind == "slow_disk" or (kind == "slow_link" and rng.random() < 0.7):
        fault["bytes_per_second"] = rng.choice((20, 100, 200, 1000))
    if kind == "slow_link" and ("bytes_per_second" not in fault or rng.random() < 0.3):
        fault["round_trip_ms"] = ROUND_MS / rng.choice((0.5, 2, 5))
    if kind == "rack_loss":
        fault |= {"rack": rng.choice("01"), "power": rng.random() < 0.3}
    if kind == "stale_metadata":
        fault["lag_rounds"] = rng.randint(1, 8)
    return fault


def _interval(rng: random.Random) -> dict[str, int]:
    from_round = rng.randint(1, 40)
    return {"from_round": from_round, "to_round": from_round + rng.choice((1, 2, 4, 8, 12))}


def with_eligible_replicas(seed: int, case: Case) -> dict[str, Any]:
    """The schedule with eligible leader replicas (KIP-966), an ISR that is easily too small, and more outages."""
    cluster = with_elr(seed, case)
    initial = case.get("initial")
    return case_with_elr(random.Random(f"tiered/elr/{seed}"), {**cluster, "initial": initial}, cluster)


def with_more_settings(seed: int, case: Case) -> dict[str, Any]:
    """The schedule with keys that it never has, of all kinds of sizes, and with commands that change them."""
    rng = random.Random(f"tiered/settings/{seed}")
    config, topic_config = dict(case["config"]), dict(case["topic_config"])
    for key, values in AT_THE_START.items():
        if rng.random() < 0.3:
            config[key] = rng.choice(values)
    if rng.random() < 0.25:
        age = topic_config["retention.ms"]
        topic_config["local.retention.ms"] = rng.choice((0, 3, 8)) * ROUND_MS if age < 0 else rng.choice((0, age // 3, age))
    if rng.random() < 0.2:
        topic_config["flush.ms"] = rng.choice((1, 4, 15)) * ROUND_MS
    commands = [*case["commands"], *[_setting(rng) for _ in range(rng.choice((0, 1, 2, 3)))]]
    if rng.random() < 0.2:
        commands += _first_turned_on(rng, topic_config, case)
    reassigned = [command["round"] for command in commands if command["kind"] == "reassign"]
    if reassigned and rng.random() < 0.4:
        commands.append({"round": rng.choice(reassigned) + rng.randint(0, 4), "kind": "cancel_reassignment"})
    workload = [{**row, "record_bytes": rng.choice((RECORD_BYTES, RECORD_BYTES, 40, 130))} for row in case["workload"]]
    if rng.random() < 0.2:
        workload = [{**row, "acks": rng.choice((row["acks"], "0"))} for row in workload]
    changed = {**case, "config": config, "topic_config": topic_config, "commands": commands, "workload": workload}
    return _with_other_replicas(rng, changed) if case.get("initial") is None and rng.random() < 0.3 else changed


AT_THE_START: dict[str, tuple[Any, ...]] = {
    "auto.leader.rebalance.enable": (True,),
    "leader.imbalance.check.interval.seconds": (1, 5),
    "replica.fetch.response.max.bytes": (150, 1000),
    "replica.fetch.wait.max.ms": (0,),
    "remote.log.manager.task.retry.backoff.ms": (100, 1200),
    "remote.log.manager.task.retry.backoff.max.ms": (ROUND_MS, 3 * ROUND_MS),
    "log.flush.interval.messages": (1, 5),
    "log.flush.interval.ms": (ROUND_MS, 7 * ROUND_MS),
    "log.flush.scheduler.interval.ms": (2 * ROUND_MS, 5 * ROUND_MS),
    "remote.log.manager.copier.thread.pool.size": (1,),
    "remote.log.manager.copy.max.bytes.per.second": (20, 100),
    "message.max.bytes": (RECORD_BYTES,),
}
OF_THE_TOPIC: dict[str, tuple[Any, ...]] = {
    "min.insync.replicas": (1, 2, 3),
    "unclean.leader.election.enable": (True, False),
    "segment.bytes": (RECORD_BYTES, 4 * RECORD_BYTES, 9 * RECORD_BYTES),
    "segment.ms": (ROUND_MS, 5 * ROUND_MS),
    "flush.messages": (1, 4),
    "flush.ms": (ROUND_MS, 6 * ROUND_MS),
    "remote.copy.lag.ms": (0, -1),
    "remote.copy.lag.bytes": (0, -1),
    "local.retention.bytes": (-2, 0, 4 * RECORD_BYTES),
    "local.retention.ms": (-2, 0, 4 * ROUND_MS),
    "retention.ms": (-1, 0, 10 * ROUND_MS),
    "retention.bytes": (-1, 0, 9 * RECORD_BYTES),
    "leader.election.eligible.local.log.ms": (-1, 3 * ROUND_MS),
    "leader.election.eligible.local.log.bytes": (-1, 5 * RECORD_BYTES),
    "remote.log.copy.disable": (True, False),
}
OF_A_BROKER: dict[str, tuple[Any, ...]] = {
    "replica.fetch.max.bytes": (1, RECORD_BYTES, 5000),
    "replica.fetch.response.max.bytes": (RECORD_BYTES, 5000),
    "replica.fetch.wait.max.ms": (0, 500),
    "follower.fetch.last.tiered.offset.enable": (True, False),
    "remote.log.manager.copier.thread.pool.size": (1, 10),
    "remote.log.manager.copy.max.bytes.per.second": (1, 50, 400),
}
OF_EVERY_BROKER: dict[str, tuple[Any, ...]] = {
    "replica.lag.time.max.ms": (ROUND_MS, 6 * ROUND_MS),
    "replica.high.watermark.checkpoint.interval.ms": (ROUND_MS, 5 * ROUND_MS),
    "replica.fetch.backoff.ms": (ROUND_MS, 4 * ROUND_MS),
    "log.retention.check.interval.ms": (ROUND_MS, 4 * ROUND_MS),
    "remote.log.manager.task.interval.ms": (ROUND_MS, 5 * ROUND_MS),
    "remote.log.manager.task.retry.backoff.ms": (200, 2 * ROUND_MS),
    "remote.log.manager.task.retry.backoff.max.ms": (ROUND_MS, 9 * ROUND_MS),
    "auto.leader.rebalance.enable": (True, False),
    "leader.imbalance.check.interval.seconds": (1, 4),
}
"""Keys that the topic, a broker, or all brokers get in mid-run, with their values."""


def _setting(rng: random.Random) -> dict[str, Any]:
    """A command that changes a key of the topic, of a broker, or of every broker; a topic's own is stronger than the last."""
    command: dict[str, Any] = {"round": rng.randint(0, 44), "kind": "alter_config"}
    of = rng.choice((OF_THE_TOPIC, OF_THE_TOPIC, OF_A_BROKER, OF_EVERY_BROKER, OF_EVERY_BROKER))
    if of is OF_EVERY_BROKER and rng.random() < 0.5:
        of = rng.choice((OF_THE_TOPIC, OF_A_BROKER))
        command["every_broker"] = True
    elif of is OF_EVERY_BROKER:
        command["every_broker"] = True
    elif of is OF_A_BROKER:
        command["broker"] = rng.choice(BROKERS)
    key = rng.choice(list(of))
    return {**command, "config": {key: rng.choice(of[key])}}


def _first_turned_on(rng: random.Random, topic_config: dict[str, Any], case: Case) -> list[dict[str, Any]]:
    """Remote storage, unless some of the log is there, or copying, begins in mid-run only."""
    key, before, after = rng.choice((("remote.storage.enable", False, True), ("remote.log.copy.disable", True, False)))
    if "replicas" in (case.get("initial") or {}):
        key, before, after = "remote.log.copy.disable", True, False
    topic_config[key] = before
    return [{"round": rng.randint(3, 30), "kind": "alter_config", "config": {key: after}}]


def _with_other_replicas(rng: random.Random, case: dict[str, Any]) -> dict[str, Any]:
    """The case with one replica, or four or five of as many brokers."""
    count = rng.choice((1, 1, 4, 5))
    if count == 1:
        topic_config = {**case["topic_config"], "min.insync.replicas": 1}
        return {**case, "replicas": case["replicas"][:1], "topic_config": topic_config}
    brokers = [*BROKERS, 4, 5]
    others = [broker for broker in brokers if broker not in case["replicas"]]
    racks = {broker: str((broker - 1) % RACKS) for broker in brokers} if case["racks"] else {}
    replicas = [*case["replicas"], *rng.sample(others, count - len(case["replicas"]))]
    return {**case, "brokers": brokers, "racks": racks, "replicas": replicas}


LAYERS: tuple[Callable[[int, Case], dict[str, Any]], ...] = (
    with_fetches, with_ages, with_last_moments, with_other_faults, with_eligible_replicas, with_more_settings,
)  # fmt: skip
MOST_LAYERS = 3


def laid_over(seed: int, case: Case) -> dict[str, Any]:
    """The schedule with one to three of these."""
    rng = random.Random(f"tiered/layers/{seed}")
    chosen = rng.sample(range(len(LAYERS)), rng.randint(1, MOST_LAYERS))
    layered = dict(case)
    for at in sorted(chosen):
        layered = LAYERS[at](seed, layered)
    return layered


def every_other(seed: int, case: Case) -> dict[str, Any]:
    """The schedule as it is if its seed is even, else with some of these."""
    return laid_over(seed, case) if seed % 2 else dict(case)
