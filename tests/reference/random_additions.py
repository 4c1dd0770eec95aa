"""What random scenarios have laid over them: eligible leader replicas, late news, fetches, moments, reassignments, cut racks.

Each draws with a generator of its own, so that the cases it is laid over stay as their seed gives them.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any

OUTAGE_FAULTS = ("broker_crash", "power_loss", "disk_loss", "controlled_shutdown", "broker_pause", "isolation")
RECOVERY_STRATEGIES = ("none", "balanced", "aggressive")
NAMES_OF_BROKERS = ("broker", "peer", "leader", "replicas", "isr", "elr")


def with_elr(seed: int, cluster: Mapping[str, Any]) -> dict[str, Any]:
    """The cluster with eligible leader replicas, and sometimes defaults of its topics for them."""
    rng = random.Random(f"elr/{seed}")
    config = dict(cluster["config"])
    if rng.random() < 0.5:
        config["min.insync.replicas"] = 2
    if rng.random() < 0.4:
        config["unclean.recovery.strategy"] = rng.choice(RECOVERY_STRATEGIES)
    return {**cluster, "config": config, "features": {"eligible.leader.replicas.version": 1}}


def with_fetching(seed: int, cluster: Mapping[str, Any]) -> dict[str, Any]:
    """The cluster with more than one fetch a round: so many, or as many as fit."""
    rng = random.Random(f"fetching/{seed}")
    round_ms, config = cluster["round_ms"], dict(cluster["config"])
    config.setdefault("replica.fetch.max.bytes", rng.choice((300, 1000, 3000)))
    if rng.random() < 0.3:
        config["replica.fetch.response.max.bytes"] = rng.choice((200, 2000))
    given = rng.choice(
        (
            {"fetches_per_round": rng.randint(2, 4)},
            {"fetch_round_trip_ms": round_ms / rng.choice((2, 3, 7, 40))},
            {"fetch_round_trip_ms": rng.choice((0.5, 30.125)), "fetch_bytes_per_second": rng.choice((3000, 20_000, 10**9))},
            {"fetch_bytes_per_second": 5000},
        )
    )
    return {**cluster, "config": config, **given}


def case_with_elr(rng: random.Random, case: Mapping[str, Any], cluster: Mapping[str, Any]) -> dict[str, Any]:
    """The case with an ISR that is easily too small, and with outages that leave few replicas or none."""
    replicas, topic_config = case["replicas"], dict(case["topic_config"])
    if rng.random() < 0.7:
        topic_config["min.insync.replicas"] = rng.choice((1, 2, 2, 2, 3, 3))
    # More than there are replicas is refused at the start, but not by alter_config.
    minimum = topic_config.get("min.insync.replicas", cluster["config"].get("min.insync.replicas", 1))
    topic_config["min.insync.replicas"] = min(minimum, len(replicas))
    if rng.random() < 0.5:
        topic_config["unclean.recovery.strategy"] = rng.choice(RECOVERY_STRATEGIES)
    if rng.random() < 0.7:
        topic_config.pop("unclean.leader.election.enable", None)
    commands = list(case["commands"])
    for key, likely in (("min.insync.replicas", 0.3), ("unclean.recovery.strategy", 0.15)):
        if rng.random() < likely:
            value = rng.randint(1, 3) if key == "min.insync.replicas" else rng.choice(RECOVERY_STRATEGIES)
            round_ = rng.randrange(cluster["rounds"])
            commands.append({"round": round_, "kind": "alter_config", "config": {key: value}})
    outages = [fault for _ in range(rng.choice((0, 1, 1, 2))) for fault in _outage(rng, replicas, cluster)]
    initial = case["initial"]
    if initial is not None and "isr" in initial:
        minimum = topic_config.get("min.insync.replicas", cluster["config"].get("min.insync.replicas", 1))
        initial = {**initial, "elr": _random_elr(rng, initial, min(minimum, len(replicas)))}
    return {
        **case,
        "topic_config": topic_config,
        "initial": initial,
        "faults": case["faults"] + outages,
        "commands": commands,
    }


def _outage(rng: random.Random, replicas: list[int], cluster: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Replicas go one after the other or at once, and come back in any order."""
    timeout = cluster["session_timeout_rounds"]
    kinds = [kind for kind in OUTAGE_FAULTS if rng.random() < 0.5] or [rng.choice(OUTAGE_FAULTS)]
    faults = []
    round_ = rng.randrange(cluster["rounds"])
    for broker in rng.sample(replicas, rng.choice((len(replicas), len(replicas), rng.randint(1, len(replicas))))):
        to_round = round_ + rng.randint(1, 2 * timeout)
        faults.append({"kind": rng.choice(kinds), "broker": broker, "from_round": round_, "to_round": to_round})
        round_ += rng.choice((0, 0, 1, 2, timeout))
    return [fault for fault in faults if fault["from_round"] < cluster["rounds"]]


