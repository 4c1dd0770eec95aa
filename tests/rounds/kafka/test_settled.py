"""EventuallyInSync leaves out followers that may not be members: no false alarm where the leader is right; by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.rounds.kafka.compared import events_of, played, scenarios_of

BEHIND = """
rounds = 60
round_ms = 500
[cluster]
brokers = 2
session_timeout_rounds = 2
fetches_per_round = 1
[cluster.config]
"replica.lag.time.max.ms" = 1000
"replica.fetch.max.bytes" = 300
[[topics]]
name = "t"
assignment = [[1, 2]]
[[workload]]
topic = "t"
from_round = 0
to_round = 50
records_per_round = 3
record_bytes = 100
acks = "1"
[[faults]]
kind = "link_cut"
broker = 1
peer = 2
from_round = 5
to_round = 15
"""
"""A follower fetches what its leader appends, and stays behind by what it missed until nothing is appended any more."""


def test_who_lags_joins_and_leaves_in_every_round(tmp_path: Path) -> None:
    """Two members are asked for, so that the high watermark is where the follower is: it joins there, and has lagged for long."""
    text = BEHIND.replace("[[workload]]", '[topics.config]\n"min.insync.replicas" = 2\n[[workload]]')
    [scenario] = scenarios_of(text, tmp_path).scenarios
    game = played([replace(scenario, rounds=45)])
    assert [row["kind"] for row in events_of(game)[0] if row["round"] == 44] == ["isr_expand", "isr_shrink"]
    assert len(game.told.violations) == 0


def test_who_is_level_since_this_round_joins_in_the_next(tmp_path: Path) -> None:
    """Whenever the run ends: its leader knows of what the follower fetched by the next fetch."""
    [scenario] = scenarios_of(BEHIND, tmp_path).scenarios
    ends = range(50, 66)
    games = [played([replace(scenario, rounds=rounds)]) for rounds in ends]
    assert [len(game.told.violations) for game in games] == [0] * len(ends)
    joined = [[row["round"] for row in events_of(game)[0] if row["kind"] == "isr_expand"] for game in games]
    assert joined[0] == [] and joined[-1] != []
