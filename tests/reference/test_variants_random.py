"""Random schedules under the protocol variants and mutants: who lacks a guard breaks an invariant."""

from __future__ import annotations

import pytest

from .small_schedules import SAVED_BY_SECOND_CHECK, SUBJECTS, broken, has_elr
from .truncation import VARIANTS

SEEDS = [seed for seed in range(375) if not has_elr(seed)]


def _bad(name: str) -> set[str]:
    return {invariant for invariant, seeds in broken(SUBJECTS[name], SEEDS).items() if seeds}


def test_kafka_breaks_nothing() -> None:
    assert _bad("kafka") == _bad("divergence-checked-once") == set()


@pytest.mark.parametrize(
    "name", [*VARIANTS[:2], "truncate-to-high-watermark", "join-without-high-watermark", "high-watermark-over-committed-isr"]
)
def test_random_schedules_break_what_lacks_a_guard(name: str) -> None:
    assert {"StrongIsr", "LeaderCandidateCompleteness"} <= _bad(name)


def test_a_high_watermark_below_the_minimum_isr_is_seen_at_once() -> None:
    assert _bad("hw-below-min-isr") == {"CommittedOnMinIsr"}


@pytest.mark.parametrize("name", SAVED_BY_SECOND_CHECK)
def test_a_check_of_every_fetch_saves_what_lacks_another_guard(name: str) -> None:
    """Without epochs in fetches it takes late news to do harm; the others do as soon as only first fetches are checked."""
    checked_once = _bad(f"{name}, checked once")
    assert ("LogMatching" in checked_once) == (name != "fetch-without-epoch-check")
    assert "LogMatching" not in _bad(name)
