"""Several remote fetches a round, and requests that are dealt out to a partition's readers, by hand. No Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from emulator.scenario import load_run
from tests.reference.consumers.cases import group, one_log
from tests.reference.tiered.cases import RECORD_BYTES, remote
from tests.rounds.kafka.compared import consumer_groups_of, played
from tests.rounds.kafka.test_reader_leaps import unlike_by_leaps
from tests.rounds.kafka.test_readers import run_of


def case_of(consumers: Sequence[dict[str, Any]], records: int = 25, **given: Any) -> dict[str, Any]:
    """100 remote records, in segments of so many, and 20 local ones. Reads begin in round 1; a round is half a second."""
    initial = {"remote_segments": [remote(base, base + records - 1) for base in range(0, 100, records)]}
    return one_log(120, list(consumers), **{"log": {"local": 100}, "initial": initial, **given})


def rows_after(folder: Path, case: dict[str, Any], reads: int) -> list[dict[str, Any]]:
    """The groups' rows after so many rounds in which they read."""
    game = played(run_of({**case, "rounds": reads + 1}, folder).scenarios, traced=False)
    return [row for _, row in sorted(consumer_groups_of(game, 0).items())]


def positions(folder: Path, case: dict[str, Any], reads: int) -> list[int]:
    return [row["position"] for row in rows_after(folder, case, reads)]


def test_five_fetches_a_round(tmp_path: Path) -> None:
    """Of 2 records each: 10 a round, but 9 where the third fetch ends with a segment; one index for each segment."""
    case = case_of([group(start=0, max_partition_fetch_bytes=2 * RECORD_BYTES)], fetches_per_round=5)
    found = [rows_after(tmp_path, case, reads)[0] for reads in range(1, 5)]
    assert [(row["position"], row["remote_requests"]) for row in found] == [(10, 5), (20, 10), (29, 15), (39, 20)]
    assert [(row["index_hits"], row["index_misses"]) for row in found] == [(4, 1), (9, 1), (13, 2), (18, 2)]
    uncached = {**case, "config": {**case["config"], "remote.log.index.file.cache.total.size.bytes": 19}}
    [row] = rows_after(tmp_path, uncached, 4)
    assert (row["index_hits"], row["index_misses"], row["index_bytes"]) == (0, 20, 400)


def test_requests_are_what_is_beyond_what_is_in_hand(tmp_path: Path) -> None:
    """2 records a fetch, 3 a round: two requests, and one for what is not in hand of the second, in turn."""
    fetch = {"max_partition_fetch_bytes": 2 * RECORD_BYTES}
    for limit in ({"records_per_round": 3}, {"bytes_per_round": 3 * RECORD_BYTES + 99}):
        case = case_of([group(start=0, **limit, **fetch)], fetches_per_round=5)
        found = [rows_after(tmp_path, case, reads)[0] for reads in range(1, 9)]
        assert [row["position"] for row in found] == [3, 6, 9, 12, 15, 18, 21, 24]
        assert [row["remote_requests"] for row in found] == [2, 3, 5, 6, 8, 9, 11, 12]


def test_what_a_round_holds_goes_by_its_time(tmp_path: Path) -> None:
    """500 ms are 4 times 1 ms, 200 bytes at 4 kB/s, which take 50 ms, and 74 ms of the store; or 3 times, with more of these."""
    times = {"fetch_round_trip_ms": 1, "fetch_bytes_per_second": 4000}
    consumers = [group(start=0, max_partition_fetch_bytes=2 * RECORD_BYTES)]
    for read_ms, records in ((0, 18), (74, 8), (75, 6), (300, 2), (700, 2)):
        assert positions(tmp_path, case_of(consumers, **times, remote_storage={"read_ms": read_ms}), 1) == [records], read_ms


def test_a_quota_that_leaves_part_of_the_requests(tmp_path: Path) -> None:
    """2 records a fetch, three a round, of which a quota leaves 5 records: 3 requests, then 2, with one in hand."""
    quota = {"remote.log.manager.fetch.max.bytes.per.second": 10 * RECORD_BYTES}
    case = case_of([group(start=0, max_partition_fetch_bytes=2 * RECORD_BYTES)], fetches_per_round=3, config=quota)
    found = [rows_after(tmp_path, case, reads)[0] for reads in range(1, 5)]
    assert [(row["position"], row["remote_requests"]) for row in found] == [(5, 3), (10, 5), (15, 8), (20, 10)]
    assert found[-1]["throttled_rounds"] == 4


