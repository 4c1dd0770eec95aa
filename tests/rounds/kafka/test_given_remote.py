"""Remote segments of the start: their numbers, what nobody has read of yet, a copy under way; by hand, reference and rounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.reference.tiered.cases import RECORD_BYTES, at, given_log, remote, tiered_case
from tests.reference.tiered.simulate import Result, simulate
from tests.rounds.kafka.test_tiers import differing

EPOCHS = [[0, 0]]
SEGMENTS = [10, 20, 30]
"""Bases of closed segments behind the first, of ten records each; the active one begins at 30."""


def started_with(folder: Path, *segments: dict[str, Any], config: dict[str, Any] | None = None, **given: Any) -> Result:
    """A leader, 1, and a follower of 35 records each; the reference, after the rounds made the same of it."""
    logs = {broker: given_log(35, EPOCHS, segments=SEGMENTS) for broker in (1, 2)}
    initial = {"leader": 1, "leader_epoch": 0, "isr": [1, 2], "replicas": logs, "remote_segments": list(segments)}
    of_topic = {"segment.bytes": 10 * RECORD_BYTES, **(config or {})}
    case = tiered_case(topic_config=of_topic, replicas=[1, 2], initial=initial, workload=[], **given)
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


@pytest.mark.parametrize(
    ("empty", "config", "deleted"),
    [
        (0, {}, 0),
        (0, {"retention.bytes": 2500}, 0),  # as large as the log: 0 + 1000 + 1000 remote bytes, 500 of the active segment
        (0, {"retention.bytes": 2499}, 1),  # 0 of the 1 byte that is too many: the next one would be 1000
        (0, {"retention.bytes": 1500}, 2),
        (1, {"retention.bytes": 1500}, 1),  # the first one's 1000 bytes were all that were too many
        (1, {"retention.bytes": 1499}, 2),
        (0, {"retention.ms": 5000}, 3),
        (1, {"retention.ms": 5000}, 3),
        (0, {"retention.ms": 60_000}, 0),
    ],
)
def test_a_segment_of_no_bytes_goes_where_there_is_a_limit(
    tmp_path: Path, empty: int, config: dict[str, Any], deleted: int
) -> None:
    """Size: while bytes are too many and it is not larger than these; age: as others (RemoteLogRetentionHandler)."""
    segments = [remote(base, base + 9) for base in (0, 10, 20)]
    segments[empty]["bytes"] = 0
    result = started_with(tmp_path, *segments, config=config, rounds=12)
    is_deleted = [state == "DELETE_FINISHED" for _, state, _, _ in attempts(result)]
    assert is_deleted == [place < deleted for place in range(3)]
    assert at(result, 11, 1)["log_start_offset"] == 10 * deleted


def test_a_power_loss_leaves_where_the_disk_begins(tmp_path: Path) -> None:
    """What retention took from the disk was never flushed, and is gone from it anyhow: the log goes on from there.

    Three closed segments are copied in round 0, and two go in round 1: 3500 bytes are 2000 too many.
    """
    case = lost_case({"flushed_offset": 5}, "power_loss", local_retention=1500)
    assert differing({"case": case}, tmp_path) == {}
    row = at(simulate(case), 3, 1)
    assert [row[name] for name in ("log_start_offset", "local_log_start_offset", "leo", "hw")] == [0, 20, 20, 20]
    assert row["local_segments"] == [20]


def test_what_is_in_remote_storage_only_is_lost_like_the_rest(tmp_path: Path) -> None:
    """2 has nothing and leads uncleanly: 20 records were in remote storage only, 15 on the disk."""
    empty = given_log(0, [], segments=[0])
    case = lost_case({"local_log_start_offset": 20, "segments": [20, 30]}, "disk_loss", follower=empty)
    case["topic_config"]["unclean.leader.election.enable"] = True
    assert differing({"case": case}, tmp_path) == {}
    result = simulate(case)
    assert [result.outcomes[name] for name in ("leader", "acked", "acked_lost", "committed_lost")] == [2, 0, 35, 35]
    lost = [(event.kind, event.broker, event.from_offset, event.to_offset) for event in result.events if "_lost" in event.kind]
    assert lost == [("acked_lost", 2, 0, 35), ("committed_lost", 2, 0, 35)]


def lost_case(
    given: dict[str, Any], kind: str, follower: dict[str, Any] | None = None, local_retention: int = 10_000
) -> dict[str, Any]:
    """A leader, 1, of 35 records of which 0 to 19 are copied, whose disk loses something in round 3; 1 alone is in the ISR."""
    logs = {
        1: {**given_log(35, EPOCHS, segments=SEGMENTS), **given},
        2: given_log(35, EPOCHS, segments=SEGMENTS) if follower is None else follower,
    }
    segments = [remote(0, 9), remote(10, 19)]
    initial = {"leader": 1, "leader_epoch": 0, "isr": [1], "replicas": logs, "remote_segments": segments}
    cut = {"kind": "link_cut", "broker": 1, "peer": 2, "from_round": 0}
    lost = {"kind": kind, "broker": 1, "from_round": 3}
    of_topic = {"segment.bytes": 10 * RECORD_BYTES, "local.retention.bytes": local_retention}
    return tiered_case(topic_config=of_topic, replicas=[1, 2], initial=initial, workload=[], faults=[cut, lost])
