"""Simulated tiered clusters, written down as Kafka would, come out of an import as they were."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from kafka_files import batch, remote_rows, replica_rows, write_checkpoint, write_listed, write_segment

from emulator.importers.kafka import import_kafka
from tests.reference.tiered.schedules import schedule
from tests.reference.tiered.simulate import Result, simulate

SEEDS = range(80)
SEEDS_AT_ONCE = 20
BEFORE = {
    "COPY_STARTED": (),
    "COPY_FINISHED": ("COPY_SEGMENT_FINISHED",),
    "DELETE_STARTED": ("COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED"),
    "DELETE_FINISHED": ("DELETE_SEGMENT_STARTED", "DELETE_SEGMENT_FINISHED"),
}


def write_metadata(path: Path, result: Result) -> None:
    lines = ["Log starting offset: 0"]
    for row in result.remote_segments:
        name = f"remoteLogSegmentId=RemoteLogSegmentId{{topicIdPartition=ID:t-0, id=s{row['segment']}}}"
        epochs = ", ".join(f"{epoch}={start}" for epoch, start in row["epochs"])
        lines.append(
            f"RemoteLogSegmentMetadata{{{name}, startOffset={row['base_offset']}, endOffset={row['end_offset']}, brokerId=1, "
            f"segmentLeaderEpochs={{{epochs}}}, segmentSizeInBytes={row['bytes']}, state=COPY_SEGMENT_STARTED}}"
        )
        lines += [f"RemoteLogSegmentMetadataUpdate{{{name}, state={state}, brokerId=1}}" for state in BEFORE[row["state"]]]
    path.write_text("\n".join(lines) + "\n")


def write_broker(folder: Path, row: dict[str, Any], rng: random.Random) -> str:
    """The disk of one replica; its log start checkpoint may be out of date, as its epochs tell."""
    broker, epochs = row["broker"], row["epochs"]
    written = rng.randint(0, row["log_start_offset"]) if epochs else row["log_start_offset"]
    write_checkpoint(folder / "replication-offset-checkpoint", f"t 0 {row['hw']}")
    write_checkpoint(folder / "log-start-offset-checkpoint", f"t 0 {written}")
    (folder / "meta.properties").write_text(f"node.id={broker}\nversion=1\ncluster.id=c\n")
    write_checkpoint(folder / "t-0" / "leader-epoch-checkpoint", *(f"{epoch} {start}" for epoch, start in epochs))
    bases = row["local_segments"]
    for base, end in zip(bases, [*bases[1:], row["leo"]], strict=True):
        write_segment(folder / "t-0", base, *([batch(base, end - base)] if end > base else []))
    return str(folder)


def described(replicas: list[int], result: Result) -> str:
    state = result.trace_partitions[-1]
    isr = ",".join(str(broker) for broker in state["isr"])
    leader = state["leader"] if state["leader"] >= 0 else "none"
    return (
        "Topic: t\tTopicId: ID\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: remote.storage.enable=true\n"
        f"\tTopic: t\tPartition: 0\tLeader: {leader}\tReplicas: {','.join(map(str, replicas))}\tIsr: {isr}\n"
    )


@pytest.mark.parametrize("first", SEEDS[::SEEDS_AT_ONCE])
def test_simulated_clusters(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + SEEDS_AT_ONCE):
        _check(seed, tmp_path / str(seed))


def _used(bases: list[int], local_start: int) -> list[int]:
    """Segments that do not end below the local log start, as those do that wait for the next retention check."""
    return bases[sum(base <= local_start for base in bases[1:]) :]


def _check(seed: int, folder: Path) -> None:
    folder.mkdir()
    case = schedule(seed)
    result = simulate(case)
    rows = {row["broker"]: row for row in result.trace if row["round"] == case["rounds"] - 1}
    if not rows:
        return  # the topic is deleted
    state = result.trace_partitions[-1]
    rng = random.Random(seed)
    data_dirs = {broker: write_broker(folder / str(broker), row, rng) for broker, row in rows.items()}
    (folder / "describe.txt").write_text(described(list(rows), result))
    write_metadata(folder / "metadata.txt", result)
    leader = rows.get(state["leader"], {"role": "offline"})
    offsets = {}
    if leader["role"] == "leader":
        tiered = leader["latest_tiered_offset"]
        offsets = write_listed(
            folder,
            earliest=f"t:0:{leader['earliest_offset']}",
            earliest_local=f"t:0:{leader['earliest_local_offset']}",
            latest_tiered=f"t:0:{tiered}" if tiered >= 0 else "",
            latest=f"t:0:{leader['latest_offset']}",
        )
    for metadata in ((), (str(folder / "metadata.txt"),)):
        out = folder / f"out{len(metadata)}"
        import_kafka(str(folder / "describe.txt"), None, data_dirs, str(out), offsets, metadata)
        for (_, _, broker), row in replica_rows(out).items():
            seen = rows[broker]
            starts = [row[name] for name in ("log_start_offset", "leo")]
            assert starts == [seen[name] for name in ("log_start_offset", "leo")], (seed, broker)
            local_start = max(seen["log_start_offset"], seen["local_segments"][0])
            assert row["local_log_start_offset"] == local_start, (seed, broker)
            assert _used(row["segments"], local_start) == _used(seen["local_segments"], local_start), (seed, broker)
    if offsets:
        # without metadata: without gaps from the log start to latest-tiered
        assumed = [segment[:2] for segment in remote_rows(folder / "out0")]
        bounds = [leader["log_start_offset"], *(end + 1 for _, end in assumed)]
        assert [base for base, _ in assumed] == bounds[:-1], seed
        assert bounds[-1] >= min(leader["latest_tiered_offset"] + 1, leader["leo"]), seed
    segments = [row for row in result.remote_segments if row["state"] != "DELETE_FINISHED"]
    expected = sorted((row["base_offset"], row["end_offset"], row["state"]) for row in segments)
    assert sorted((base, end, now) for base, end, _, now in remote_rows(out)) == expected, seed
