"""Random scenarios in which remote reads of a broker's partitions compete for its quota, its reader threads, or a fetch."""

from __future__ import annotations

import random

BROKERS = 4


def reads_text(seed: int, partitions: int = 16, rounds: int = 120) -> str:
    """A scenario file: groups that come back after a while, limits from ample to far too small, stores and brokers that stop."""
    rng = random.Random(seed)
    appended = rng.choice([2_000, 6_000])  # bytes a round of each partition; a round is half a second
    segment = appended * rng.choice([3, 6])
    of_broker = appended * partitions // BROKERS  # bytes a round that readers of a broker need to keep up
    config: dict[str, object] = {
        "auto.leader.rebalance.enable": rng.choice(["false", "true"]),
        "leader.imbalance.check.interval.seconds": 10,
        "remote.log.storage.system.enable": "true",
        "remote.log.manager.task.interval.ms": 500,
        "log.retention.check.interval.ms": 1000,
        "remote.log.index.file.cache.total.size.bytes": rng.choice([60, 1000]),
    }
    limit = rng.choice(["quota", "threads", "members", "all"])
    if limit in ("quota", "all"):
        config["remote.log.manager.fetch.max.bytes.per.second"] = int(2 * of_broker * rng.choice([0.5, 1.5, 4, 40]))
    if limit in ("threads", "all"):
        config["remote.log.reader.threads"] = rng.choice([1, 2, 3])
        config["remote.log.reader.max.pending.tasks"] = rng.choice([1, 10])
    if rng.random() < 0.4:
        config["replica.selector.class"] = '"org.apache.kafka.common.replica.RackAwareReplicaSelector"'
    topic: dict[str, object] = {"remote.storage.enable": "true", "segment.bytes": segment, "local.retention.bytes": 2 * segment}
    if rng.random() < 0.4:
        topic["retention.bytes"] = 12 * segment
    lines = [
        'protocol = "kafka"',
        f"rounds = {rounds}",
        "round_ms = 500",
        "[cluster]",
        f"brokers = {BROKERS}",
        "racks = 2",
        "session_timeout_rounds = 3",
        f"quota_window_rounds = {rng.choice([4, 7, 10, 20])}",
        *([f"network_bytes_per_second = {2 * of_broker * rng.choice([4, 8, 100])}"] if rng.random() < 0.3 else []),
        _config(config),
        "[remote_storage]",
        f'metadata = "{rng.choice(["topic", "topic", "list"])}"',
        f"metadata_lag_rounds = {rng.choice([0, 2])}",
        *([f"read_ms = {rng.choice([100, 200, 600])}"] if limit in ("threads", "all") else []),
        *([f"read_bytes_per_second = {2 * appended * rng.choice([1, 3])}"] if rng.random() < 0.3 else []),
        "[[topics]]",
        'name = "t"',
        f"partitions = {partitions - 3}",
        f"replication_factor = {rng.choice([2, 3])}",
        _config(topic),
        "[[topics]]",
        'name = "local"',
        "partitions = 3",
        "replication_factor = 2",
        _config({"segment.bytes": segment}),
        "[[workload]]",
        'topic = "*"',
        f"records_per_round = {appended // 500}",
        "record_bytes = 500",
        f'acks = "{rng.choice(["all", "1"])}"',
    ]
    if rng.random() < 0.3:
        lines += ["[[workload]]", 'topic = "t"', 'partitions = "0-2"', "records_per_round = 1", "record_bytes = 1700"]
    for group in range(rng.randint(1, 3)):
        members = rng.randint(1, partitions + 2) if limit in ("members", "all") else None
        most = [appended, appended * 3, 2**20]
        for from_round, to_round in ((0, rng.randint(5, 30)), (rng.randint(45, 70), rounds)):
            lines += ["[[consumers]]", f'name = "{group} from {from_round}"', f'group = "g{group}"', 'topic = "*"']
            lines += [
                f"from_round = {from_round}",
                f"to_round = {to_round}",
                f"start = {rng.choice(['0', chr(34) + 'latest' + chr(34)])}",
            ]
            lines += [] if members is None else [f"members = {members}"]
            lines += [f"records_per_round = {rng.choice([3, 20])}"] if rng.random() < 0.3 else []
            lines += [f'rack = "{rng.randint(0, 1)}"'] if rng.random() < 0.5 else []
            lines += [_config({"max.partition.fetch.bytes": rng.choice(most), "metadata.max.age.ms": rng.choice([3000, 300000])})]
    begin = rng.randint(5, 90)
    lines += ["[[faults]]", 'kind = "remote_storage_outage"', f"from_round = {begin}", f"to_round = {begin + rng.randint(5, 25)}"]
    for _ in range(rng.randint(1, 4)):
        begin = rng.randint(2, rounds - 30)
        kind = rng.choice(["broker_crash", "broker_crash", "power_loss", "disk_loss", "isolation", "broker_pause"])
        lines += ["[[faults]]", f'kind = "{kind}"', f"broker = {rng.randint(1, BROKERS)}", f"from_round = {begin}"]
        lines += [f"to_round = {begin + rng.randint(2, 18)}"]
    if rng.random() < 0.4:
        lines += ["[[faults]]", 'kind = "slow_remote_storage"', f"bytes_per_second = {2 * rng.choice([0, 600, appended])}"]
        lines += ["from_round = 60", "to_round = 95", *(['topic = "t"', "partition = 3"] if rng.random() < 0.5 else [])]
    for partition in rng.sample(range(partitions - 3), rng.randint(0, 2)):
        replicas = rng.sample(range(1, BROKERS + 1), 2)
        lines += ["[[commands]]", 'kind = "reassign"', 'topic = "t"', f"partition = {partition}", f"replicas = {replicas}"]
        lines += [f"round = {rng.randint(5, rounds - 10)}"]
    altered: dict[str, object] = {"remote.log.reader.threads": rng.choice([1, 4])}
    altered["remote.log.manager.fetch.max.bytes.per.second"] = of_broker
    if rng.random() < 0.4:
        lines += ["[[commands]]", 'kind = "alter_config"', f"round = {rng.randint(20, 90)}", _config(altered)]
        lines += [f"broker = {rng.randint(1, BROKERS)}"] if rng.random() < 0.7 else []
    if rng.random() < 0.15:
        lines += ["[[commands]]", 'kind = "delete_topic"', 'topic = "t"', "round = 90"]
    return "\n".join(lines) + "\n"


def _config(config: dict[str, object]) -> str:
    return "config = { " + ", ".join(f'"{key}" = {value}' for key, value in config.items()) + " }"