def _random_elr(rng: random.Random, initial: Mapping[str, Any], minimum: int) -> list[int]:
    """Some of those that have as much as the leader's high watermark, if the ISR is too small."""
    if len(initial["isr"]) >= minimum:
        return []
    hw = initial["replicas"][initial["leader"]]["hw"]
    able = [broker for broker, log in initial["replicas"].items() if log["leo"] >= hw and broker not in initial["isr"]]
    return sorted(broker for broker in able if rng.random() < 0.7)


def case_with_late_news(rng: random.Random, case: Mapping[str, Any], cluster: Mapping[str, Any]) -> dict[str, Any]:
    """The case with old news for whom stale_metadata covers, and with leaders that change while it does."""
    rounds, replicas = cluster["rounds"], case["replicas"]
    faults = [
        {**fault, "lag_rounds": rng.randint(1, 8)} if fault["kind"] == "stale_metadata" and rng.random() < 0.7 else fault
        for fault in case["faults"]
    ]
    commands = list(case["commands"])
    for _ in range(rng.choice((1, 1, 2, 3))):
        fault: dict[str, Any] = {"kind": "stale_metadata", "broker": rng.choice(replicas), **random_interval(rng, rounds, 20)}
        if rng.random() < 0.8:
            fault["topic"] = case["topic"]
        if rng.random() < 0.9:
            fault["lag_rounds"] = rng.choice((1, 2, 3, rng.randint(1, 10)))
        faults.append(fault)
        round_ = fault["from_round"]
        for _ in range(rng.choice((0, 1, 2, 3))):
            round_ += rng.randint(0, 4)
            if round_ >= rounds:
                break
            if rng.random() < 0.5:
                order = rng.sample(replicas, len(replicas))
                commands.append({"round": round_, "kind": "reassign", "replicas": order})
            commands.append({"round": round_, "kind": "preferred_leader_election"})
    return {**case, "faults": faults, "commands": commands}


def case_with_reassignments(rng: random.Random, case: Mapping[str, Any], cluster: Mapping[str, Any]) -> dict[str, Any]:
    """The case with reassignments one after the other, some in one round, some while another is under way, some cancelled."""
    brokers, replicas, commands = case["brokers"][:7], case["replicas"], list(case["commands"])
    round_ = rng.randrange(cluster["rounds"])
    for _ in range(rng.choice((2, 3, 4, 6))):
        command: dict[str, Any] = {"round": round_, "kind": "cancel_reassignment"}
        if rng.random() < 0.7:
            wanted = replicas if rng.random() < 0.3 else brokers
            some = rng.sample(wanted, rng.randint(1, min(len(wanted), len(replicas) + 2)))
            command = {"round": round_, "kind": "reassign", "replicas": some}
        commands.append(command)
        round_ = min(round_ + rng.choice((0, 0, 1, 2, 5)), cluster["rounds"] - 1)
    topic_config = dict(case["topic_config"])
    if rng.random() < 0.4:
        topic_config["unclean.leader.election.enable"] = True
    return {**case, "commands": commands, "topic_config": topic_config}


