"""`emulator import kafka` of the bundled cluster: what it says and refuses, and what the demo makes of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from emulator.cli import main
from emulator.scenario import load_run

EXAMPLES = Path(__file__).parents[2] / "datasets" / "examples"
CLUSTER = EXAMPLES / "kafka-4.1.1"
IMPORT_EXAMPLE = [
    *("import", "kafka", "--describe", str(CLUSTER / "topics_describe_healthy.txt")),
    *("--log-dirs", str(CLUSTER / "log_dirs_healthy.txt")),
    *(f"--data-dir={broker}={CLUSTER / f'broker{broker}'}" for broker in (1, 2, 3)),
]


def test_import_kafka(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*IMPORT_EXAMPLE, "--out", str(tmp_path / "cluster")]) == 0
    assert capsys.readouterr().out.startswith("3 brokers, 4 topics, 13 partitions, 30 replicas")
    assert (tmp_path / "cluster" / "replicas.parquet").exists()


def test_import_kafka_with_offsets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for time, offset in (("earliest", 1), ("latest", 5)):
        (tmp_path / f"{time}.txt").write_text(f"orders:0:{offset}\n")
    offsets = [f"--offsets={time}={tmp_path / time}.txt" for time in ("earliest", "latest")]
    assert main([*IMPORT_EXAMPLE, *offsets, "--out", str(tmp_path / "cluster")]) == 0
    capsys.readouterr()
    for wrong, said in (("latest", '"latest" is not TIME=FILE'), ("newest=x", '"newest" is no time')):
        assert main([*IMPORT_EXAMPLE, "--offsets", wrong, "--out", str(tmp_path / "no")]) == 2
        assert said in capsys.readouterr().err
    (tmp_path / "latest.txt").write_text("orders:0:0\n")
    assert main([*IMPORT_EXAMPLE, *offsets, "--out", str(tmp_path / "no")]) == 2
    assert "earliest.txt: line 1: earliest of orders:0 is 1, above latest 0" in capsys.readouterr().err
    assert not (tmp_path / "no").exists()


def test_the_demo_is_a_real_cluster_scaled_up(tmp_path: Path) -> None:
    folder = tmp_path / "datasets" / "examples"
    folder.mkdir(parents=True)
    shutil.copy(EXAMPLES / "demo.toml", folder)
    assert main([*IMPORT_EXAMPLE, "--out", str(tmp_path / "build" / "demo" / "cluster")]) == 0
    base, unclean = load_run(str(folder / "demo.toml")).scenarios
    assert len(base.brokers) == 12
    assert len({broker.rack for broker in base.brokers}) == 3
    assert sum(topic.partitions for topic in base.topics) == 1000
    assert not any(topic.config["unclean.leader.election.enable"] for topic in base.topics)
    assert {t.name for t in unclean.topics if t.config["unclean.leader.election.enable"]} == {"orders", "pay", "seg"}
    assert set(base.workload.column("acks").to_pylist()) == {"1", "all"}
