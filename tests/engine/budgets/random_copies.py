"""Random scenarios in which copies of a broker's partitions compete for its copier threads, or for its copy quota."""

from __future__ import annotations

import random

BROKERS = 4


def copies_text(seed: int, partitions: int = 24, rounds: int = 120) -> str:
    """A scenario file: budgets from ample to far too small, stores that are away or slow, brokers that stop."""
    rng = random.Random(seed)
    appended = rng.choice([2_000, 6_000])  # bytes a round of each partition; a round is half a second
    segment = appended * rng.choice([3, 6])
    of_broker = appended * partitions // BROKERS  # bytes a round that a broker's leaders append when all is well
    rate = rng.choice([appended * 3 // 2, appended * 4, of_broker])
    config: dict[str, object] = {
        "auto.leader.rebalance.enable": rng.choice(["false", "true"]),
        "leader.imbalance.check.interval.seconds": 10,
        "remote.log.storage.system.enable": "true",
        "remote.log.manager.task.interval.ms": rng.choice([500, 1000]),
        "log.retention.check.interval.ms": 2000,
        "remote.log.manager.task.retry.backoff.max.ms": 4000,
    }
    if rng.random() < 0.7:
        config["remote.log.manager.copier.thread.pool.size"] = rng.choice([1, 2, 3])
    if rng.random() < 0.5 or "remote.log.manager.copier.thread.pool.size" not in config:
        config["remote.log.manager.copy.max.bytes.per.second"] = int(2 * of_broker * rng.choice([0.7, 1.1, 2, 8]))
    topic: dict[str, object] = {"remote.storage.enable": "true", "segment.bytes": segment, "local.retention.bytes": 3 * segment}
    if rng.random() < 0.3:
        topic |= {"remote.copy.lag.ms": rng.choice([3000, 8000]), "remote.copy.lag.bytes": rng.choice([-1, 2 * segment])}
    if rng.random() < 0.4:
        topic["retention.bytes"] = 12 * segment
    lines = [
        'protocol = "kafka"',
        f"rounds = {rounds}",
        "[cluster]",
        f"brokers = {BROKERS}",
        "session_timeout_rounds = 3",
        f"quota_window_rounds = {rng.choice([4, 7, 10, 20])}",
        *([f"network_bytes_per_second = {of_broker * rng.choice([5, 8, 100])}"] if rng.random() < 0.3 else []),
        _config(config),
        "[remote_storage]",
        f'on_leadership_lost = "{rng.choice(["cancel", "finish"])}"',
        f'metadata = "{rng.choice(["topic", "topic", "list"])}"',
        *([f"copy_bytes_per_second = {2 * rate}"] if rng.random() < 0.85 else []),
        "[[topics]]",
        'name = "t"',
        f"partitions = {partitions - 4}",
        f"replication_factor = {rng.choice([2, 3])}",
        _config(topic),
        "[[topics]]",
        'name = "local"',
        "partitions = 4",
        "replication_factor = 2",
        _config({"segment.bytes": segment}),
        "[[workload]]",
        'topic = "*"',
        f"records_per_round = {appended // 500}",
        "record_bytes = 500",
        f'acks = "{rng.choice(["all", "1"])}"',
    ]
    begin = rng.randint(5, 30)
    lines += ["[[faults]]", 'kind = "remote_storage_outage"', f"from_round = {begin}", f"to_round = {begin + rng.randint(5, 40)}"]
    for _ in range(rng.randint(1, 4)):
        begin = rng.randint(2, rounds - 30)
        kind = rng.choice(["broker_crash", "broker_crash", "power_loss", "isolation", "broker_pause"])
        lines += ["[[faults]]", f'kind = "{kind}"', f"broker = {rng.randint(1, BROKERS)}", f"from_round = {begin}"]
        lines += [f"to_round = {begin + rng.randint(2, 18)}"]
    if rng.random() < 0.4:
        lines += ["[[faults]]", 'kind = "slow_remote_storage"', f"bytes_per_second = {2 * rng.choice([0, 500, rate // 2])}"]
        lines += ["from_round = 60", "to_round = 95", *(['topic = "t"', "partition = 3"] if rng.random() < 0.5 else [])]
    if rng.random() < 0.3:
        lines += ["[[faults]]", 'kind = "open_transaction"', 'topic = "t"', "partition = 1", "from_round = 20", "to_round = 70"]
    for partition in rng.sample(range(partitions - 4), rng.randint(0, 2)):
        replicas = rng.sample(range(1, BROKERS + 1), 2)
        lines += ["[[commands]]", 'kind = "reassign"', 'topic = "t"', f"partition = {partition}", f"replicas = {replicas}"]
        lines += [f"round = {rng.randint(5, rounds - 10)}"]
    altered: dict[str, object] = {"remote.log.manager.copier.thread.pool.size": rng.choice([1, 4])}
    if rng.random() < 0.4:
        lines += ["[[commands]]", 'kind = "alter_config"', f"round = {rng.randint(20, 90)}", _config(altered)]
        lines += [f"broker = {rng.randint(1, BROKERS)}"] if rng.random() < 0.5 else []
    if rng.random() < 0.3:
        disabled: dict[str, object] = {"remote.log.copy.disable": "true"}
        lines += ["[[commands]]", 'kind = "alter_config"', 'topic = "t"', "round = 63", _config(disabled)]
    return "\n".join(lines) + "\n"


def _config(config: dict[str, object]) -> str:
    return "config = { " + ", ".join(f'"{key}" = {value}' for key, value in config.items()) + " }"