def case_with_far_links(rng: random.Random, case: Mapping[str, Any], cluster: Mapping[str, Any]) -> dict[str, Any]:
    """The case with slow links that are far as well, or only that, and some more of them."""
    round_ms, replicas = cluster["round_ms"], case["replicas"]
    faults = []
    for fault in case["faults"]:
        if fault["kind"] == "slow_link" and rng.random() < 0.6:
            fault = {**fault, "round_trip_ms": round_ms / rng.choice((1.5, 2, 3, 10))}
            if rng.random() < 0.5:
                del fault["bytes_per_second"]
        faults.append(fault)
    for _ in range(rng.choice((0, 1, 2))):
        fault = {"kind": "slow_link", "broker": rng.choice(replicas), "round_trip_ms": round_ms / rng.choice((0.4, 2, 5))}
        faults.append({**fault, **random_interval(rng, cluster["rounds"], 20)})
    return {**case, "faults": faults}


def with_cut_racks(rng: random.Random, cluster: Mapping[str, Any], racks: int) -> dict[str, Any]:
    """The cluster with racks that are cut off, one or the other, for short or for long, some of them at once."""
    rounds, timeout = cluster["rounds"], cluster["session_timeout_rounds"]
    faults = list(cluster["faults"])
    for _ in range(rng.choice((1, 1, 2, 3))):
        fault: dict[str, Any] = {"kind": "rack_isolation", "rack": str(rng.randrange(racks))}
        if rng.random() < 0.4:
            fault["clients"] = rng.random() < 0.7
        faults.append({**fault, **random_interval(rng, rounds, rng.choice((2, timeout, 3 * timeout)))})
    return {**cluster, "faults": faults}


def case_with_rack_mates(rng: random.Random, case: Mapping[str, Any], cluster: Mapping[str, Any], racks: int) -> dict[str, Any]:
    """The case, in three of four with brokers that change places until two or three replicas are in one rack with the first.

    In some of them something happens to one of these while their rack is cut off.
    """
    first, *others = case["replicas"]
    together = rng.sample(others, min(len(others), rng.choice((0, 1, 2, 2))))
    mates = [broker for broker in case["brokers"] if broker % racks == first % racks and broker != first]
    swaps: dict[int, int] = {}
    elsewhere = [broker for broker in together if broker not in mates]
    for broker, mate in zip(elsewhere, [mate for mate in mates if mate not in together], strict=False):
        swaps |= {broker: mate, mate: broker}
    swapped = {key: _swapped(value, swaps, key) if key != "brokers" else value for key, value in case.items()}
    rack = str((first - 1) % racks)
    for cut in [fault for fault in cluster["faults"] if fault["kind"] == "rack_isolation" and fault["rack"] == rack]:
        if rng.random() < 0.5:
            from_round = min(cut["from_round"] + rng.choice((0, 1, 2, 5)), cluster["rounds"] - 1)
            broker = rng.choice((first, first, rng.choice(swapped["replicas"])))
            interval = {"from_round": from_round, "to_round": from_round + rng.randint(1, 8)}
            swapped["faults"] = [*swapped["faults"], {"kind": rng.choice(OUTAGE_FAULTS), "broker": broker, **interval}]
    return swapped


def _swapped(given: Any, swaps: Mapping[int, int], key: str) -> Any:
    """What is said of brokers, of others that change places with them."""
    if isinstance(given, Mapping):
        return {swaps.get(k, k): _swapped(value, swaps, k) for k, value in given.items()}
    if isinstance(given, list):
        return [_swapped(one, swaps, key) for one in given]
    return swaps.get(given, given) if key in NAMES_OF_BROKERS else given


def case_with_moments(rng: random.Random, case: Mapping[str, Any]) -> dict[str, Any]:
    """The case with moments of faults, more records and more of acks 0 and 1."""
    workload = [{**row, "records_per_round": row["records_per_round"] * rng.choice((1, 7, 40))} for row in case["workload"]]
    workload = [{**row, "acks": "1"} if rng.random() < 0.4 else row for row in workload]
    return {**case, "workload": workload, "faults": with_moments(rng, case["faults"])}


