"""What a look at records finds, and what it proves. No Spark, nothing compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from emulator.rounds.kafka.probe import (
    CHANGED,
    CHANGED_APART,
    CHANGED_ASIDE,
    LETS_PASS,
    MOVED_OTHERWISE,
    PROVEN,
    RESTARTED,
    SEEN_ONCE,
    UNPROVEN,
    judge,
    look_at,
    masks_of,
    move,
    nothing_aside,
)
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.tier.records import TierPartition, TierReplica
from emulator.rounds.records import (
    APART,
    ASIDE,
    COMPARED,
    CONSTANT,
    COUNTER,
    DUE,
    FLOW,
    RESTARTS,
    SAMPLE,
    SCRATCH,
    TALLY,
    TICK,
    TOTAL,
    Record,
    apart,
    aside,
    compared,
    counter,
    due,
    fields_of,
    flow,
    kinds_of,
    restarts,
    rows,
    scratch,
    words_of,
)

QUIET = 0
WORKED_OUT = {
    SAMPLE: {"checkpoint", "flushed"},
    TOTAL: {"unacked_rounds"},
    TICK: {"copy_next_ms", "expiry_next_ms", "follower_next_ms", "aux_next"},
    TALLY: {"copy_failures", "expiry_failures", "follower_failures", "aux_requests", "aux_errors"},
}
"""Fields that no look sees and no leap multiplies: leap.py and tier/leap_tiers.py work each of them out."""


class Sample(Record):
    """A field of each kind that a look sees, and one that it does not."""

    epoch: int = compared("")
    start: int = apart("")
    base_offset: int = aside("")
    next_change: int = due("")
    leo: int = counter("")
    segment_bytes: int = restarts("")
    left: int = flow("")
    answer: int = scratch("")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("epoch", CHANGED),
        ("start", CHANGED_APART),
        ("base_offset", CHANGED_ASIDE),
        ("next_change", CHANGED_APART),
        ("leo", MOVED_OTHERWISE),
        ("segment_bytes", RESTARTED),
        ("left", QUIET),
        ("answer", QUIET),
    ],
)
def test_what_a_look_finds(name: str, found: int) -> None:
    masks, before, after = masks_of(kinds_of(Sample)), rows(Sample, 1), rows(Sample, 1)
    drift = rows(Sample, 1)
    drift.leo = 10
    after.leo = 10
    assert look_at(masks, words_of(after)[0], words_of(before)[0], words_of(drift)[0]) == QUIET
    after[name] += 1
    assert look_at(masks, words_of(after)[0], words_of(before)[0], words_of(drift)[0]) == found


def test_a_leap_multiplies_counters_alone() -> None:
    record, drift = rows(Sample, 1), rows(Sample, 1)
    words_of(drift)[:] = 3
    move(masks_of(kinds_of(Sample)), words_of(record)[0], words_of(drift)[0], 7)
    assert (record.leo[0], record.segment_bytes[0], record.left[0]) == (21, 21, 21)
    assert (record.epoch[0], record.base_offset[0], record.next_change[0]) == (0, 0, 0)


def test_two_rounds_in_a_row_prove_a_drift() -> None:
    assert judge(MOVED_OTHERWISE, UNPROVEN, False) == (SEEN_ONCE, False, True)
    assert judge(QUIET, SEEN_ONCE, False) == (PROVEN, False, True)
    assert judge(MOVED_OTHERWISE, SEEN_ONCE, False) == (SEEN_ONCE, False, True)
    assert judge(CHANGED_APART, SEEN_ONCE, False)[0] == UNPROVEN


def test_what_was_proven_stands_until_something_changes_that_counters_depend_on() -> None:
    assert judge(CHANGED_APART | MOVED_OTHERWISE, PROVEN, False) == (PROVEN, False, False)
    assert judge(CHANGED | CHANGED_APART, PROVEN, False) == (UNPROVEN, False, False)


def test_one_round_that_moves_counters_otherwise_is_let_pass() -> None:
    assert judge(MOVED_OTHERWISE, PROVEN, False) == (PROVEN, True, False)
    assert judge(MOVED_OTHERWISE, PROVEN, True) == (SEEN_ONCE, False, True)
    assert judge(QUIET, PROVEN, True) == (PROVEN, False, True)


def test_what_is_aside_or_begins_anew_lets_a_proven_drift_pass() -> None:
    for found in (CHANGED_ASIDE, RESTARTED, CHANGED_ASIDE | RESTARTED):
        assert not found & ~LETS_PASS
        assert judge(found, PROVEN, False) == (PROVEN, False, False)
    assert judge(CHANGED_ASIDE, SEEN_ONCE, False) == (UNPROVEN, False, False)


def test_where_no_drift_is_proven_what_begins_anew_moves_otherwise() -> None:
    """Or the drift of a segment's bytes would never be taken anew, once the rate is another."""
    assert judge(RESTARTED, SEEN_ONCE, False) == judge(MOVED_OTHERWISE, SEEN_ONCE, False) == (SEEN_ONCE, False, True)
    assert judge(RESTARTED | MOVED_OTHERWISE, PROVEN, False) == judge(MOVED_OTHERWISE, PROVEN, False)


def test_nothing_is_aside_of_what_is_read() -> None:
    assert nothing_aside(QUIET) == QUIET
    assert nothing_aside(CHANGED_ASIDE) & CHANGED_APART
    assert nothing_aside(RESTARTED) & MOVED_OTHERWISE
    assert judge(nothing_aside(RESTARTED), PROVEN, False) == (PROVEN, True, False)


def test_every_other_field_is_worked_out() -> None:
    """A new field of such a kind needs its rule in a leap, and then a line above."""
    of_kind: dict[int, set[str]] = {}
    for record in (Partition, Replica, TierPartition, TierReplica):
        for name, field in fields_of(record).items():
            of_kind.setdefault(field.kind, set()).add(name)
    seen = {CONSTANT, COMPARED, APART, ASIDE, DUE, COUNTER, RESTARTS, FLOW, SCRATCH}
    assert {kind: names for kind, names in of_kind.items() if kind not in seen} == WORKED_OUT
    assert of_kind[FLOW] == {"left_bytes", "uploaded_bytes"}
    assert of_kind[RESTARTS] == {"active_bytes", "fetched_bytes", "produced_bytes"}  # log_bytes tells of them all


def test_fields_and_entries_in_rounds_that_are_played() -> None:
    """Every field is looked at, and every list counts its changes: round by round, in ordinary Python."""
    command = [sys.executable, "-W", "error::RuntimeWarning", "-m", "tests.rounds.kafka.leap_cases"]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=environment, cwd=Path.cwd(), check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr[-2000:]


def test_masks_name_every_word_once() -> None:
    for record in (Partition, Replica, TierPartition, TierReplica):
        kinds = kinds_of(record)
        masks = masks_of(kinds)
        assert masks.shape == (3, rows(record, 1).dtype.itemsize // 8)
        assert not np.any((masks[0] != 0) & ((masks[1] != 0) | (masks[2] != 0)))
