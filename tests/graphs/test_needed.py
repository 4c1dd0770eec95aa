"""How many replicas take writes, by protocol."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.graphs.placed import placed_in_scenario
from emulator.scenario import load_run

FILE = """
rounds = 10
protocol = "PROTOCOL"
cluster = { brokers = 5 }
topics = [
  { name = "of_five", partitions = 1, replication_factor = 5, config = { CONFIG } },
  { name = "of_three", partitions = 1, replication_factor = 3 },
]
"""


@pytest.mark.parametrize(
    ("protocol", "config", "needed"),
    [
        ("kafka", '"min.insync.replicas" = 2', [2, 1]),
        ("raft", "", [3, 2]),
        ("kraft", "", [3, 2]),
        ("zab", "", [3, 2]),
        ("viewstamped", "", [3, 2]),
        ("quorum", '"acks.to.commit" = 4, "logs.compared" = 2', [4, 2]),
        ("primary-backup-sync", "", [5, 3]),
        ("primary-backup-async", "", [1, 1]),
        ("pacifica", "", [1, 1]),
        ("raft-mutant-commit-of-older-term", "", [3, 2]),
    ],
)
def test_writes_need(tmp_path: Path, protocol: str, config: str, needed: list[int]) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(FILE.replace("PROTOCOL", protocol).replace("CONFIG", config))
    (scenario,) = load_run(str(path)).scenarios
    assert placed_in_scenario(scenario).min_isr.tolist() == needed
