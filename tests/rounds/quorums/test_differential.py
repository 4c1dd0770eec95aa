"""Rounds of quorums against the reference, column by column of every round, on random schedules; compiled where that is on.

`python -m tests.rounds.quorums.test_differential 0 3000` plays so many of each protocol.
"""

from __future__ import annotations

import sys

import pytest

from emulator.rounds.quorums.play_block import Scratch
from emulator.rounds.quorums.protocols import PROTOCOLS
from tests.reference.quorums.schedules import random_case, wider_case, without
from tests.rounds.quorums.after_each_round import differences
from tests.rounds.quorums.compared import OUTCOMES, Game, latencies_of, play_block, told_events, told_violations

GUARDS = ("own_term_commits", "compare_logs", "one_vote", "keep_vote", "refuse_older_term")
"""`check_previous` is not among them: without it logs lack the beginning of a leader's entries, and what is lost is counted
as if they were there. What it violates is compared in test_mutants.py."""


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("first", range(0, 120, 20))
def test_as_the_reference(protocol: str, first: int) -> None:
    assert differences([random_case(protocol, seed, rounds=45, disks=0.3) for seed in range(first, first + 20)]) == {}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_more_servers_other_leases_and_lost_racks(protocol: str) -> None:
    assert differences([wider_case(protocol, seed, rounds=45, disks=0.3) for seed in range(4)]) == {}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("guard", GUARDS)
def test_mutants_as_the_reference(protocol: str, guard: str) -> None:
    drawn = (random_case(protocol, seed, rounds=45, disks=0.3) for seed in range(1000, 1010))
    assert differences([without(case, guard) for case in drawn]) == {}


@pytest.fixture(scope="module")
def games() -> list[Game]:
    """Random cases of all protocols, played to their ends as ordinary Python."""
    own = [Game(random_case(name, seed, rounds=45, disks=0.3)) for name in PROTOCOLS for seed in range(2000, 2020)]
    for game in own:
        for _ in range(game.case.rounds):
            game.play_round()
    return own


@pytest.mark.parametrize("room", [32, 2])
def test_a_block_is_its_groups(room: int, games: list[Game]) -> None:
    """The entry point, compiled where that is on, with lists that have to grow, tells what single rounds do."""
    state, told = play_block([game.case for game in games], Scratch(room, 8 * room))
    events, violations = told_events(told.events), told_violations(told.violations)
    of_events, of_violations = told.events["group"].tolist(), told.violations["group"].tolist()
    for place, game in enumerate(games):
        counted = {name: int(state.groups[place][name]) for name in OUTCOMES}
        assert counted | {"latencies": latencies_of(state, place)} == game.outcomes()
        spans = game.lists.filled[0]
        own = [event for event, group in zip(events, of_events, strict=True) if group == place]
        assert own == told_events(game.lists.events[: spans.events.count])
        own_violations = [v for v, group in zip(violations, of_violations, strict=True) if group == place]
        assert own_violations == told_violations(game.lists.violations[: spans.violations.count])
        ends = [int(server.end) for server in state.servers[state.groups[place].first_server :][: game.case.copies]]
        assert ends == [len(row["log"]) for row in game.rows()]


if __name__ == "__main__":
    FIRST, LAST = int(sys.argv[1]), int(sys.argv[2])
    for name in PROTOCOLS:
        wrong = [
            first + place
            for first in range(FIRST, LAST, 100)
            for place in differences([random_case(name, seed, disks=0.3) for seed in range(first, min(first + 100, LAST))])
        ]
        print(f"{name}: {len(wrong)} of {LAST - FIRST} differ {wrong[:10]}", flush=True)
