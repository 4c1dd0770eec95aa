"""Random scenarios, swarm style: each case draws which kinds of trouble it has at all, then how much of each.

A batch is one cluster with many partitions that share nothing but it: case i is topic "t<i>" with one partition on
brokers 10 * i + 1 to 10 * i + 9. `cases_of` gives the reference its cases, `to_toml` (scenario_toml.py) the engine its
file. All numbers are such that bytes per round and periods in rounds are whole.

With `elr` eligible leader replicas are on, with `late_news` stale_metadata faults let through old news, with `fetching` a
round holds several fetches, or as many as fit, and with `moments` brokers die at some moment of a round; with `uneven`
rounds divide no period, only bytes per round are rounded down; with `cut_racks` racks are cut off, in which most cases have
two replicas or more; with `seldom` faults and settings are given in ways that they seldom are. All lay something over the
cases that a seed gives without them.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from .random_additions import (
    case_with_elr,
    case_with_far_links,
    case_with_late_news,
    case_with_moments,
    case_with_rack_mates,
    case_with_reassignments,
    case_with_seldom,
    random_interval,
    with_cut_racks,
    with_elr,
    with_fetching,
    with_moments,
    with_seldom,
)
from .random_logs import random_initial
from .scenario_toml import BROKERS_PER_CASE, RACKS, to_toml
from .settings import FETCHING

__all__ = ["cases_of", "random_batch", "random_case", "random_cluster", "to_toml"]

ROUND_MS = (100, 250, 500, 1000)
UNEVEN_ROUND_MS = (70, 130, 300, 700, 1_700, 7_000)
BROKER_FAULTS = (
    "broker_crash", "power_loss", "disk_loss", "controlled_shutdown", "broker_pause", "isolation", "link_cut",
    "slow_link", "slow_disk", "stale_metadata",
)  # fmt: skip
TOPIC_KEYS = (
    "min.insync.replicas", "unclean.leader.election.enable", "segment.bytes", "segment.ms", "flush.messages",
    "flush.ms",
)  # fmt: skip


def random_case(seed: int, elr: bool = False, late_news: bool = False, cut_racks: bool = False) -> dict[str, Any]:
    """One case on its own, as `simulate` takes it."""
    return cases_of(random_batch(seed, 1, elr, late_news, cut_racks=cut_racks))[0]


def random_batch(
    seed: int,
    n: int,
    elr: bool = False,
    late_news: bool = False,
    fetching: bool = False,
    moments: bool = False,
    reassigned: bool = False,
    uneven: bool = False,
    cut_racks: bool = False,
    seldom: bool = False,
) -> dict[str, Any]:
    """A cluster and `n` cases on it: {"seed", "cluster": ..., "cases": [...]}."""
    cluster = random_cluster(seed)
    cases = [_random_partition(random.Random(f"case/{seed}/{i}"), i, cluster) for i in range(n)]
    if cut_racks:
        cluster = with_cut_racks(random.Random(f"racks/{seed}"), cluster, RACKS)
        draws = [random.Random(f"racks/{seed}/{i}") for i in range(n)]
        cases = [case_with_rack_mates(rng, case, cluster, RACKS) for rng, case in zip(draws, cases, strict=True)]
    if elr:
        cluster = with_elr(seed, cluster)
        cases = [case_with_elr(random.Random(f"elr/{seed}/{i}"), case, cluster) for i, case in enumerate(cases)]
    if late_news:
        cases = [case_with_late_news(random.Random(f"late/{seed}/{i}"), case, cluster) for i, case in enumerate(cases)]
    if fetching:
        cluster = with_fetching(seed, cluster)
        cases = [case_with_far_links(random.Random(f"far/{seed}/{i}"), case, cluster) for i, case in enumerate(cases)]
    if moments:
        cluster = {**cluster, "faults": with_moments(random.Random(f"moments/{seed}"), cluster["faults"])}
        cases = [case_with_moments(random.Random(f"moments/{seed}/{i}"), case) for i, case in enumerate(cases)]
    if reassigned:
        cases = [case_with_reassignments(random.Random(f"moves/{seed}/{i}"), case, cluster) for i, case in enumerate(cases)]
    if uneven:
        cluster = {**cluster, "round_ms": random.Random(f"uneven/{seed}").choice(UNEVEN_ROUND_MS)}
    if seldom:
        cluster = with_seldom(random.Random(f"seldom/{seed}"), cluster)
        cases = [case_with_seldom(random.Random(f"seldom/{seed}/{i}"), case, cluster) for i, case in enumerate(cases)]
    return {"seed": seed, "cluster": cluster, "cases": cases}


def moved_once_a_round(batch: Mapping[str, Any]) -> dict[str, Any]:
    """The batch with the last reassignment of each partition and round only, as relational rounds have them."""
    cases = []
    for case in batch["cases"]:
        last = {c["round"]: at for at, c in enumerate(case["commands"]) if c["kind"] == "reassign"}
        kept = [c for at, c in enumerate(case["commands"]) if c["kind"] != "reassign" or last[c["round"]] == at]
        cases.append({**case, "commands": kept})
    return {**batch, "cases": cases}


def random_cluster(seed: int) -> dict[str, Any]:
    """What all partitions of a batch share: length, clock, sessions, cluster config, controller and rack losses."""
    rng = random.Random(f"cluster/{seed}")
    rounds = rng.randint(25, 60)
    round_ms = rng.choice(ROUND_MS)
    config: dict[str, Any] = {
        "replica.lag.time.max.ms": rng.choice((rng.randint(2, 8), rng.randint(2, 40))) * round_ms
        + rng.choice((0, 0, round_ms // 2)),
        "replica.high.watermark.checkpoint.interval.ms": rng.choice((1, 2, 3, 5, 10, 20)) * round_ms,
        "replica.fetch.wait.max.ms": rng.choice((0, 500, 500)),
    }
    if rng.random() < 0.3:
        config["replica.fetch.max.bytes"] = rng.choice((500, 2000, 10_000))
    if seed % 4 == 3:  # of no draw, so that scenarios stay as they are
        config["log.flush.scheduler.interval.ms"] = (2 + seed // 4 % 5) * round_ms
    rebalancing = rng.random() < 0.3
    config["auto.leader.rebalance.enable"] = rebalancing
    if rebalancing:
        config["leader.imbalance.check.interval.seconds"] = rng.randint(5, 30) * max(1, round_ms // 1000)
    faults = []
    for _ in range(rng.choice((0, 0, 1, 2))):
        faults.append({"kind": "controller_loss", **random_interval(rng, rounds, rng.choice((3, 12)))})
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        faults.append({"kind": "rack_loss", "rack": str(rng.randrange(RACKS)), **random_interval(rng, rounds, 8)})
    for fault in faults:
        if fault["kind"] == "rack_loss" and fault["from_round"] % 2:  # of no draw, so that scenarios stay as they are
            fault["power"] = True
    return {
        "rounds": rounds,
        "round_ms": round_ms,
        "session_timeout_rounds": rng.choice((rng.randint(2, 5), rng.randint(2, 18))),
        "config": config,
        "faults": faults,
    }


def cases_of(batch: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The batch as cases of `simulate`, one per partition, faults in the order of the file."""
    cluster = batch["cluster"]
    keys = ("rounds", "round_ms", "session_timeout_rounds", "config", "features", *FETCHING)
    shared = {key: cluster[key] for key in keys if key in cluster}
    every_fault = [*cluster["faults"], *(fault for case in batch["cases"] for fault in case["faults"])]
    return [
        {
            **shared,
            "seed": batch["seed"],
            "number": number,
            "brokers": case["brokers"],
            "racks": {broker: str((broker - 1) % RACKS) for broker in case["brokers"]},
            "topic_config": case["topic_config"],
            "replicas": case["replicas"],
            "workload": case["workload"],
            "faults": _of_each_broker(cluster["faults"] + case["faults"], case["brokers"]),
            "all_faults": every_fault,
            "commands": [*case["commands"], *cluster.get("commands", ())],
            "initial": case["initial"],
        }
        for number, case in enumerate(batch["cases"])
    ]


