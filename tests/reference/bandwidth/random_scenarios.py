"""Small random scenarios whose brokers' networks, disks or throttles are too small for what is to be caught up.

What is written always fits unless `held` is drawn, or `wide`, in which topics may have a second partition.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Layers:
    """What a scenario may have beside networks that bind and brokers that are away."""

    odd: bool = False
    held: bool = False
    throttles: bool = False
    disks: bool = False
    quotas: bool = False
    memory: bool = False
    slow: bool = False
    faults: bool = False
    commands: bool = False
    seldom: bool = False
    long: bool = False
    wide: bool = False

    @classmethod
    def everything(cls) -> Layers:
        """All of them."""
        return cls(**{one.name: True for one in fields(cls)})


def scenario_text(seed: int, layers: Layers | None = None) -> str:
    """A scenario file."""
    layers = layers or Layers()
    rng = random.Random(seed)
    brokers, topics, rounds = rng.randint(3, 6), rng.randint(4, 10), rng.randint(40, 120)
    round_ms = rng.choice([500, 500, 1000])
    if layers.long:  # so that what waits is given up
        round_ms = random.Random(f"long/{seed}").choice([3_000, 7_000, 20_000])
    window = rng.choice([3, 4, 5, 8, 20])
    record_bytes = rng.choice([100, 500])
    sizes = [rng.choice([1, 2, 4, 8]) for _ in range(topics)]
    replicas = [rng.sample(range(1, brokers + 1), rng.choice([2, 3, 3])) for _ in range(topics)]
    into = {b: sum(s for s, of in zip(sizes, replicas, strict=True) if b in of) for b in range(1, brokers + 1)}
    out = {b: sum(s * (len(of) - 1) for s, of in zip(sizes, replicas, strict=True) if of[0] == b) for b in range(1, brokers + 1)}
    most = max(*into.values(), *out.values()) * record_bytes  # bytes a round that all need when all is well
    network = int(most * rng.choice([1.1, 1.3, 1.5, 2, 3])) * 1000 // round_ms
    held = random.Random(f"held/{seed}")
    if layers.held and held.random() < 0.7:
        network = int(network * held.choice([0.3, 0.5, 0.8]))
    odd = random.Random(f"odd/{seed}")
    if layers.odd:
        network += odd.randint(-50, 50)
    network = max(network, 20)
    limits = [f"network_bytes_per_second = {network}"]
    config: dict[str, object] = {
        "auto.leader.rebalance.enable": "false",
        "replica.lag.time.max.ms": rng.choice([2000, 5000]),
        "num.replica.fetchers": rng.choice([1, 1, 2]),
    }
    if rng.random() < 0.4:
        config["replica.fetch.max.bytes"] = rng.choice([2, 5, 20]) * 8 * record_bytes
    fetches = rng.choice(["", "fetches_per_round = 1", "fetches_per_round = 3", "fetch_round_trip_ms = 150"])
    acks = rng.choice(["all", "1"])
    own: list[dict[str, object]] = [{"min.insync.replicas": rng.choice([1, 2])} for _ in range(topics)]
    disk = random.Random(f"disks/{seed}")
    if layers.disks and disk.random() < 0.7:
        limits.append(f"disk_bytes_per_second = {int(network * disk.choice([0.5, 0.8, 1.1]))}")
        limits = limits[disk.choice([0, 1]) :]
    memory = random.Random(f"memory/{seed}")
    if layers.memory and memory.random() < 0.7:
        limits.append(f"page_cache_bytes = {memory.choice([1, 5, 30, 100, 1000]) * record_bytes * sum(sizes) // brokers}")
    throttle = random.Random(f"throttles/{seed}")
    commands: list[str] = []
    if layers.throttles and throttle.random() < 0.7:
        limits = limits if throttle.random() < 0.5 else [line for line in limits if "page" in line]
        config["leader.replication.throttled.rate"] = int(network * throttle.choice([0.1, 0.5, 1]))
        config["follower.replication.throttled.rate"] = int(network * throttle.choice([0.1, 0.5, 1]))
        for key in ("leader", "follower"):
            for topic in own:
                some = ",".join(f"0:{b}" for b in range(1, brokers + 1) if throttle.random() < 0.6)
                some += ",1:1,1:3" if layers.wide and some else ""
                topic[f"{key}.replication.throttled.replicas"] = throttle.choice(['"*"', f'"{some}"', f'"{some}"', '""'])
        if throttle.random() < 0.5:
            commands += ["[[commands]]", 'kind = "alter_config"', f"round = {throttle.randint(1, rounds - 1)}"]
            commands += [f"broker = {throttle.randint(1, brokers)}"]
            commands += [f'config = {{ "leader.replication.throttled.rate" = {network * 3 // 7} }}']
        if throttle.random() < 0.5:
            commands += ["[[commands]]", 'kind = "alter_config"', f"round = {throttle.randint(1, rounds - 1)}"]
            commands += [f'topic = "t{throttle.randrange(topics)}"']
            commands += ['config = { "follower.replication.throttled.replicas" = "" }']
    quota = random.Random(f"quotas/{seed}")
    for size, topic in zip(sizes, own, strict=True):
        if layers.quotas and quota.random() < 0.3:
            topic["producer_byte_rate"] = int(size * record_bytes * 1000 / round_ms * quota.choice([0.5, 0.9, 1.0, 1.5, 4]))
    lines = [
        f"rounds = {rounds}",
        f"round_ms = {round_ms}",
        "[cluster]",
        f"brokers = {brokers}",
        "session_timeout_rounds = 3",
        f"quota_window_rounds = {window}",
        fetches,
        *limits,
        _config(config),
    ]
    wide = random.Random(f"wide/{seed}")
    for number, (of, keys) in enumerate(zip(replicas, own, strict=True)):
        both = [of, wide.sample(range(1, brokers + 1), len(of))] if layers.wide and wide.random() < 0.5 else [of]
        lines += ["[[topics]]", f'name = "t{number}"', f"assignment = {both}", _config(keys)]
    for number, size in enumerate(sizes):
        rows = [(0, rounds, size)]
        if layers.odd and odd.random() < 0.5:
            at = odd.randint(1, rounds - 1)
            rows = [(0, at, size), (at, rounds, odd.choice([0, size, 2 * size]))]
        for begin, end, records in rows:
            if records and begin < end:
                lines += ["[[workload]]", f'topic = "t{number}"', f"from_round = {begin}", f"to_round = {end}"]
                lines += [f"records_per_round = {records}", f"record_bytes = {record_bytes}", f'acks = "{acks}"']
    seldom = random.Random(f"seldom/{seed}")
    if layers.seldom:
        for number, size in enumerate(sizes):
            if seldom.random() < 0.5:
                begin = seldom.randint(0, rounds - 2)
                lines += ["[[workload]]", f'topic = "t{number}"', f"from_round = {begin}", f"to_round = {rounds - 1}"]
                if seldom.random() < 0.5:
                    lines += [f"records_per_second = {size * seldom.choice([0.13, 0.7, 1.3])}"]
                else:
                    lines += [f"records_per_round = {seldom.choice([1, 1, size])}"]
                lines += [f"record_bytes = {seldom.choice([1, 3, 20]) * record_bytes // seldom.choice([1, 3])}"]
                lines += [f'acks = "{seldom.choice(["all", "1", "0"])}"']
        for _ in range(seldom.randint(0, 3)):
            begin = seldom.randint(1, rounds - 2)
            kind = seldom.choice(["broker_crash", "isolation", "stale_metadata", "controller_loss", "slow_link", "link_cut"])
            end = min(rounds, begin + seldom.randint(1, 20))
            if kind == "controller_loss":
                lines += ["[[faults]]", f'kind = "{kind}"', f"from_round = {begin}", f"to_round = {end}"]
                continue
            lines += _fault(kind, seldom.randint(1, brokers), begin, end)
            more = {"broker_crash": "moment = 0.4", "isolation": "clients = true", "slow_link": "round_trip_ms = 120"}
            lines += [more[kind]] if kind in more else []
            if kind == "link_cut":
                lines += [f"peer = {1 + int(lines[-3].split()[-1]) % brokers}"]
        if seldom.random() < 0.3:
            commands += ["[[commands]]", 'kind = "preferred_leader_election"', f"round = {seldom.randint(1, rounds - 1)}"]
            commands += [f'topic = "t{seldom.randrange(topics)}"', "partition = 0"]
    begin = rng.randint(2, rounds // 3)
    lines += _fault("broker_crash", rng.randint(1, brokers), begin, min(rounds, begin + rng.randint(6, rounds // 2)))
    faults = random.Random(f"faults/{seed}")
    if layers.faults:
        for _ in range(faults.randint(0, 3)):
            begin = faults.randint(1, rounds - 2)
            kind = faults.choice(["broker_crash", "power_loss", "disk_loss", "isolation", "broker_pause", "controlled_shutdown"])
            lines += _fault(kind, faults.randint(1, brokers), begin, min(rounds, begin + faults.randint(1, 20)))
    slow = random.Random(f"slow/{seed}")
    if layers.slow:
        for _ in range(slow.randint(0, 2)):
            begin = slow.randint(1, rounds - 2)
            kind = slow.choice(["slow_disk", "slow_link"])
            lines += _fault(kind, slow.randint(1, brokers), begin, min(rounds, begin + slow.randint(5, 40)))
            lines += [f"bytes_per_second = {slow.choice([3, 10, 30]) * record_bytes * 1000 // round_ms}"]
    order = random.Random(f"commands/{seed}")
    if layers.commands:
        for _ in range(order.randint(0, 2)):
            commands += ["[[commands]]", 'kind = "reassign"', f"round = {order.randint(1, rounds - 1)}", "partition = 0"]
            commands += [f'topic = "t{order.randrange(topics)}"']
            commands += [f"replicas = {order.sample(range(1, brokers + 1), order.choice([2, 3]))}"]
    return "\n".join([*lines, *commands]) + "\n"


def _fault(kind: str, broker: int, begin: int, end: int) -> list[str]:
    return ["[[faults]]", f'kind = "{kind}"', f"broker = {broker}", f"from_round = {begin}", f"to_round = {end}"]


def _config(config: dict[str, object]) -> str:
    return "config = { " + ", ".join(f'"{key}" = {value}' for key, value in config.items()) + " }"
