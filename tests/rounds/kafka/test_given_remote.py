"""Remote segments of the start: their numbers, what nobody has read of yet, a copy under way; by hand, reference and rounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.reference.tiered.cases import RECORD_BYTES, given_log, remote, tiered_case
from tests.reference.tiered.simulate import Result, simulate
from tests.rounds.kafka.test_tiers import differing

EPOCHS = [[0, 0]]
SEGMENTS = [10, 20, 30]
"""Bases of closed segments behind the first, of ten records each; the active one begins at 30."""


def started_with(folder: Path, *segments: dict[str, Any], **given: Any) -> Result:
    """A leader, 1, and a follower of 35 records each; the reference, after the rounds made the same of it."""
    logs = {broker: given_log(35, EPOCHS, segments=SEGMENTS) for broker in (1, 2)}
    initial = {"leader": 1, "leader_epoch": 0, "isr": [1, 2], "replicas": logs, "remote_segments": list(segments)}
    case = tiered_case(topic_config={"segment.bytes": 10 * RECORD_BYTES}, replicas=[1, 2], initial=initial, workload=[], **given)
    assert differing({"case": case}, folder) == {}
    return simulate(case)


def attempts(result: Result) -> list[tuple[int, str, int, int | None]]:
    """(base, state, who copied it, when) of all attempts, by number."""
    return [(row["base_offset"], row["state"], row["broker"], row["started_round"]) for row in result.remote_segments]


def test_segments_keep_the_numbers_of_the_file(tmp_path: Path) -> None:
    result = started_with(tmp_path, remote(10, 19), {**remote(0, 9), "copier": 2}, remote(20, 29))
    assert attempts(result) == [(base, "COPY_FINISHED", broker, None) for base, broker in ((10, 1), (0, 2), (20, 1))]


def test_a_leader_copies_again_what_it_has_not_read_of(tmp_path: Path) -> None:
    """It reads of 10 to 19 in round 1, and has copied it and the next one in round 0."""
    unread = {**remote(10, 19), "copier": 2, "unread": True}
    result = started_with(tmp_path, remote(0, 9), unread)
    assert [(base, broker, began) for base, _, broker, began in attempts(result)] == [
        (0, 1, None), (10, 2, None), (10, 1, 0), (20, 1, 0)
    ]  # fmt: skip
    assert result.outcomes["remote_copy_bytes"] == 20 * RECORD_BYTES
    assert result.outcomes["remote_copied_again_bytes"] == 10 * RECORD_BYTES


def test_a_copy_under_way_goes_on(tmp_path: Path) -> None:
    """Seven records of ten were moved: three are of the run, and its attempt is the one of the start."""
    under_way = {**remote(10, 19), "state": "COPY_STARTED", "moved_bytes": 7 * RECORD_BYTES}
    result = started_with(tmp_path, remote(0, 9), under_way)
    assert attempts(result) == [
        (0, "COPY_FINISHED", 1, None), (10, "COPY_FINISHED", 1, None), (20, "COPY_FINISHED", 1, 0)
    ]  # fmt: skip
    assert result.remote_segments[1]["copied_round"] == 0
    assert result.outcomes["remote_copy_bytes"] == 13 * RECORD_BYTES
    assert result.outcomes["remote_copy_requests"] == 1


def test_one_that_nobody_goes_on_with_is_copied_anew(tmp_path: Path) -> None:
    result = started_with(tmp_path, remote(0, 9), {**remote(10, 19), "state": "COPY_STARTED"})
    assert [(base, began) for base, _, _, began in attempts(result)] == [(0, None), (10, None), (10, 0), (20, 0)]
    assert result.outcomes["remote_copy_bytes"] == 20 * RECORD_BYTES