def _of_each_broker(faults: list[dict[str, Any]], brokers: list[int]) -> list[dict[str, Any]]:
    """The faults, a stale_metadata without a broker as one of each."""
    return [
        {**fault, "broker": broker} if fault["kind"] == "stale_metadata" else fault
        for fault in faults
        for broker in (brokers if fault["kind"] == "stale_metadata" and "broker" not in fault else [fault.get("broker")])
    ]


def _random_partition(rng: random.Random, index: int, cluster: Mapping[str, Any]) -> dict[str, Any]:
    rounds, round_ms = cluster["rounds"], cluster["round_ms"]
    brokers = [BROKERS_PER_CASE * index + i for i in range(1, BROKERS_PER_CASE)]
    factor = rng.choice((1, 2, 2, 3, 3, 3, 3, 3, 4, 5))
    replicas = rng.sample(brokers[: factor + 1], factor)
    topic_config: dict[str, Any] = {
        key: _random_topic_value(rng, key, factor, round_ms) for key in TOPIC_KEYS if rng.random() < 0.5
    }
    initial = random_initial(rng, replicas) if rng.random() < 0.25 else None
    return {
        "topic": f"t{index}",
        "brokers": brokers,
        "replicas": replicas,
        "topic_config": topic_config,
        "initial": initial,
        "workload": _random_workload(rng, rounds),
        "faults": _random_faults(rng, index, replicas, cluster),
        "commands": _random_commands(rng, rounds, round_ms, brokers, replicas),
    }


def _random_topic_value(rng: random.Random, key: str, factor: int, round_ms: int) -> Any:
    choices: dict[str, Any] = {
        "min.insync.replicas": rng.randint(1, factor),
        "unclean.leader.election.enable": rng.random() < 0.7,
        "segment.bytes": rng.choice((300, 1000, 5000, 20_000)),
        "segment.ms": rng.choice((1, 3, 10, 30)) * round_ms,
        "flush.messages": rng.choice((1, 3, 10, 50)),
        "flush.ms": rng.choice((1, 4, 15)) * round_ms,
    }
    return choices[key]


