"""Who is removed from the ISR, and when: the rules of join_and_shrink.py on one partition. No Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rounds.kafka.compared import events_of, outcomes_of, played, scenarios_of

SCENARIO = """
name = "shrinking"
rounds = 60
[cluster]
brokers = 3
session_timeout_rounds = 50
config = { "replica.lag.time.max.ms" = 5000 }
[[topics]]
name = "t"
assignment = [[1, 2, 3]]
[[workload]]
topic = "t"
records_per_round = RECORDS
record_bytes = 10
[[faults]]
kind = "broker_pause"
broker = 3
from_round = 12
to_round = 40
"""


@pytest.mark.parametrize(("records", "shrinks"), [(5, [25]), (0, [])])
def test_a_silent_follower_leaves_when_it_lags(tmp_path: Path, records: int, shrinks: list[int]) -> None:
    """It was caught up in round 10: its last fetch, of round 11, has what the leader had then.

    The check of round 20 finds it 10 rounds behind, which is within the lag; that of round 25 is the first after more.

    At the leader's LEO it stays, however long it is silent.
    """
    game = played(scenarios_of(SCENARIO.replace("RECORDS", str(records)), tmp_path).scenarios)
    told = events_of(game).get(0, [])
    shrunk = [(f"round {row['round']}", f"broker {row['broker']}") for row in told if row["kind"] == "isr_shrink"]
    assert shrunk == [(f"round {round_}", "broker 3") for round_ in shrinks]
    assert outcomes_of(game, 0)["isr"] == [1, 2, 3]
