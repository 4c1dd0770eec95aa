"""What the papers promise holds under random schedules; without a guard it does not, and says so by its name."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from emulator.rounds.compiled import is_compiling
from emulator.rounds.packed import entries_of
from emulator.rounds.quorums.constants import INVARIANTS
from emulator.rounds.quorums.records import Leadership
from tests.reference.quorums.cases import VOTER_RESTARTS, Case, Fault
from tests.reference.quorums.play import played
from tests.reference.quorums.schedules import random_case, without
from tests.rounds.quorums.compared import differences, play_block

CAUGHT = {
    ("raft", "compare_logs"): "LeaderCompleteness",
    ("raft", "one_vote"): "ElectionSafety",
    ("raft", "check_previous"): "LogMatching",
    ("raft", "refuse_older_term"): "LeaderCompleteness",
    ("quorum", "compare_logs"): "LeaderCompleteness",
    ("quorum", "check_previous"): "LogMatching",
    ("quorum", "refuse_older_term"): "LeaderCompleteness",
    ("pacifica", "leases_expire"): "PrimaryInvariant",
    ("pacifica", "check_version"): "ReconfigurationInvariant",
    ("pacifica", "all_prepared"): "CommitInvariant",
    ("pacifica", "catch_up_first"): "CommitInvariant",
    ("pacifica", "check_previous"): "LogMatching",
    ("kraft", "compare_logs"): "LeaderCompleteness",
    ("kraft", "one_vote"): "SingleLeader",
    ("kraft", "check_previous"): "LogMatching",
    ("kraft", "refuse_older_term"): "ConsistentCommittedData",
    ("zab", "compare_logs"): "PrimaryIntegrity",
    ("zab", "acks_of_new_leader"): "PrimaryIntegrity",
    ("zab", "cut_history"): "GlobalPrimaryOrder",
}
"""Protocol and guard -> an invariant that some of 300 schedules, or of 1,000, break without it; quorum with A + V > N."""


def safe_cases(protocol: str, seeds: range) -> list[Case]:
    """Random schedules of choices that promise something."""
    cases = [random_case(protocol, seed, rounds=60) for seed in seeds]
    return [replace(case, compared=max(case.compared, case.copies + 1 - case.acks)) for case in cases]


def violated(cases: list[Case]) -> set[str]:
    """Names of the invariants that broke."""
    return {INVARIANTS[row.invariant] for row in play_block(cases)[1].violations}


@pytest.mark.parametrize("protocol", ["quorum", "raft", "primary-backup-sync", "pacifica", "zab", "kraft"])
def test_nothing_breaks(protocol: str) -> None:
    cases = safe_cases(protocol, range(3000 if is_compiling() else 100))
    state, told = play_block(cases)
    assert len(told.violations) == 0
    assert state.groups.committed_lost.sum() == 0
    terms: Any = entries_of(Leadership, state.leaderships)
    offsets = state.leaderships.offsets
    for first, last in itertools.pairwise(offsets):  # of two that are elected in one round the older term comes first
        assert (np.diff(terms.term[first:last]) > 0).all()
    assert state.groups.elections.sum() > len(cases) // 2


@pytest.mark.parametrize(("protocol", "guard"), CAUGHT)
def test_a_mutant_is_caught(protocol: str, guard: str) -> None:
    seeds = range(1000 if (protocol, guard) == ("pacifica", "check_previous") else 300)
    cases = [without(case, guard) for case in safe_cases(protocol, seeds)]
    assert CAUGHT[protocol, guard] in violated(cases)


def test_logs_must_agree_before() -> None:
    """The mutant whose losses are counted otherwise breaks the same invariants by the reference as by the rounds."""
    for seed in range(40):
        case = without(random_case("raft", seed, rounds=45), "check_previous")
        assert violated([case]) == {violation.invariant for violation in played(case)[0].violations}


def test_a_vote_outlives_a_restart() -> None:
    """Server 1 leads term 2 by the vote of server 2, whose log is behind; server 2 restarts, and server 0 asks it for term 2."""
    case = Case("raft", 3, 20, timeout_rounds=4, jitter_rounds=0, faults=VOTER_RESTARTS)
    assert violated([case]) == set()
    assert violated([without(case, "keep_vote")]) == {"ElectionSafety", "LogMatching"}
    assert differences(case) == differences(without(case, "keep_vote")) == []


def test_figure_8() -> None:
    """What an older term left on a majority is not committed by counting: a leader without it may still come (Raft 5.4.2).

    Server 0 has seven entries of term 1, server 4 leads term 2 and leaves two behind the first four on itself alone; 0 is told
    of that term, leads term 3 and gets four of its own to 1, 2 and 3 before its empty one; 4 is elected by 2 and 3.
    """
    others = (1, 2, 3)
    faults = (
        *(Fault("link_cut", 2, 4, 0, server) for server in others),
        *(Fault("broker_crash", 3, 5, server) for server in others),
        Fault("isolation", 4, 7, 0),
        Fault("broker_crash", 7, 15, 4),
        *(Fault("broker_crash", 8, 9, server) for server in others),
        *(Fault("broker_crash", 15, 60, server) for server in (0, 1)),
        *(Fault("broker_crash", 15, 19, server) for server in (2, 3)),
    )
    case = Case("raft", 5, 60, timeout_rounds=3, jitter_rounds=0, max_entries=1, workload=((0, 1), (8, 0)), faults=faults)
    assert violated([case]) == set()
    assert "LeaderCompleteness" in violated([without(case, "own_term_commits")])
    assert differences(case) == differences(without(case, "own_term_commits")) == []