def _random_workload(rng: random.Random, rounds: int) -> list[dict[str, Any]]:
    rows = []
    for _ in range(rng.choice((1, 1, 2, 2, 3, 5))):
        from_round = rng.choice((0, rng.randrange(rounds)))
        to_round = from_round + rng.randint(1, rounds)
        row: dict[str, Any] = {
            "from_round": from_round,
            "to_round": to_round,
            "records_per_round": rng.choice((0, 1, 1, 2, 3, 5)),
            "record_bytes": rng.choice((1, 10, 100, 100, 333, 1000)),
            "acks": rng.choice(("0", "1", "1", "all", "all", "all")),
        }
        if rng.random() < 0.3:
            del row["to_round"]
        rows.append(row)
    return rows


def _random_faults(rng: random.Random, index: int, replicas: list[int], cluster: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Faults of some of the kinds; half of them begin where another of the case begins or ends, or close to it."""
    rounds, round_ms, timeout = cluster["rounds"], cluster["round_ms"], cluster["session_timeout_rounds"]
    kinds = [kind for kind in BROKER_FAULTS if rng.random() < 0.35] or [rng.choice(BROKER_FAULTS)]
    faults: list[dict[str, Any]] = []
    edges: list[int] = []
    for _ in range(rng.choice((0, 1, 2, 3, 4, 6, 9, 14))):
        interval = random_interval(rng, rounds, rng.choice((2, timeout, timeout + 4, 2 * timeout)))
        if edges and rng.random() < 0.5:
            start = min(max(rng.choice(edges) + rng.choice((-1, 0, 0, 0, 1, timeout)), 0), rounds - 1)
            interval = {"from_round": start, "to_round": start + rng.randint(1, 2 * timeout)}
        edges += list(interval.values())
        # The first replica leads first: trouble for it is trouble for the partition.
        broker = replicas[0] if rng.random() < 0.4 else rng.choice(replicas)
        fault = _random_fault(rng, rng.choice(kinds), index, broker, replicas, round_ms)
        if fault is not None:
            faults.append({**fault, **interval})
    return faults


def _random_fault(
    rng: random.Random, kind: str, index: int, broker: int, replicas: list[int], round_ms: int
) -> dict[str, Any] | None:
    fault: dict[str, Any] = {"kind": kind, "broker": broker}
    if kind in ("link_cut", "slow_link"):
        peers = [other for other in replicas if other != broker]
        if not peers:
            return None
        fault["peer"] = rng.choice(peers)
        direction = rng.choice((None, "both", "in", "out"))
        if direction is not None:
            fault["direction"] = direction
    if kind in ("slow_link", "slow_disk"):
        fault["bytes_per_second"] = rng.choice((20, 200, 1000, 4000)) * (1000 // round_ms)
    if kind == "isolation" and rng.random() < 0.5:
        fault["clients"] = rng.random() < 0.7
    if kind == "stale_metadata" and rng.random() < 0.7:
        fault["topic"] = f"t{index}"
    return fault


def _random_commands(
    rng: random.Random, rounds: int, round_ms: int, brokers: list[int], replicas: list[int]
) -> list[dict[str, Any]]:
    commands: list[dict[str, Any]] = []
    if rng.random() < 0.3:
        small = rng.choice((1, 200, 1000, 3000))
        # A replica that can't keep up from the first round on.
        commands.append(_alter_broker(0, rng.choice(replicas), "replica.fetch.max.bytes", small))
    kinds = ("preferred_leader_election", "reassign", "delete_records", "alter_broker", "alter_topic")
    for _ in range(rng.choice((0, 0, 1, 2, 4))):
        kind, round_ = rng.choice(kinds), rng.randrange(rounds)
        if kind == "alter_broker":
            key = rng.choice(("replica.fetch.max.bytes", "replica.fetch.wait.max.ms"))
            value = rng.choice((1, 500, 5000)) if key.endswith("bytes") else rng.choice((0, 500))
            commands.append(_alter_broker(round_, rng.choice(replicas), key, value))
        elif kind == "alter_topic":
            key = rng.choice(TOPIC_KEYS)
            value = _random_topic_value(rng, key, len(replicas), round_ms)
            commands.append({"round": round_, "kind": "alter_config", "config": {key: value}})
        else:
            command: dict[str, Any] = {"round": round_, "kind": kind}
            if kind == "reassign":
                command["replicas"] = rng.sample(brokers[:7], rng.randint(max(1, len(replicas) - 1), len(replicas) + 1))
            if kind == "delete_records":
                command["offset"] = rng.choice((-1, -1, rng.randint(0, 60)))
            commands.append(command)
    return commands


def _alter_broker(round_: int, broker: int, key: str, value: int) -> dict[str, Any]:
    return {"round": round_, "kind": "alter_config", "broker": broker, "config": {key: value}}