def with_moments(rng: random.Random, faults: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The faults, most of those that kill a broker with a moment."""
    found = []
    for fault in faults:
        moment = rng.choice((None, 0, 0.25, 0.5, 0.29, rng.random(), rng.random(), "after-append"))
        kills = fault["kind"] in ("broker_crash", "power_loss", "disk_loss", "rack_loss")
        found.append({**fault, "moment": moment} if kills and moment is not None else dict(fault))
    return found


def with_seldom(rng: random.Random, cluster: Mapping[str, Any]) -> dict[str, Any]:
    """The cluster with sessions in ms, with configs that change for every broker, and with news that nobody hears."""
    rounds, round_ms = cluster["rounds"], cluster["round_ms"]
    config, faults = dict(cluster["config"]), list(cluster["faults"])
    if rng.random() < 0.5:
        config["broker.session.timeout.ms"] = (cluster["session_timeout_rounds"] - 1) * round_ms + rng.randint(1, round_ms)
    choices: dict[str, tuple[Any, ...]] = {
        "min.insync.replicas": (1, 2, 3),
        "unclean.leader.election.enable": (False, True),
        "segment.bytes": (300, 5000),
        "flush.messages": (1, 20),
        "replica.lag.time.max.ms": (2 * round_ms, 7 * round_ms),
        "replica.high.watermark.checkpoint.interval.ms": (round_ms, 4 * round_ms),
        "replica.fetch.max.bytes": (1, 700, 20_000),
        "replica.fetch.response.max.bytes": (1, 900, 20_000),
        "replica.fetch.wait.max.ms": (0, 500),
    }
    commands = []
    for key in rng.sample(sorted(choices), rng.choice((1, 2, 4))):
        round_, value = rng.randrange(rounds), rng.choice(choices[key])
        commands.append({"round": round_, "kind": "alter_config", "config": {key: value}, "every_broker": True})
    if rng.random() < 0.3:
        faults.append({"kind": "stale_metadata", **random_interval(rng, rounds, 6)})
    return {**cluster, "config": config, "faults": faults, "commands": commands}


def case_with_seldom(rng: random.Random, case: Mapping[str, Any], cluster: Mapping[str, Any]) -> dict[str, Any]:
    """The case with slow links to everybody, news that no broker hears, and brokers that want small responses."""
    replicas, rounds = case["replicas"], cluster["rounds"]
    faults, commands = list(case["faults"]), list(case["commands"])
    for _ in range(rng.choice((0, 1, 2))):
        fault: dict[str, Any] = {"kind": "slow_link", "broker": rng.choice(replicas), "bytes_per_second": rng.choice((100, 2000))}
        direction = rng.choice((None, "both", "in", "out"))
        faults.append({**fault, **({} if direction is None else {"direction": direction}), **random_interval(rng, rounds, 15)})
    if rng.random() < 0.4:
        lag = {} if rng.random() < 0.5 else {"lag_rounds": rng.randint(0, 5)}
        faults.append({"kind": "stale_metadata", "topic": case["topic"], **lag, **random_interval(rng, rounds, 6)})
    for _ in range(rng.choice((0, 0, 1, 2))):
        config = {"replica.fetch.response.max.bytes": rng.choice((1, 300, 3000))}
        commands.append(
            {"round": rng.randrange(rounds), "kind": "alter_config", "broker": rng.choice(replicas), "config": config}
        )
    return {**case, "faults": faults, "commands": commands}


def random_interval(rng: random.Random, rounds: int, longest: int) -> dict[str, int]:
    """From some round on, for some rounds."""
    from_round = rng.randrange(rounds)
    interval = {"from_round": from_round, "to_round": from_round + rng.randint(1, longest)}
    if rng.random() < 0.05:
        del interval["to_round"]
    return interval