def readers(count: int) -> list[dict[str, Any]]:
    """Groups that fetch one record at a time."""
    return [group(f"{at:02}", start=0, max_partition_fetch_bytes=RECORD_BYTES) for at in range(count)]


def test_thirteen_readers_for_ten_threads(tmp_path: Path) -> None:
    """As in a queue: 10 to 12 wait, then 7 to 9, 4 to 6, 1 to 3, and then 0, 11 and 12."""
    case = case_of(readers(13), remote_storage={"read_ms": 500})
    found = [positions(tmp_path, case, reads) for reads in range(1, 6)]
    assert found[:3] == [[1] * 10 + [0] * 3, [2] * 7 + [1] * 6, [3] * 4 + [2] * 9]
    assert found[3:] == [[4] + [3] * 12, [4] * 11 + [3] * 2]
    assert [row["waited_rounds"] for row in rows_after(tmp_path, case, 4)] == [{}] + [{"reader_threads": 1}] * 12


def test_eleven_readers_of_two_fetches_for_twenty_requests(tmp_path: Path) -> None:
    """Everybody has one, and nine their second: in the first round 0 to 8, in the next 9, 10 and 0 to 6. Nobody waits."""
    case = case_of(readers(11), fetches_per_round=2, remote_storage={"read_ms": 250})
    assert positions(tmp_path, case, 1) == [2] * 9 + [1] * 2
    assert positions(tmp_path, case, 2) == [4] * 7 + [3] * 4
    rows = rows_after(tmp_path, case, 2)
    assert [row["remote_requests"] for row in rows] == [row["position"] for row in rows]
    assert not any(row["waited_rounds"] or row["throttled_rounds"] for row in rows)


@pytest.mark.parametrize(("queue", "errors"), [(1, [0, 0, 1]), (2, [0, 0, 0])])
def test_who_is_dealt_one_of_its_requests_is_no_error(tmp_path: Path, queue: int, errors: list[int]) -> None:
    """One thread, one request a round: of three readers that need three each two are dealt none, and wait, if there is room."""
    config = {"remote.log.reader.threads": 1, "remote.log.reader.max.pending.tasks": queue}
    case = case_of(readers(3), fetches_per_round=3, remote_storage={"read_ms": 500}, config=config)
    rows = rows_after(tmp_path, case, 1)
    assert [row["position"] for row in rows] == [1, 0, 0]
    assert [row["remote_errors"] for row in rows] == errors


LONG = """
    rounds = 500
    round_ms = 500
    [cluster]
    brokers = 1
    fetches_per_round = 5
    [cluster.config]
    "remote.log.storage.system.enable" = true
    "remote.log.reader.threads" = THREADS
    [remote_storage]
    read_ms = 500
    [[topics]]
    name = "t"
    partitions = 1
    replication_factor = 1
    config = { "remote.storage.enable" = true }
    [[initial.replicas]]
    topic = "t"
    partition = 0
    broker = 1
    leo = 100_000
    local_log_start_offset = 90_000
    record_bytes = 100
    [[initial.remote_segments]]
    topic = "t"
    partition = 0
    base_offset = 0
    end_offset = 89_999
    bytes = 9_000_000
    [[consumers]]
    group = "fast"
    topic = "t"
    start = 0
    config = { "max.partition.fetch.bytes" = 799 }
    [[consumers]]
    group = "slow"
    topic = "t"
    start = 0
    records_per_round = 13
    config = { "max.partition.fetch.bytes" = 1000 }
"""
"""Two groups that read one segment for hundreds of rounds: 5 fetches of 7 records a round, and 13 records of fetches of 10."""


@pytest.mark.parametrize(("threads", "is_leapt"), [(7, True), (6, False)])
def test_a_leap_over_several_fetches_a_round(tmp_path: Path, threads: int, is_leapt: bool) -> None:
    """With threads for 5 + 2 requests a round nobody ever waits; with one less every round is played."""
    (tmp_path / "long.toml").write_text(LONG.replace("THREADS", str(threads)))
    scenarios = load_run(str(tmp_path / "long.toml")).scenarios
    found, plain, leapt = unlike_by_leaps(scenarios)
    assert not found
    assert leapt[0] < 20 if is_leapt else leapt[0] == plain[0] == 500
    fast, slow = (row for _, row in sorted(consumer_groups_of(played(scenarios, traced=False, leaps=is_leapt), 0).items()))
    if is_leapt:
        assert (fast["position"], fast["remote_requests"]) == (499 * 35, 499 * 5)
        assert (slow["position"], slow["remote_requests"]) == (499 * 13, -(-499 * 13 // 10))
    else:
        assert fast["position"] < 499 * 35 or slow["position"] < 499 * 13
