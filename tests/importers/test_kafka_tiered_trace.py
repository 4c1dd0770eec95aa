"""A real tiered cluster (Kafka 4.1.1), step by step: its data directories and offsets in, its state as it was out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kafka_files import CAPTURES, batch, remote_rows, replica_rows, write_checkpoint, write_listed, write_segment

from emulator.importers.kafka import ImportSummary, import_kafka
from emulator.scenario import Scenario, load_run
from tests.reference.tiered.simulate import simulate

DATA = Path(__file__).parents[1] / "data" / "tiered"
STEPS: list[dict[str, Any]] = json.loads((DATA / "trace_e.json").read_text())
RECORDS_PER_SEGMENT = 10
SEGMENT_BYTES = 1_000_900
CONFIGS = "remote.storage.enable=true,segment.bytes=1048576,local.retention.bytes=2500000"
SCENARIO = """
rounds = 1
cluster = {{ import = "{}", config = {{ "remote.log.storage.system.enable" = true }} }}
"""


def describe(step: dict[str, Any]) -> str:
    replicas, isr = (",".join(map(str, step[name])) for name in ("replicas", "isr"))
    header = f"Topic: e\tTopicId: ID\tPartitionCount: 1\tReplicationFactor: {len(step['replicas'])}\tConfigs: {CONFIGS}"
    leader = "none" if step["leader"] < 0 else step["leader"]
    return f"{header}\n\tTopic: e\tPartition: 0\tLeader: {leader}\tReplicas: {replicas}\tIsr: {isr}\n"


def write_broker(folder: Path, broker: int, seen: dict[str, Any]) -> str:
    """A data directory as it was: checkpoints, epochs, segments of ten records each, the active one as long as it was."""
    folder.mkdir()
    (folder / "meta.properties").write_text(f"node.id={broker}\nversion=1\ncluster.id=c\n")
    write_checkpoint(folder / "replication-offset-checkpoint", *([] if seen["hwCkpt"] is None else [f"e 0 {seen['hwCkpt']}"]))
    entries = [] if seen["logStartCkpt"] is None else [f"e 0 {seen['logStartCkpt']}"]
    write_checkpoint(folder / "log-start-offset-checkpoint", *entries)
    write_checkpoint(folder / "recovery-point-offset-checkpoint")
    if seen["segs"]:
        write_checkpoint(folder / "e-0" / "leader-epoch-checkpoint", *(f"{epoch} {start}" for epoch, start in seen["epochs"]))
        for base in seen["segs"]:
            records = min(RECORDS_PER_SEGMENT, seen.get("leo", base + RECORDS_PER_SEGMENT) - base)
            payload = SEGMENT_BYTES - len(batch(base, records, 0))
            write_segment(folder / "e-0", base, *([batch(base, records, payload)] if records else []))
    return str(folder)


def imported(folder: Path, step: dict[str, Any], with_offsets: bool = True) -> ImportSummary:
    (folder / "describe.txt").write_text(describe(step))
    data_dirs = {int(broker): write_broker(folder / broker, int(broker), seen) for broker, seen in step["brokers"].items()}
    seen = step["offsets"]
    tiered = "" if seen["latestTiered"] < 0 else f"e:0:{seen['latestTiered']}"  # the tool prints no line then
    listed = write_listed(
        folder,
        earliest=f"e:0:{seen['earliest']}",
        earliest_local=f"e:0:{seen['earliestLocal']}",
        latest_tiered=tiered,
        latest=f"e:0:{seen['latest']}",
    )
    return import_kafka(str(folder / "describe.txt"), None, data_dirs, str(folder / "out"), listed if with_offsets else None)


def scenario_of(folder: Path) -> Scenario:
    (folder / "run.toml").write_text(SCENARIO.format(folder / "out"))
    return load_run(str(folder / "run.toml")).scenarios[0]


@pytest.mark.parametrize("number", range(len(STEPS)), ids=lambda number: STEPS[number]["step"])
def test_every_step(number: int, tmp_path: Path) -> None:
    step = STEPS[number]
    imported(tmp_path, step)
    for (_, _, broker), row in replica_rows(tmp_path / "out").items():
        seen = step["brokers"][str(broker)]
        assert row["epochs"] == [tuple(entry) for entry in seen["epochs"]]
        assert row["segments"] == seen["segs"]
        if seen["state"] == "up":
            # the leader's HW is the latest offset; a follower's is in its checkpoint, of some seconds ago
            hw = seen["hw"] if broker == step["leader"] else seen["hwCkpt"]
            assert (row["log_start_offset"], row["leo"], row["hw"]) == (seen["logStart"], seen["leo"], hw)
            assert row["local_log_start_offset"] == max(seen["logStart"], seen["segs"][0])
    offsets, segments = step["offsets"], remote_rows(tmp_path / "out")
    bases = [offsets["earliest"], *range(offsets["earliest"] // 10 * 10 + 10, offsets["latestTiered"] + 1, 10)]
    expected = [(base, base // 10 * 10 + 9) for base in bases if base <= offsets["latestTiered"]]
    assert [segment[:2] for segment in segments] == expected


@pytest.mark.parametrize("number", range(0, len(STEPS), 4), ids=lambda number: STEPS[number]["step"])
def test_a_run_begins_with_the_offsets_that_were_listed(number: int, tmp_path: Path) -> None:
    step = STEPS[number]
    imported(tmp_path, step)
    scenario = scenario_of(tmp_path)
    partition = scenario.initial_partitions.to_pylist()[0]
    replicas = {}
    for row in scenario.initial_replicas.to_pylist():
        row["epochs"] = [[entry["epoch"], entry["start_offset"]] for entry in row["epochs"]]
        known = {key: value for key, value in row.items() if value is not None}
        replicas[row["broker"]] = {**known, "segments": step["brokers"][str(row["broker"])]["segs"]}
    remote = scenario.initial_remote_segments.to_pylist()
    for row in remote:
        row["epochs"] = [[entry["epoch"], entry["start_offset"]] for entry in row["epochs"]]
    result = simulate(
        {
            **{"rounds": 3, "round_ms": 500, "session_timeout_rounds": 3, "brokers": [1, 2, 3], "racks": {}},
            "config": {"auto.leader.rebalance.enable": False, "remote.log.storage.system.enable": True},
            "topic_config": {key: value for key, value in scenario.topics[0].config.items() if key != "local.retention.bytes"},
            **{"replicas": step["replicas"], "workload": [], "faults": [], "commands": []},
            "initial": {**partition, "replicas": replicas, "remote_segments": remote},
        },
        watch=True,
    )
    assert result.violations == []
    leader = next(row for row in result.trace if row["broker"] == step["leader"])
    assert step["offsets"] == {
        "earliest": leader["earliest_offset"],
        "earliestLocal": leader["earliest_local_offset"],
        "latestTiered": leader["latest_tiered_offset"],
        "latest": leader["latest_offset"],
    }


def test_data_directories_alone(tmp_path: Path) -> None:
    """What is tiered is then known only as far as disks have given it up."""
    summary = imported(tmp_path, STEPS[-1], with_offsets=False)
    replicas = replica_rows(tmp_path / "out")
    # the checkpoint still says 0: the epochs, cut by DeleteRecords, say 95
    assert [(row["log_start_offset"], row["local_log_start_offset"]) for row in replicas.values()] == [(95, 100)] * 3
    assert remote_rows(tmp_path / "out") == [(95, 99, [(1, 95)], "COPY_FINISHED")]
    assert any("no latest-tiered" in note for note in summary.notes)
    assert any("remote.log.storage.system.enable" in note for note in summary.notes)


def test_captured_files_of_the_last_step(tmp_path: Path) -> None:
    """The tools' own output, and the brokers' checkpoint files without segments."""
    captures = CAPTURES / "tiered"
    (tmp_path / "describe.txt").write_text(describe(STEPS[-1]))
    data_dirs = {}
    for broker in (1, 2, 3):
        data_dirs[broker] = write_broker(tmp_path / str(broker), broker, {"hwCkpt": 130, "logStartCkpt": 0, "segs": []})
        (tmp_path / str(broker) / "e-0").mkdir()
        checkpoint = (captures / f"leader-epoch-checkpoint.b{broker}").read_bytes()
        (tmp_path / str(broker) / "e-0" / "leader-epoch-checkpoint").write_bytes(checkpoint)
    times = ("earliest", "earliest-local", "latest-tiered", "latest")
    offsets = {time: [str(captures / f"get-offsets_{time}.txt")] for time in times}
    import_kafka(str(tmp_path / "describe.txt"), None, data_dirs, str(tmp_path / "out"), offsets)
    for row in replica_rows(tmp_path / "out").values():
        assert (row["log_start_offset"], row["local_log_start_offset"], row["leo"], row["hw"]) == (95, 100, 130, 130)
        assert (row["epochs"], row["segments"]) == ([(1, 95), (2, 120)], None)
    assert [segment[:3] for segment in remote_rows(tmp_path / "out")] == [(95, 99, [(1, 95)]), (100, 119, [(1, 95)])]
    assert scenario_of(tmp_path).initial_remote_segments.num_rows == 2
