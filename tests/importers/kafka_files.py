"""Files of Kafka made for a test: record batches, segments, data directories."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

FIXTURES = Path(__file__).parent / "fixtures"
CAPTURES = FIXTURES / "kafka-4.1.1"
EXAMPLE = Path(__file__).parents[2] / "datasets" / "examples" / "kafka-4.1.1"

DESCRIBE_HEALTHY = EXAMPLE / "topics_describe_healthy.txt"
LOG_DIRS_HEALTHY = EXAMPLE / "log_dirs_healthy.txt"
DATA_DIRS = {broker: str(EXAMPLE / f"broker{broker}") for broker in (1, 2, 3)}


def batch(base_offset: int, records: int, payload_bytes: int = 40, magic: int = 2) -> bytes:
    """A record batch: a whole header of magic 2, records of zeros (nobody looks at them)."""
    body = struct.pack(">ibIhiqqqhii", 0, magic, 0, 0, records - 1, 0, 0, -1, -1, -1, records) + bytes(payload_bytes)
    return struct.pack(">qi", base_offset, len(body)) + body


def write_segment(folder: Path, base_offset: int, *batches: bytes, index: bytes | None = None) -> Path:
    """Writes one .log segment, and its offset index if given."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{base_offset:020d}.log"
    path.write_bytes(b"".join(batches))
    if index is not None:
        path.with_suffix(".index").write_bytes(index)
    return path


def write_checkpoint(path: Path, *entries: str) -> None:
    """Writes a checkpoint file with these entry lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in ("0", len(entries), *entries)))


def write_data_dir(folder: Path, broker: int, *high_watermarks: str) -> str:
    """Writes the top files of a broker's data directory: meta.properties and the HW checkpoint."""
    write_checkpoint(folder / "replication-offset-checkpoint", *high_watermarks)
    (folder / "meta.properties").write_text(f"#\nnode.id={broker}\nversion=1\ncluster.id=c\n")
    return str(folder)


def describe_lines(*partitions: str, topic: str = "t") -> str:
    """A description of one topic; each partition as "LEADER|REPLICAS|ISR"."""
    lines = [f"Topic: {topic}\tPartitionCount: {len(partitions)}\tReplicationFactor: 1\tConfigs: "]
    for number, state in enumerate(partitions):
        leader, replicas, isr = state.split("|")
        lines.append(f"\tTopic: {topic}\tPartition: {number}\tLeader: {leader}\tReplicas: {replicas}\tIsr: {isr}")
    return "\n".join(lines) + "\n"


def table_rows(folder: Path, name: str) -> list[dict[str, Any]]:
    """The rows of one table of an import."""
    rows: list[dict[str, Any]] = pq.read_table(folder / f"{name}.parquet").to_pylist()
    return rows


def replica_rows(folder: Path) -> dict[tuple[str, int, int], dict[str, Any]]:
    """The replicas of an import by (topic, partition, broker), epochs as pairs."""
    rows = table_rows(folder, "replicas")
    for row in rows:
        row["epochs"] = [(entry["epoch"], entry["start_offset"]) for entry in row["epochs"]]
    return {(row["topic"], row["partition"], row["broker"]): row for row in rows}


def write_listed(folder: Path, **lines: str) -> dict[str, list[str]]:
    """Writes outputs of kafka-get-offsets ("t:0:5 t:1:7", by time with _ for -); gives what `offsets` takes."""
    files = {}
    for time, text in lines.items():
        path = folder / f"{time}.txt"
        path.write_text("".join(f"{line}\n" for line in text.split()))
        files[time.replace("_", "-")] = [str(path)]
    return files


def remote_rows(folder: Path) -> list[tuple[int, int, list[tuple[int, int]], str]]:
    """The remote segments of an import of one partition: base and end offset, epochs as pairs, state."""
    return [
        (
            row["base_offset"],
            row["end_offset"],
            [(entry["epoch"], entry["start_offset"]) for entry in row["epochs"]],
            row["state"],
        )
        for row in table_rows(folder, "remote_segments")
    ]
