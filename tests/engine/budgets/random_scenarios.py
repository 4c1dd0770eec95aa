"""Random scenarios whose partitions share budgets, from ample to far too small."""

from __future__ import annotations

import random

BROKERS, PARTITIONS, ROUNDS = 5, 9, 160


def scenario_text(seed: int, rounds: int = ROUNDS, tiered: bool = False, read: bool = False, quotas: bool = False) -> str:
    """A scenario file: faults, reassignments, budgets of brokers and throttles that come and go.

    `tiered`: the topic has remote storage, which is away at times; `read`: a group reads it; `quotas`: of clients, of
    about what they need.
    """
    rng = random.Random(seed)
    appended = rng.choice([2_000, 10_000])  # bytes a round of each partition
    fair = appended * PARTITIONS * 3 // BROKERS * 1000 // 500  # bytes per second that a broker needs when all is well
    limits = []
    if rng.random() < 0.7:
        limits.append(f"network_bytes_per_second = {int(fair * rng.choice([1.2, 2, 5, 40, 400]))}")
    if rng.random() < 0.4:
        limits.append(f"disk_bytes_per_second = {int(fair * rng.choice([1.1, 3, 30, 300]))}")
    config = {"auto.leader.rebalance.enable": "false", "replica.lag.time.max.ms": rng.choice([1000, 3000])}
    topic = {"min.insync.replicas": rng.choice([1, 2])}
    if rng.random() < 0.5 or not limits:
        config["leader.replication.throttled.rate"] = int(fair * rng.choice([0.05, 0.5, 50]))
        config["follower.replication.throttled.rate"] = int(fair * rng.choice([0.1, 1, 100]))
        some = ",".join(f"{p}:{rng.randint(1, BROKERS)}" for p in range(PARTITIONS))
        topic["leader.replication.throttled.replicas"] = rng.choice(['"*"', f'"{some}"'])
        topic["follower.replication.throttled.replicas"] = rng.choice(['"*"', f'"{some}"'])
    if rng.random() < 0.4:
        config["replica.fetch.max.bytes"] = rng.choice([5_000, 40_000])
    protocol = rng.choice(["kafka", "kafka", "kafka-kip101", "kafka-high-watermark"])
    if tiered:
        protocol = "kafka"
        config |= {"remote.log.storage.system.enable": "true", "remote.log.manager.task.interval.ms": 1000}
        topic |= {"remote.storage.enable": "true", "segment.bytes": 6 * appended, "local.retention.bytes": 15 * appended}
        config["log.retention.check.interval.ms"] = 2000
        topic |= {"retention.bytes": 60 * appended} if rng.random() < 0.5 else {}
    if quotas:
        topic["producer_byte_rate"] = int(fair * 0.3)
        config["consumer_byte_rate"] = int(fair * 0.5)
    lines = [
        f'protocol = "{protocol}"',
        f"rounds = {rounds}",
        "[cluster]",
        f"brokers = {BROKERS}",
        "session_timeout_rounds = 3",
        f"quota_window_rounds = {rng.choice([3, 5, 8, 40])}",
        *limits,
        _config(config),
        "[[topics]]",
        'name = "t"',
        f"partitions = {PARTITIONS}",
        "replication_factor = 3",
        _config(topic),
        "[[workload]]",
        'topic = "t"',
        f"records_per_round = {appended // 500}",
        "record_bytes = 500",
        f'acks = "{rng.choice(["all", "1"])}"',
    ]
    if read:
        lines += ["[[consumers]]", 'group = "g"', 'topic = "t"', 'start = "earliest"', "from_round = 30"]
    for _ in range(rng.randint(0, 3)):
        begin = rng.randint(2, rounds - 20)
        kind = rng.choice(["broker_crash", "power_loss", "disk_loss", "isolation", "broker_pause"])
        lines += ["[[faults]]", f'kind = "{kind}"', f"broker = {rng.randint(1, BROKERS)}", f"from_round = {begin}"]
        lines += [f"to_round = {begin + rng.randint(2, 18)}"]
    if rng.random() < 0.3:
        lines += ["[[faults]]", 'kind = "slow_disk"', f"broker = {rng.randint(1, BROKERS)}", "from_round = 20", "to_round = 60"]
        lines += [f"bytes_per_second = {appended * rng.choice([1, 3, 6])}"]
    for partition in rng.sample(range(PARTITIONS), rng.randint(0, 2)):
        replicas = rng.sample(range(1, BROKERS + 1), 3)
        lines += ["[[commands]]", 'kind = "reassign"', 'topic = "t"', f"partition = {partition}", f"replicas = {replicas}"]
        lines += [f"round = {rng.randint(5, rounds - 10)}"]
    if "leader.replication.throttled.rate" in config and rng.random() < 0.5:
        altered = {"leader.replication.throttled.rate": fair * 10}
        lines += ["[[commands]]", 'kind = "alter_config"', "round = 40", f"broker = {rng.randint(1, BROKERS)}", _config(altered)]
        topics = {"leader.replication.throttled.replicas": '""'}
        lines += ["[[commands]]", 'kind = "alter_config"', "round = 51", 'topic = "t"', _config(topics)]
    if tiered:
        for partition in rng.sample([None, 0, 4], 2):
            begin = rng.randint(2, rounds - 40)
            lines += ["[[faults]]", 'kind = "remote_storage_outage"', f"from_round = {begin}", f"to_round = {begin + 17}"]
            lines += [] if partition is None else ['topic = "t"', f"partition = {partition}"]
    return "\n".join(lines) + "\n"


def _config(config: dict[str, object]) -> str:
    return "config = { " + ", ".join(f'"{key}" = {value}' for key, value in config.items()) + " }"
