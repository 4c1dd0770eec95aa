"""Random schedules: the tiered round breaks no invariant; each of its mutants does, there or in a case made for it."""

from __future__ import annotations

from typing import Any

import pytest

from .cases import RECORD_BYTES, alter, fault, given_log, produce, remote, tiered_case
from .rules import MUTANTS, REAL
from .schedules import EXCUSED_BY_UNCLEAN_ELECTIONS, broken, schedule
from .simulate import simulate

SCHEDULES = range(240)

CAUGHT_BY_SCHEDULES = {
    "copy-above-last-stable": ("RemoteBelowLastStable", range(8)),
    "delete-before-copy": ("NoLocalDeleteBeforeCopy", range(6)),
    "started-counts-as-copied": ("NoLocalDeleteBeforeCopy", range(6)),
    "delete-before-log-start": ("NoGapBetweenTiers", range(8)),
    "follower-without-epochs": ("LeaderCandidateCompleteness", range(5, 45)),
}
"""An invariant that the mutant breaks, and schedules of which at least one shows it."""


def _unclean(**given: Any) -> dict[str, Any]:
    """Kafka's 99 -> 79: the new leader has 80 records, the old one 120, of which 100 are copied."""
    epochs = [[0, 0]]
    return tiered_case(
        **{
            "rounds": 30,
            "config": {"replica.fetch.max.bytes": 20 * RECORD_BYTES},
            "topic_config": {
                "segment.bytes": 20 * RECORD_BYTES,
                "unclean.leader.election.enable": True,
                "local.retention.bytes": 20 * RECORD_BYTES,
            },
            "initial": {
                "leader": 1,
                "leader_epoch": 0,
                "isr": [1],
                "replicas": {
                    1: given_log(120, epochs, segments=[20, 40, 60, 80, 100]),
                    2: given_log(80, epochs, segments=[20, 40, 60]),
                },
                "remote_segments": [remote(base, base + 19, epochs) for base in range(0, 100, 20)],
            },
            "faults": [fault("isolation", 1, 10, broker=1), fault("link_cut", 0, 1, broker=2, peer=1)],
            "workload": [produce(6, 9, 20, "1")],
            **given,
        }
    )


def _old_leader_cut_back() -> dict[str, Any]:
    """The old leader comes back without a restart; nothing can be copied any more."""
    case = _unclean()
    return {**case, "faults": [*case["faults"], fault("remote_storage_outage", 5)]}


def _copy_that_outlives_its_segment() -> dict[str, Any]:
    """A leader goes on with a copy after it was replaced, while the new one expires the segment."""
    return tiered_case(
        topic_config={"segment.bytes": 5 * RECORD_BYTES, "retention.ms": 1500},
        initial={"leader": 2, "leader_epoch": 0, "isr": [1, 2], "replicas": {1: given_log(0, []), 2: given_log(0, [])}},
        remote_storage={"copy_bytes_per_second": RECORD_BYTES, "on_leadership_lost": "finish"},
        workload=[produce(0, 4, 5)],
        commands=[{"round": 2, "kind": "preferred_leader_election"}],
    )


def _leads_as_it_returns() -> dict[str, Any]:
    """The only replica returns and leads in the round in which it does, and the limit is lower from then on."""
    return tiered_case(
        replicas=[1],
        topic_config={"segment.bytes": 5 * RECORD_BYTES, "retention.bytes": 30 * RECORD_BYTES},
        workload=[produce(0, 5, 5)],
        faults=[fault("broker_crash", 8, 9, broker=1)],
        commands=[alter(9, retention_bytes=20 * RECORD_BYTES)],
    )


CAUGHT_BY_CASES = {
    "resume-after-any-epoch": ("NoLocalDeleteBeforeCopy", _unclean()),
    "lookup-without-epoch": ("RemoteServesLineage", _unclean()),
    "remote-offset-kept-on-truncation": ("NoLocalDeleteBeforeCopy", _old_leader_cut_back()),
    "any-transition": ("RemoteStateMachine", _copy_that_outlives_its_segment()),
    "size-before-remote-offset": ("RetainedLogIsKept", _leads_as_it_returns()),
}


def test_every_mutant_is_to_be_caught() -> None:
    assert sorted([*CAUGHT_BY_SCHEDULES, *CAUGHT_BY_CASES]) == sorted(MUTANTS)


def test_the_round_breaks_nothing() -> None:
    assert broken(REAL, SCHEDULES) == {}


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
