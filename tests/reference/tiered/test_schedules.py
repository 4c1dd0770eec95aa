"""Random schedules: the tiered round breaks no invariant; each of its mutants does, there or in a case made for it."""

from __future__ import annotations

from collections import Counter

import pytest

from . import invariants
from .cases import at, happened
from .chosen_cases import CAUGHT_BY_CASES, copy_deleted_under_way, stale_log_start
from .rules import MUTANTS, REAL
from .schedules import EXCUSED_BY_UNCLEAN_ELECTIONS, broken, main, schedule
from .simulate import simulate

SCHEDULES = range(240)

CAUGHT_BY_SCHEDULES = {
    "copy-above-last-stable": ("RemoteBelowLastStable", range(8)),
    "delete-before-copy": ("NoLocalDeleteBeforeCopy", range(6)),
    "started-counts-as-copied": ("NoLocalDeleteBeforeCopy", range(6)),
    "delete-before-log-start": ("NoGapBetweenTiers", range(8)),
    "follower-without-epochs": ("LeaderCandidateCompleteness", range(5, 45)),
    "copy-without-lag": ("CopyWaitsForItsLag", range(8)),
}
"""An invariant that the mutant breaks, and schedules of which at least one shows it."""


def test_every_mutant_is_to_be_caught() -> None:
    assert sorted([*CAUGHT_BY_SCHEDULES, *CAUGHT_BY_CASES]) == sorted(MUTANTS)


EXCUSED: dict[int, tuple[str, str]] = {
    10908: ("_has_rival", "NothingRemoteIsHidden"),  # the copy of an isolated leader hides what the next one copied
    8408: ("_was_removed", "NoGapBetweenTiers"),  # the leader is paused when remote storage is turned off, another is elected
    8825: ("_was_given_up", "NoGapBetweenTiers"),  # the second of two unclean elections brings back a lineage that was given up
}
"""Schedules, of 50,000, by which it was found out what the invariants have to excuse: the excuse, and what it excuses."""


def test_the_round_breaks_nothing() -> None:
    assert broken(REAL, SCHEDULES) == {}


def test_what_is_excused() -> None:
    assert broken(REAL, EXCUSED) == {}


@pytest.mark.parametrize("seed", EXCUSED)
def test_what_would_be_broken_without_the_excuse(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    excuse, invariant = EXCUSED[seed]
    monkeypatch.setattr(invariants, excuse, lambda *_: False)
    monkeypatch.setattr(invariants, "_is_suspect", lambda *_: False)
    assert broken(REAL, [seed]) == {invariant: [seed]}


SUSPECT = {
    9107: "NoGapBetweenTiers",  # the leader is paused when remote storage is turned off, and goes on to lead with its log start
}


@pytest.mark.parametrize("seed", SUSPECT)
def test_what_is_suspect(seed: int) -> None:
    """No rule is known by which Kafka does that: it would hear of the setting and raise its log start."""
    found = {(one.invariant, one.kind) for one in simulate(schedule(seed), watch=True).violations}
    assert found == {(SUSPECT[seed], "suspect")}
    assert broken(REAL, [seed]) == {}


def test_a_new_leader_with_an_old_log_start() -> None:
    """What was expired nobody needs to have, whatever the log start of T says."""
    result = simulate(stale_log_start(), watch=True)
    assert result.violations == []
    follower = at(result, 36, 3)
    assert (follower["log_start_offset"], follower["epochs"][0], follower["in_isr"]) == (0, [0, 4], True)


def test_a_copy_that_is_deleted_under_way() -> None:
    """Its copier takes it for done and deletes its own records. What deleted it was a leader by an unclean election."""
    result = simulate(copy_deleted_under_way(), watch=True)
    assert {violation.invariant for violation in result.violations} <= EXCUSED_BY_UNCLEAN_ELECTIONS
    assert (18, 22) in [row[2:] for row in happened(result, "local_delete") if row[1] == 1]
    deleted = [row for row in result.remote_segments if row["base_offset"] == 18]
    assert [(row["state"], row["copied_round"]) for row in deleted] == [("DELETE_FINISHED", None)]


def test_schedules_have_the_policies() -> None:
    """Segments that wait to be copied, and leaders preferred by their local log."""
    coverage: Counter[str] = Counter()
    for seed in range(80):
        coverage += simulate(schedule(seed), trace=False).coverage
    assert coverage["copy_waits_for_lag"] > 20 and coverage["preferred_by_local_log"] > 0


def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["schedules", "4-8", "tiered", "delete-before-copy", "any-transition"])
    main()
    header, tiered, caught, made = capsys.readouterr().out.splitlines()
    assert header.startswith("schedules 4 to 7;") and tiered.split() == ["tiered", "0", "0", "0"]
    assert "NoLocalDeleteBeforeCopy 4 (4, 5, 6)" in caught
    assert made.endswith("its own case: RemoteStateMachine")


@pytest.mark.parametrize("mutant", sorted(CAUGHT_BY_SCHEDULES))
def test_mutant_is_caught(mutant: str) -> None:
    invariant, seeds = CAUGHT_BY_SCHEDULES[mutant]
    assert broken(MUTANTS[mutant], seeds).get(invariant)


@pytest.mark.parametrize("mutant", sorted(CAUGHT_BY_CASES))
def test_mutant_is_caught_in_its_case(mutant: str) -> None:
    invariant, case = CAUGHT_BY_CASES[mutant]
    right = {violation.invariant for violation in simulate(case, watch=True).violations}
    assert right <= EXCUSED_BY_UNCLEAN_ELECTIONS
    wrong = simulate({**case, "tier_rules": MUTANTS[mutant]}, watch=True)
    assert invariant in {violation.invariant for violation in wrong.violations}


def test_a_schedule_is_what_its_seed_says() -> None:
    assert schedule(5) == schedule(5)
    assert schedule(5) != schedule(6)
