"""What a leader did in the round at whose end it hears that it leads no more. No Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rounds.kafka.compared import outcomes_of, played, scenarios_of

SCENARIO = """
name = "stepping down"
rounds = 20
round_ms = 500
[cluster]
brokers = 1
session_timeout_rounds = 3
[[topics]]
name = "t"
assignment = [[1]]
[[workload]]
topic = "t"
records_per_round = 120
record_bytes = 10
acks = "ACKS"
from_round = 8
to_round = 12
[[faults]]
kind = "broker_pause"
broker = 1
from_round = 5
to_round = 11
[[faults]]
kind = "controller_loss"
from_round = 9
to_round = 14
[[faults]]
kind = "disk_loss"
broker = 1
from_round = 16
to_round = 17
"""


@pytest.mark.parametrize("acks", ["1", "all"])
def test_a_leader_that_wakes_commits_before_it_hears(tmp_path: Path, acks: str) -> None:
    """It sleeps, is fenced in round 8, appends in round 11 and raises its high watermark: only then it hears of no leader.

    So the 120 records were committed, and with acks=all acknowledged (ReplicaManager.appendRecords before
    applyLocalFollowersDelta); the disk takes them in round 16, when it leads again.
    """
    outcomes = outcomes_of(played(scenarios_of(SCENARIO.replace("ACKS", acks), tmp_path).scenarios), 0)
    assert (outcomes["appended"], outcomes["acked"]) == (120, 120)
    assert (outcomes["acked_lost"], outcomes["committed_lost"]) == (120, 120)
