"""Times `emulator import kafka` on a synthetic cluster: `python benchmarks/import_kafka.py [PARTITIONS]` (100,000).

The cluster has replication factor 3 on 3 brokers, logs of three epochs, broker 3 a few records behind. Broker 1 has all
partition folders; the others have checkpoint files only.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from typing import NamedTuple

# run as a script, the project's root is not on the path
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from emulator.importers.kafka import import_kafka

BROKERS = (1, 2, 3)
_PARTITIONS_PER_TOPIC = 50
_RECORD_BYTES = 100


class SyntheticCluster(NamedTuple):
    """Paths of a generated cluster's files."""

    describe: str
    log_dirs: str
    data_dirs: dict[int, str]


def log_end(index: int) -> int:
    """LEO of the leader of the index-th partition."""
    return 1000 + index % 777


def lag(broker: int) -> int:
    """Records a broker's replicas are behind their leader."""
    return 4 if broker == 3 else 0


def topic_partition(index: int) -> tuple[str, int]:
    """Name and number of the index-th partition."""
    return f"topic-{index // _PARTITIONS_PER_TOPIC:05d}", index % _PARTITIONS_PER_TOPIC


def generate_cluster(folder: str, partitions: int) -> SyntheticCluster:
    """Writes the files of a cluster with this many partitions into a folder."""
    describe, log_dirs = os.path.join(folder, "describe.txt"), os.path.join(folder, "log_dirs.txt")
    _write(describe, _describe_text(partitions))
    _write(log_dirs, _log_dirs_text(partitions))
    data_dirs = {broker: os.path.join(folder, f"data-{broker}") for broker in BROKERS}
    for broker, data_dir in data_dirs.items():
        os.mkdir(data_dir)
        _write(os.path.join(data_dir, "meta.properties"), f"#\nnode.id={broker}\nversion=1\ncluster.id=synthetic\n")
        ends = [log_end(index) - lag(broker) for index in range(partitions)]
        _write_checkpoint(os.path.join(data_dir, "replication-offset-checkpoint"), ends)
        _write_checkpoint(os.path.join(data_dir, "recovery-point-offset-checkpoint"), [900] * partitions)
        _write_checkpoint(os.path.join(data_dir, "log-start-offset-checkpoint"), [10] * partitions)
    for index in range(partitions):
        topic, partition = topic_partition(index)
        partition_folder = os.path.join(data_dirs[1], f"{topic}-{partition}")
        os.mkdir(partition_folder)
        _write(os.path.join(partition_folder, "leader-epoch-checkpoint"), "0\n3\n0 10\n2 400\n5 800\n")
        _write(os.path.join(partition_folder, "partition.metadata"), f"version: 0\ntopic_id: id-{topic}\n")
    return SyntheticCluster(describe, log_dirs, data_dirs)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _write_checkpoint(path: str, offsets: list[int]) -> None:
    lines = ("{} {} {}\n".format(*topic_partition(index), offset) for index, offset in enumerate(offsets))
    _write(path, f"0\n{len(offsets)}\n" + "".join(lines))


def _describe_text(partitions: int) -> str:
    lines: list[str] = []
    for index in range(partitions):
        topic, partition = topic_partition(index)
        if partition == 0:
            count = min(_PARTITIONS_PER_TOPIC, partitions - index)
            configs = "min.insync.replicas=2,cleanup.policy=compact,delete,retention.ms=604800000"
            header = (f"TopicId: id-{topic}", f"PartitionCount: {count}", "ReplicationFactor: 3", f"Configs: {configs}")
            lines.append("\t".join((f"Topic: {topic}", *header)))
        order = ",".join(str((index + step) % 3 + 1) for step in range(3))
        state = (f"Leader: {index % 3 + 1}", f"Replicas: {order}", f"Isr: {order}", "Elr: ", "LastKnownElr: ")
        lines.append("\t".join((f"\tTopic: {topic}", f"Partition: {partition}", *state)))
    return "\n".join(lines) + "\n"


def _log_dirs_text(partitions: int) -> str:
    names = ["{}-{}".format(*topic_partition(index)) for index in range(partitions)]
    brokers = [
        {
            "broker": broker,
            "logDirs": [
                {
                    "partitions": [
                        {
                            "partition": name,
                            "size": (log_end(index) - lag(broker)) * _RECORD_BYTES,
                            "offsetLag": 0,
                            "isFuture": False,
                        }
                        for index, name in enumerate(names)
                    ],
                    "error": None,
                    "logDir": f"/data-{broker}",
                }
            ],
        }
        for broker in BROKERS
    ]
    header = "Querying brokers for log directories information\nReceived log directory information from brokers 1,2,3\n"
    return header + json.dumps({"brokers": brokers, "version": 1}, separators=(",", ":")) + "\n"


def main() -> None:
    """Generates, imports, prints the seconds it took and the peak memory of this process."""
    partitions = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        cluster = generate_cluster(folder, partitions)
        started = time.perf_counter()
        summary = import_kafka(cluster.describe, cluster.log_dirs, cluster.data_dirs, os.path.join(folder, "imported"))
        seconds = time.perf_counter() - started
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(summary)
    print(f"imported {partitions} partitions in {seconds:.1f} s, peak memory {peak_mb:.0f} MB")


if __name__ == "__main__":
    main()
