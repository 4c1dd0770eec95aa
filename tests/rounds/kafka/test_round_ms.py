"""The same scenario in time, in rounds of 100 ms, 500 ms, 2 s and 10 s: the same happens, within the rounds of the docs.

docs/kafka_rounds.md, Times in rounds. What is told of the finest rounds is what all others are held against: of each event its
kind and broker, and when it comes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rounds.kafka.compared import events_of, outcomes_of, played, scenarios_of

FINEST_MS = 100
ROUND_MS = (500, 2_000, 10_000)
RATE = 20
"""Records a second."""

TROUBLE = {
    "crash": ('kind = "broker_crash"\nbroker = 1\nfrom_round = "1m"\nto_round = "2m"', "all"),
    "restart within the session": ('kind = "broker_crash"\nbroker = 1\nfrom_round = "60s"\nto_round = "63s"', "all"),
    "power": ('kind = "power_loss"\nbroker = 2\nfrom_round = "1m"\nto_round = "2m"', "all"),
    "shutdown": ('kind = "controlled_shutdown"\nbroker = 1\nfrom_round = "1m"\nto_round = "2m"', "all"),
    "isolated leader": ('kind = "isolation"\nbroker = 1\nfrom_round = "1m"\nto_round = "2m"', "1"),
    "paused leader": ('kind = "broker_pause"\nbroker = 1\nfrom_round = "1m"\nto_round = "90s"', "all"),
    "cut from the leader": ('kind = "link_cut"\nbroker = 3\npeer = 1\nfrom_round = "1m"\nto_round = "3m"', "all"),
}
"""The fault, and acks of the workload."""

ROUNDS_OF = {
    **dict.fromkeys(("election", "acked_lost", "isr_shrink", "log_damaged"), 1),
    "truncate": 1,
    "isr_expand": 4,
    "leaderless_rounds": 1,
    "under_min_isr_rounds": 1,
    "under_replicated_rounds": 4,
    "unwritable_rounds": 3,
    "appended": 1,
    "acked": 4,
    "acked_lost": 1,
    "committed_lost": 0,
}
"""Rounds by which what is told may differ: the list of docs/kafka_rounds.md, Times in rounds."""

JUDGED_AS_IT_JOINS = ("restart within the session", 10_000)
"""Every other round has a check then: the one in which it joins, before it has caught up, removes it again for a round."""

FILE = """
rounds = "6m"
round_ms = {round_ms}
[cluster]
brokers = 3
[[topics]]
name = "t"
assignment = [[1, 2, 3]]
[[workload]]
topic = "t"
records_per_round = {records}
record_bytes = 100
acks = "{acks}"
[[faults]]
{fault}
"""


def told(folder: Path, round_ms: int, trouble: str) -> tuple[list[tuple[float, str, int]], dict[str, float]]:
    """(seconds, kind, broker) of what happened, and of the outcomes seconds and records."""
    fault, acks = TROUBLE[trouble]
    text = FILE.format(round_ms=round_ms, records=RATE * round_ms // 1000, acks=acks, fault=fault)
    game = played(scenarios_of(text, folder).scenarios, traced=False, leaps=True)
    events = [(row["round"] * round_ms / 1000, row["kind"], row["broker"]) for row in events_of(game)[0]]
    outcomes = outcomes_of(game, 0)
    return events, {
        name: outcomes[name] * (round_ms / 1000 if name.endswith("_rounds") else 1) for name in ROUNDS_OF if name in outcomes
    }


@pytest.mark.parametrize("trouble", TROUBLE)
def test_outcomes_in_time(tmp_path: Path, trouble: str) -> None:
    events, outcomes = told(tmp_path, FINEST_MS, trouble)
    assert events, "nothing happens"
    for round_ms in ROUND_MS:
        if (trouble, round_ms) == JUDGED_AS_IT_JOINS:
            continue
        found, found_outcomes = told(tmp_path, round_ms, trouble)
        assert sorted(event[1:] for event in found) == sorted(event[1:] for event in events), round_ms
        expected = {event[1:]: event[0] for event in events}
        for seconds, kind, broker in found:
            allowed = ROUNDS_OF[kind] * round_ms / 1000
            assert abs(seconds - expected[kind, broker]) <= allowed, (round_ms, kind, seconds, expected[kind, broker])
        for name, value in outcomes.items():
            allowed = ROUNDS_OF[name] * (round_ms / 1000 if name.endswith("_rounds") else RATE * round_ms / 1000)
            assert abs(found_outcomes[name] - value) <= allowed, (round_ms, name, found_outcomes[name], value)


CHECKED = """
rounds = "5m"
round_ms = {round_ms}
[cluster]
brokers = 3
[[topics]]
name = "t"
assignment = [[1, 2, 3]]
[[workload]]
topic = "t"
records_per_round = 2
record_bytes = 100
[[faults]]
kind = "link_cut"
broker = 3
peer = 1
from_round = "150s"
to_round = "4m"
"""
CHECK_SECONDS = 180


@pytest.mark.parametrize("leaps", [True, False])
@pytest.mark.parametrize("round_ms", [FINEST_MS, *ROUND_MS])
def test_a_follower_that_lags_leaves_with_the_same_check(tmp_path: Path, round_ms: int, leaps: bool) -> None:
    """Cut off after 150 s it has lagged for 30 s, caught up as it was just before, at the check of 180 s: one is every 15 s.

    In rounds of 2 s a check every 8 rounds came at 176 and 192 s.
    """
    game = played(scenarios_of(CHECKED.format(round_ms=round_ms), tmp_path).scenarios, traced=False, leaps=leaps)
    shrunk = [row["round"] * round_ms / 1000 for row in events_of(game)[0] if row["kind"] == "isr_shrink"]
    assert len(shrunk) == 1
    assert abs(shrunk[0] - CHECK_SECONDS) <= round_ms / 1000
