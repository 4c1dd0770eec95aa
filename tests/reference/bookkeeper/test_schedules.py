"""Random schedules: BookKeeper breaks no invariant, each of its mutants does."""

from __future__ import annotations

import pytest

from .rules import MUTANTS, OF_DAMAGE, OF_TOPICS, REAL
from .schedules import SCHEDULES, broken, may_lose, repair_schedule, schedule
from .simulate import simulate

CAUGHT = {
    "recovery-reads-do-not-fence": ("NoDivergenceBetweenClientAndMetaData", range(1250, 1350)),
    "no-such-entry-as-unknown": ("RecoveryEnds", range(50)),
    "unknown-as-no-such-entry": ("AllAckedEntriesAreReadable", range(100)),
    "no-lac-floor": ("OnlyValidFragments", range(50, 150)),
    "close-at-lac": ("RecoveredLacCoversAcked", range(20)),
    "ack-quorum-as-fence-quorum": ("RecoveredLacCoversAcked", range(300, 400)),
}
"""An invariant that the mutant breaks, and schedules of which at least one shows it."""


def test_every_mutant_is_to_be_caught() -> None:
    """Those about damage by test_repair.py, those about lists of ledgers by test_topics.py."""
    assert sorted([*CAUGHT, *OF_DAMAGE, *OF_TOPICS]) == sorted(MUTANTS)


def test_the_protocol_breaks_nothing() -> None:
    assert broken(REAL, range(SCHEDULES)) == {}


@pytest.mark.parametrize("mutant", sorted(CAUGHT))
def test_mutant_is_caught(mutant: str) -> None:
    invariant, seeds = CAUGHT[mutant]
    assert broken(MUTANTS[mutant], seeds).get(invariant)


def test_copies_break_nothing() -> None:
    """Neither autorecovery nor fillings lose or invent an entry, unless a bookie lost some."""
    safe = [case for case in map(repair_schedule, range(400)) if not may_lose(case)]
    results = [simulate(case, watch=True, trace=False) for case in safe]
    assert sum(result.ledger.repair.copied_entries > 0 for result in results) > 100
    assert [result.violations for result in results if result.violations] == []


def test_a_schedule_is_what_its_seed_says() -> None:
    assert schedule(5) == schedule(5)
    assert schedule(5) != schedule(6)
