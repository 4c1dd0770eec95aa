"""Random schedules: reading breaks no invariant; each mutant does, there or in a case made for it."""

from __future__ import annotations

from collections import Counter

import pytest

from .reader import REMOTE
from .rules import MUTANTS, REAL
from .schedules import broken, schedule
from .simulate import simulate

SCHEDULES = range(160)
CAUGHT_BY_SCHEDULES: dict[str, tuple[str, tuple[int, ...]]] = {
    "remote-read-to-segment-end": ("ReadsLineage", (9,)),
    "no-epoch-check": ("ReadsOneLog", (9, 107)),
    "read-to-log-end": ("ReadCommitted", (0, 1)),
}
"""An invariant that the mutant breaks, and schedules that show it; test_truncation.py and test_followers.py have the others."""


def test_reading_breaks_nothing() -> None:
    assert broken(REAL, SCHEDULES) == {}


@pytest.mark.parametrize("mutant", CAUGHT_BY_SCHEDULES)
def test_mutants_are_caught(mutant: str) -> None:
    invariant, seeds = CAUGHT_BY_SCHEDULES[mutant]
    assert broken(MUTANTS[mutant], seeds)[invariant] == list(seeds)
    assert broken(REAL, seeds) == {}


def test_the_schedules_reach_everything() -> None:
    """Sources, causes and accounts, in the first of them; and what is counted adds up."""
    reached: Counter[str] = Counter()
    for seed in range(80):
        result = simulate(schedule(seed))
        for row in result.consumer_groups:
            reached.update(key for key, value in row.items() if isinstance(value, int) and value > 0)
            reached.update(row["waited_rounds"])
            reader = result.readers[row["group"]]
            assert row["records"] == sum(len(taken.records) for taken in reader.taken)
            assert row["skipped"] == sum(one.to_offset - one.from_offset for one in reader.unread if one.kind == "skip")
            assert row["read_lost"] == sum(one.to_offset - one.from_offset for one in reader.unread if one.kind == "loss")
            assert row["index_hits"] + row["index_misses"] == row["remote_requests"]
            remote = [taken for taken in reader.taken if taken.source == REMOTE]
            reached["reads of what is in hand"] += sum(taken.requests == 0 for taken in remote)
            reached["several requests"] += sum(taken.requests > 1 for taken in remote)
            reached["several pieces"] += sum(taken.pieces > 1 for taken in remote)
            reached["three pieces or more"] += sum(taken.pieces > 2 for taken in remote)
            # there is a piece all in hand
            reached["fewer requests than pieces"] += sum(taken.requests < taken.pieces for taken in remote if taken.pieces > 1)
        reached.update(row.cause for row in result.unread)
    wanted = [
        *("page_cache_bytes", "disk_bytes", "remote_bytes", "follower_bytes", "cross_rack_bytes", "index_hits", "index_misses"),
        *("truncations", "resets", "skipped", "read_again", "read_lost", "throttled_rounds", "remote_errors"),
        *("leaderless", "not_committed", "open_transaction", "offset_unavailable", "store_away", "store_slow"),
        *("segment_gone", "follower_behind", "follower_away", "follower_out_of_range", "below_log_start", "truncated"),
        "reader_threads",
    ]
    assert [name for name in wanted if reached[name] == 0] == []
    assert reached["reads of what is in hand"] > 400 and reached["several requests"] > 100
    assert reached["several pieces"] > 100 and reached["three pieces or more"] > 10 and reached["fewer requests than pieces"] > 20
