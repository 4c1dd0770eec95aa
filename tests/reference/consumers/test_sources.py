"""Page cache, disk and remote storage: what comes from where, and what a broker's limits do to it. Counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from ..tiered.cases import RECORD_BYTES, fault, given_log, produce, remote, tiered_case
from .cases import EPOCH_0, counts, group, one_log, request_rounds, seen, unread
from .settings import ReadSettings
from .simulate import simulate, simulate_together
from .sources import IndexCache, page_cache_shares

SEGMENTS = [remote(base, base + 9) for base in range(0, 60, 10)]
"""0 to 59 are remote, in segments of 10 records."""


def _tiered(consumers: list[dict[str, Any]], **given: Any) -> dict[str, Any]:
    """60 remote records, and 60 to 79 local."""
    initial = {"remote_segments": SEGMENTS, **given.pop("initial", {})}
    return one_log(80, consumers, **{"rounds": 30, "log": {"local": 60}, "initial": initial, **given})


def test_disk_and_page_cache() -> None:
    """20 records of 100 bytes, 500 bytes of page cache: from 15 on a reader finds everything in memory."""
    case = one_log(20, [group(start=0, records_per_round=4)], rounds=8, page_cache_bytes=500)
    result = simulate(case, watch=True)
    assert seen(result, key="answer") == ["started", "disk", "disk", "disk", "disk", "page_cache", "empty", "empty"]
    row = counts(result)
    assert (row["disk_requests"], row["disk_bytes"]) == (4, 1600)
    assert (row["page_cache_requests"], row["page_cache_bytes"]) == (1, 400)
    assert result.violations == []


def test_what_was_in_memory_is_gone_with_the_power() -> None:
    """2 leads after its power came back: what it had is on disk, what comes then is in memory."""
    groups = [group(start=0, records_per_round=10)]
    case = one_log(20, groups, rounds=8, replicas=[1], workload=[produce(6, acks="1", records=10)])
    case["initial"] |= {"isr": [1], "replicas": {1: case["initial"]["replicas"][1]}}
    kept = simulate({**case, "faults": [fault("broker_crash", 0, 3, broker=1)]})
    lost = simulate({**case, "faults": [fault("power_loss", 0, 3, broker=1)]})
    # brokers that died are fenced first: round 3 is the first that is served
    assert seen(kept, key="answer")[3:] == ["started", "page_cache", "page_cache", "page_cache", "empty"]
    assert seen(lost, key="answer")[3:] == ["started", "disk", "disk", "page_cache", "empty"]


def test_shares_of_the_page_cache() -> None:
    """By what the workload writes: 10 records and 30; on broker 3 only the second one."""
    cases = [
        tiered_case(replicas=[1, 2], workload=[produce(0, 10)], page_cache_bytes=1000),
        tiered_case(replicas=[2, 3], workload=[produce(0, 10, records=3)], page_cache_bytes=1000),
    ]
    assert page_cache_shares(cases, 0) == {1: 1000, 2: 250, 3: 250}
    assert page_cache_shares(cases, 1) == {1: 750, 2: 750, 3: 1000}
    idle = [{**case, "workload": []} for case in cases]
    assert page_cache_shares(idle, 0) == {1: 1000, 2: 500, 3: 500}


def test_remote_reads() -> None:
    """10 records a round: a segment a read, each looked up once; then the local ones."""
    result = simulate(_tiered([group(start=0, records_per_round=10)], rounds=10), watch=True)
    assert seen(result, key="answer") == ["started", *["remote"] * 6, "page_cache", "page_cache", "empty"]
    row = counts(result)
    assert (row["remote_requests"], row["remote_bytes"], row["page_cache_bytes"]) == (6, 6000, 2000)
    assert (row["index_hits"], row["index_misses"], row["index_bytes"]) == (0, 6, 6 * 20)
    assert row["remote_errors"] == row["throttled_rounds"] == 0
    assert result.violations == []


def test_one_fetch_ends_with_its_segment() -> None:
    """4 a round: 4 + 4 + 2 of each segment, and so does a fetch, which brings all of it; its index is fetched once."""
    result = simulate(_tiered([group(start=0, records_per_round=4)]), watch=True)
    assert seen(result)[:5] == [0, 4, 8, 10, 14]
    row = counts(result)
    assert (row["index_hits"], row["index_misses"], row["remote_requests"]) == (0, 6, 6)
    assert result.violations == []


def test_bytes_of_an_index() -> None:
    """20 for each 4096 bytes of the segment: 5 MiB for 1 GiB, so the default cache keeps 204 of them."""
    settings = ReadSettings(500, {}, {})
    assert settings.index_bytes(1 << 30) == 5_242_880
    assert (1 << 30) // settings.index_bytes(1 << 30) == 204
    assert settings.index_bytes(100) == 20
    assert ReadSettings(500, {"index.interval.bytes": 1024}, {}).index_bytes(1 << 20) == 20 * 1024


@pytest.mark.parametrize(("limit", "hits"), [(19, 0), (20, 0), (39, 0), (40, 24), (1000, 24)])
def test_two_groups_in_one_index_cache(limit: int, hits: int) -> None:
    """Groups at 0 and at 30, 2 records a fetch, five of them a segment: with room for one index they push each other out."""
    groups = [group(name, start=start, max_partition_fetch_bytes=2 * RECORD_BYTES) for name, start in (("a", 0), ("b", 30))]
    case = _tiered(groups, rounds=16, config={"remote.log.index.file.cache.total.size.bytes": limit})
    result = simulate(case, watch=True)
    rows = [counts(result, name) for name in ("a", "b")]
    assert sum(row["index_hits"] for row in rows) == hits
    assert sum(row["index_hits"] + row["index_misses"] for row in rows) == 30
    assert result.violations == []


def test_a_second_group_finds_the_indexes_of_the_first() -> None:
    groups = [group("a", start=0, records_per_round=10), group("b", start=0, records_per_round=10, from_round=10)]
    result = simulate(_tiered(groups, rounds=20))
    assert counts(result, "a")["index_misses"] == 6
    assert (counts(result, "b")["index_hits"], counts(result, "b")["index_misses"]) == (6, 0)


def test_least_recently_used_goes_first() -> None:
    cache = IndexCache()
    assert [cache.use((0, at), 20, 60) for at in (1, 2, 3, 1, 4)] == [False, False, False, True, False]
    assert list(cache.entries) == [(0, 3), (0, 1), (0, 4)]
    assert not cache.use((0, 9), 80, 60)  # too big to be kept; with the others pushed out
    cache.use((0, 1), 20, 60)
    cache.use((1, 1), 20, 60)
    cache.drop(0)
    assert list(cache.entries) == [(1, 1)]


@pytest.mark.parametrize(("kind", "misses"), [("broker_crash", 0), ("disk_loss", 6)])
def test_the_index_cache_outlives_a_crash_but_no_disk_loss(kind: str, misses: int) -> None:
    """1 dies in round 9 and leads again from 25 on; b then reads what a had read from it."""
    groups = [group("a", start=0, records_per_round=10, to_round=8), group("b", start=0, records_per_round=10, from_round=26)]
    case = _tiered(groups, rounds=34, faults=[fault(kind, 9, 12, broker=1)])
    result = simulate({**case, "commands": [{"round": 25, "kind": "preferred_leader_election"}]}, watch=True)
    assert result.partition.controller.leader == 1
    assert (counts(result, "b")["remote_requests"], counts(result, "b")["index_misses"]) == (6, misses)
    assert result.violations == []


def test_quota() -> None:
    """KIP-956: 600 bytes/s are 300 a round: 60 records need 20 rounds instead of 6."""
    case = _tiered([group(start=0, records_per_round=10)], config={"remote.log.manager.fetch.max.bytes.per.second": 600})
    result = simulate(case, watch=True)
    assert seen(result)[:8] == [0, 3, 6, 9, 10, 13, 16, 19]
    # 3 + 3 + 3 + 1 of each segment, which one request brings; what the segment's end cuts is not throttled
    assert (counts(result)["remote_requests"], counts(result)["throttled_rounds"]) == (6, 18)
    assert result.violations == []


def test_a_quota_below_a_record_lets_one_through() -> None:
    case = _tiered([group(start=0)], rounds=4, config={"remote.log.manager.fetch.max.bytes.per.second": 10})
    assert seen(simulate(case)) == [0, 1, 2, 3]


def test_the_quota_is_shared() -> None:
    """900 a round: 100 for the one that wants no more, 400 for each of the others; who reads local data needs none."""
    groups = [
        group("one", start=0, records_per_round=1),
        group("b", start=10),
        group("c", start=20),
        group("local", start=60, records_per_round=10),
    ]
    case = _tiered(groups, rounds=3, config={"remote.log.manager.fetch.max.bytes.per.second": 1800})
    result = simulate(case)
    assert [seen(result, name)[1:] for name in ("one", "b", "c", "local")] == [[1, 2], [14, 18], [24, 28], [70, 80]]
    assert [counts(result, name)["throttled_rounds"] for name in ("one", "b", "c", "local")] == [0, 2, 2, 0]


def test_reader_threads() -> None:
    """One thread, each request keeps it for a round: two groups take turns, and the third finds no place in the queue."""
    groups = [group(name, start=0, max_partition_fetch_bytes=5 * RECORD_BYTES) for name in "abc"]
    config = {"remote.log.reader.threads": 1, "remote.log.reader.max.pending.tasks": 1}
    result = simulate(_tiered(groups, rounds=7, config=config, remote_storage={"read_ms": 500}), watch=True)
    assert [seen(result, name) for name in "abc"] == [[0, 5, 5, 5, 10, 10, 10], [0, 0, 5, 5, 5, 10, 10], [0, 0, 0, 5, 5, 5, 10]]
    assert sum(counts(result, name)["waited_rounds"]["reader_threads"] for name in "abc") == 12
    assert sum(counts(result, name)["remote_errors"] for name in "abc") == 6
    both = simulate(_tiered(groups, rounds=7, config={"remote.log.reader.threads": 1}, remote_storage={"read_ms": 250}))
    assert [seen(both, name)[1] for name in "abc"] == [5, 5, 0]
    assert result.violations == []


def test_one_remote_partition_a_fetch() -> None:
    """Three partitions, two of them read remotely from broker 1 by one member: they take turns. Two members do not."""
    local = one_log(80, [], rounds=5)
    for members, expected in (
        (1, [[0, 5, 5, 10, 10], [0, 0, 5, 5, 10]]),
        (2, [[0, 5, 10, 15, 20]] * 2),
        (None, [[0, 5, 10, 15, 20]] * 2),
    ):
        readers = [group(start=0, max_partition_fetch_bytes=5 * RECORD_BYTES, members=members)]
        cases = [{**case, "consumers": readers} for case in (_tiered([], rounds=5), _tiered([], rounds=5), local)]
        results = simulate_together(cases, watch=True)
        assert [seen(result) for result in results[:2]] == expected
        assert seen(results[2]) == [0, 5, 10, 15, 20]
        waited = sum(counts(result)["waited_rounds"].get("other_partition", 0) for result in results)
        assert waited == (4 if members == 1 else 0)
        assert all(result.violations == [] for result in results)


def test_store_away() -> None:
    """Rounds 2 to 4: a reader of remote data waits, one of local data does not see it."""
    groups = [group("old", start=0, records_per_round=10), group("new", start=60, records_per_round=5)]
    result = simulate(_tiered(groups, rounds=12, faults=[fault("remote_storage_outage", 2, 5)]), watch=True)
    assert seen(result, "old")[:8] == [0, 10, 10, 10, 10, 20, 30, 40]
    assert seen(result, "new")[:5] == [60, 65, 70, 75, 80]
    assert unread(result) == [("store_away", 2, 5, 10, 80)]
    assert counts(result, "old")["remote_errors"] == 3
    assert counts(result, "old")["waited_rounds"] == {"store_away": 3}
    assert result.violations == []


def test_slow_store() -> None:
    """400 bytes/s let 2 records of each read through in a round; 100 bytes/s none, of what is in hand neither."""
    faults = [fault("slow_remote_storage", 2, 5, bytes_per_second=400), fault("slow_remote_storage", 5, 7, bytes_per_second=100)]
    result = simulate(_tiered([group(start=0, records_per_round=10)], rounds=9, faults=faults), watch=True)
    assert seen(result) == [0, 10, 12, 14, 16, 16, 16, 20, 30]
    assert unread(result) == [("store_slow", 5, 7, 16, 80)]
    assert request_rounds(result) == [1, 2, 8]
    by_nature = _tiered([group(start=0)], rounds=4, remote_storage={"read_bytes_per_second": 600})
    assert seen(simulate(by_nature)) == [0, 3, 6, 9]
    assert result.violations == []


@pytest.mark.parametrize("policy", ["earliest", "latest"])
def test_a_leader_without_metadata_resets_its_readers(policy: str) -> None:
    """2 is new, has built its state with its leader's help, leads from round 8 on, and no metadata gets through to it.

    It answers OFFSET_OUT_OF_RANGE for what is remote, although it is there.
    """
    case = _tiered(
        [group(start=0, records_per_round=3, auto_offset_reset=policy)],
        rounds=14,
        initial={"isr": [1], "replicas": {1: given_log(80, EPOCH_0, local=60), 2: given_log(0, [])}},
        remote_storage={"aux_state": "leader"},
        faults=[fault("remote_metadata_lag", 0, broker=2)],
        replicas=[2, 1],
        commands=[{"round": 8, "kind": "preferred_leader_election"}],
    )
    known = simulate({**case, "faults": []}, watch=True)
    assert seen(known)[7:10] == [19, 20, 23]
    assert known.violations == []
    # what was there at the start of the run is known to all: a segment copied in the run is needed
    case["initial"]["remote_segments"] = SEGMENTS[:-1]
    case["initial"]["replicas"][1] = given_log(80, EPOCH_0, local=50, segments=[60])
    case["topic_config"] |= {"local.retention.bytes": 20 * RECORD_BYTES}
    case["consumers"] = [group(start=50, records_per_round=1, auto_offset_reset=policy)]
    result = simulate(case, watch=True)
    assert result.partition.controller.leader == 2
    before = seen(result)[7]
    if policy == "latest":
        assert seen(result)[8:10] == [80, 80]
        assert unread(result, "skip") == [("segment_unknown", 8, 9, before, 80)]
    else:
        assert seen(result)[8:10] == [0, 1]  # all over again, from the log start
        assert counts(result)["read_again"] == before
    assert result.violations == []
