"""KIP-1303 by time: who has that span of the log itself is elected before others. No Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rounds.kafka.compared import played, scenarios_of

SCENARIO = """
rounds = 12
mode = "{mode}"
faults = [{{ kind = "broker_crash", broker = 2, from_round = 2 }}]
workload = [{{ topic = "t", from_round = 1, records_per_round = 5, record_bytes = 100 }}]
[cluster]
brokers = 3
session_timeout_rounds = 3
config = {{ "remote.log.storage.system.enable" = true }}
[[topics]]
name = "t"
assignment = [[1, 2, 3]]
config = {{ "remote.storage.enable" = true, "leader.election.eligible.local.log.ms" = {ms} }}
[initial]
partitions = [{{ topic = "t", partition = 0, leader = 2, leader_epoch = 0, isr = [1, 2, 3] }}]
replicas = [
  {{ topic = "t", partition = 0, broker = 1, leo = 100, local_log_start_offset = 100 }},
  {{ topic = "t", partition = 0, broker = 2, leo = 100, local_log_start_offset = 20 }},
  {{ topic = "t", partition = 0, broker = 3, leo = 100, local_log_start_offset = 50 }},
]
remote_segments = [{{ topic = "t", partition = 0, base_offset = 0, end_offset = 99, bytes = 10000 }}]
"""
"""The oldest record of its own is one of round 1 on broker 1; broker 3 has those of the start, as of round 0."""


@pytest.mark.parametrize("mode", ["plain", "leap"])
@pytest.mark.parametrize(
    ("ms", "leader"),
    [(-1, 1), (1500, 1), (1501, 3), (2000, 3), (2001, 1)],
    ids=["off", "both have it", "one has it not", "one just has it", "nobody has it"],
)
def test_who_leads_after_the_leader(ms: int, leader: int, mode: str, tmp_path: Path) -> None:
    """The leader dies in round 2 and is fenced in round 5: by the reports of round 4 spans are 3 and 4 rounds."""
    game = played(scenarios_of(SCENARIO.format(ms=ms, mode=mode), tmp_path).scenarios, leaps=mode == "leap")
    part = game.state.partitions[0]
    assert game.state.replicas[part.leader].broker == leader
    assert not len(game.told.violations)
