"""Consumers that were away: what they read from remote storage, from disk and from memory until they have caught up."""

from __future__ import annotations

from typing import Any

from ..tiered.cases import RECORD_BYTES, fault, produce, tiered_case
from .cases import counts, group, seen, unread
from .simulate import simulate


def _away(topic_config: dict[str, Any] | None = None, **given: Any) -> dict[str, Any]:
    """10 records a round; segments of 50; 100 stay local; memory has the last 30. The group is away from round 20 to 60.

    With the round trip of the default, a round holds 80 fetches of 1 MiB.
    """
    rows = [group(start=0, to_round=20), group(start=0, from_round=60, records_per_round=30)]
    sizes = {"segment.bytes": 50 * RECORD_BYTES, "local.retention.bytes": 100 * RECORD_BYTES}
    return tiered_case(
        rounds=95,
        workload=[produce(0, 95, records=10)],
        topic_config={**sizes, **(topic_config or {})},
        page_cache_bytes=30 * RECORD_BYTES,
        consumers=rows,
        **{"fetch_round_trip_ms": 1, **given},
    )


def test_catch_up() -> None:
    """At the end of round r the LEO is 10 (r + 1), the HW 10 r, and the local log starts at 50 ((10 (r + 1) - 100) div 50).

    Position 190 in round 60: 10 records of segment 150 and 20 of segment 200; then 30 and 20 + 10 and so on, till 580 in round
    72. In 73 the log starts at 600 locally: 20 records. In 74 it starts at 650: 30, and the 20 up to there in 75. So it is at
    650, where the local log starts, in 76. A segment is less than a fetch: ten requests, each for another segment, of which the
    rest is in hand for the next round. Five rounds of 30 from disk, till 800 in round 80; in round 81 only 20 records lie
    between the position and the LEO, and what comes is in memory.
    """
    result = simulate(_away(), watch=True)
    rows = {row["round"]: row for row in result.trace}
    assert rows[19]["position"] == 190
    assert [rows[round_]["position"] for round_ in (60, 61, 62, 72, 73, 74, 75, 76, 80, 81, 82)] == [
        *[220, 250, 280, 580, 600, 630, 650],
        *[680, 800, 810, 820],
    ]
    answers = [rows[round_]["answer"] for round_ in range(60, 95)]
    assert answers == [*["remote"] * 16, *["disk"] * 5, *["page_cache"] * 14]
    row = counts(result)
    assert (row["remote_requests"], row["remote_bytes"]) == (10, 460 * RECORD_BYTES)
    assert (row["index_misses"], row["index_hits"]) == (10, 0)
    assert (row["disk_requests"], row["disk_bytes"]) == (5, 150 * RECORD_BYTES)
    # 190 before it went away, and 10 a round from 81 to 94
    assert row["page_cache_bytes"] == (190 + 140) * RECORD_BYTES
    assert (row["max_lag"], row["lag"], row["skipped"]) == (380, 0, 0)
    assert result.unread == [] and result.violations == []


def test_catch_up_with_one_fetch_a_round() -> None:
    """A fetch is of one segment: 10 records of segment 150, then 30 and 20 of each of the ten segments till 700, in round 80.

    So there is a segment more to read remotely, and the local log starts where it ends when the reader gets there.
    """
    result = simulate(_away(fetches_per_round=1), watch=True)
    rows = {row["round"]: row for row in result.trace}
    assert [rows[round_]["position"] for round_ in (60, 61, 62, 63, 80, 81, 85, 86, 87)] == [
        *[200, 230, 250, 280, 700],
        *[730, 850, 860, 870],
    ]
    answers = [rows[round_]["answer"] for round_ in range(60, 95)]
    assert answers == [*["remote"] * 21, *["disk"] * 5, *["page_cache"] * 9]
    row = counts(result)
    assert (row["remote_requests"], row["index_misses"], row["remote_bytes"]) == (11, 11, 510 * RECORD_BYTES)
    assert (row["max_lag"], row["lag"]) == (400, 0)
    assert result.unread == [] and result.violations == []


def test_away_for_longer_than_records_are_kept() -> None:
    """300 records are kept in whole segments: in round 60 the log starts at 300, and 190 to 299 are never read."""
    result = simulate(_away({"retention.bytes": 300 * RECORD_BYTES}), watch=True)
    row = counts(result)
    assert unread(result) == [("below_log_start", 60, 61, 190, 600)]  # auto.offset.reset is latest
    assert (row["skipped"], row["resets"], row["remote_bytes"]) == (410, 1, 0)
    case = _away({"retention.bytes": 300 * RECORD_BYTES})
    case["consumers"][1]["config"] = {"auto.offset.reset": "earliest"}
    result = simulate(case, watch=True)
    # from 61 on it reads 30 a round, and the log start moves on by 50 every five rounds
    assert unread(result)[0] == ("below_log_start", 60, 61, 190, 300)
    assert counts(result)["skipped"] == 110
    assert result.violations == []


def test_the_store_is_away_when_they_come_back() -> None:
    """Nothing is deleted locally while the store is away, but what was is out of reach: 190 to 399 wait from 60 to 70."""
    case = _away(faults=[fault("remote_storage_outage", 50, 70)])
    result = simulate(case, watch=True)
    assert unread(result) == [("store_away", 60, 70, 190, 690)]
    row = counts(result)
    assert row["remote_errors"] == row["waited_rounds"]["store_away"] == 10
    assert row["skipped"] == row["resets"] == 0
    assert result.violations == []


def test_a_quota_makes_it_longer() -> None:
    """3 kB/s are 15 records a round instead of 30, 5 a round more than come: 35 rounds later, at 715, it is still remote.

    The local log starts at 850 then, and the HW is 940. With a fetch a round it is 15 + 15 + 15 + 5 of a segment, which the
    last one of is not cut for: 10 of segment 150, and 34 rounds with 50 in each four, of which 24 + 2 are throttled.
    """
    quota = {"remote.log.manager.fetch.max.bytes.per.second": 30 * RECORD_BYTES}
    slow = simulate(_away(config=quota), watch=True)
    assert seen(slow)[20:] == list(range(205, 716, 15))
    row = counts(slow)
    assert (row["disk_bytes"], row["throttled_rounds"], row["lag"]) == (0, 35, 940 - 715)
    slower = simulate(_away(config=quota, fetches_per_round=1), watch=True)
    assert seen(slower)[20:26] == [200, 215, 230, 245, 250, 265]
    row = counts(slower)
    assert (row["disk_bytes"], row["throttled_rounds"], row["lag"]) == (0, 26, 940 - 630)
    assert slow.violations == slower.violations == []


def test_local_readers_do_not_notice() -> None:
    """A second group that is never away reads from memory only, whatever the first one does."""
    case = _away()
    case["consumers"] = [*case["consumers"], group("tail", start=0)]
    row = counts(simulate(case), "tail")
    assert row["remote_requests"] == row["disk_requests"] == 0
    assert row["page_cache_bytes"] == 940 * RECORD_BYTES
