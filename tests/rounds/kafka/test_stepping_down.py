"""What a leader did in the round at whose end it hears that it leads no more. No Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reference.kafka import simulate
from tests.reference.scenario_cases import cases_of_run
from tests.rounds.kafka.compared import all_known, differences, outcomes_of, played, scenarios_of, trace_of, with_protocol

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


ELECTED_AND_FOLLOWING = """
name = "elected, and following"
rounds = 20
round_ms = 500
[cluster]
brokers = 3
session_timeout_rounds = 9
fetches_per_round = 1
[[topics]]
name = "t"
assignment = [[1, 2, 3]]
[[workload]]
topic = "t"
records_per_round = 5
record_bytes = 10
acks = "1"
[[commands]]
round = 4
kind = "reassign"
topic = "t"
partition = 0
replicas = [2, 1]
[[commands]]
round = 5
kind = "preferred_leader_election"
topic = "t"
[[faults]]
kind = "stale_metadata"
broker = 2
topic = "t"
from_round = 3
to_round = 12
lag_rounds = 3
"""


def test_what_an_elected_leader_cut_before_it_knew_it_did_not_commit(tmp_path: Path) -> None:
    """2 is elected in epoch 2 with 25 records, and learns in round 7 that 1 leads in epoch 1.

    Before KIP-101 it cuts all above its own high watermark, 15. In round 8 it learns that it leads; 1 had committed 20.
    """
    run = with_protocol(scenarios_of(ELECTED_AND_FOLLOWING, tmp_path), "kafka-high-watermark")
    game = played(run.scenarios)
    [case] = cases_of_run(run).values()
    assert differences(simulate(case), game, 0, all_known(game)) == []
    leo = {row["round"]: row["leo"] for row in trace_of(game)[0] if row["broker"] == 2}
    assert (leo[4], leo[6], leo[7], leo[8], leo[9]) == (25, 25, 15, 15, 20)
    outcomes = outcomes_of(game, 0)
    assert (outcomes["committed_lost"], outcomes["acked_lost"]) == (5, 10)
