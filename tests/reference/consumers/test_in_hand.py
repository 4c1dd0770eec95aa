"""A remote request brings a whole fetch: what is in hand of it needs no other, for how long, and what drops it. By hand."""

from __future__ import annotations

import pytest

from ..tiered.cases import RECORD_BYTES, fault
from .cases import RACKS, SELECTOR, counts, group, indexes, ms, remote_log, request_rounds, seen
from .simulate import simulate, simulate_together
from .sources import IndexCache

ONE_THREAD = {"remote.log.reader.threads": 1}
A_ROUND = {"read_ms": 500}
"""A read keeps its thread for a round."""


def test_a_tenth_of_a_fetch_a_round() -> None:
    """10 records a fetch, 1 a round: requests at 0, 10 and 20, which the segment's end cuts to 5; at 25, 35 and 45 again."""
    reader = group(start=0, bytes_per_round=RECORD_BYTES, max_partition_fetch_bytes=10 * RECORD_BYTES)
    result = simulate(remote_log([reader], 25, rounds=51), watch=True)
    assert seen(result) == list(range(51))
    assert request_rounds(result) == [1, 11, 21, 26, 36, 46]
    row = counts(result)
    assert (row["remote_requests"], row["remote_bytes"], row["throttled_rounds"]) == (6, 50 * RECORD_BYTES, 0)
    assert indexes(result) == (4, 2)
    assert result.violations == []


def test_a_read_that_goes_beyond_what_is_in_hand() -> None:
    """3 records a fetch, 2 a round: 0 to 2; 3 to 5, with 2 in hand; none, with 4 and 5 in hand; 6 to 8, and so on.

    Of the segment's 25 the last one, for which nothing is in hand, is a fetch by itself.
    """
    reader = group(start=0, records_per_round=2, max_partition_fetch_bytes=3 * RECORD_BYTES)
    result = simulate(remote_log([reader], 25, rounds=14), watch=True)
    assert seen(result) == [*range(0, 25, 2), 25]
    assert request_rounds(result) == [1, 2, 4, 5, 7, 8, 10, 11, 13]
    assert indexes(result) == (8, 1)
    assert result.violations == []


def test_a_fetch_has_one_record_at_least() -> None:
    """Half a record is a fetch's limit, or a round's: the first has nothing in hand, the second a segment."""
    groups = [group("fetch", start=0, max_partition_fetch_bytes=50), group("round", start=0, bytes_per_round=50)]
    result = simulate(remote_log(groups))
    assert seen(result, "fetch") == seen(result, "round") == list(range(7))
    assert request_rounds(result, "fetch") == [1, 2, 3, 4, 5, 6]
    assert request_rounds(result, "round") == [1]


def test_a_quota_that_leaves_a_third_of_a_fetch() -> None:
    """9 records a fetch, 3 a round: requests at 0, 9 and 18, which brings 7; of these the quota leaves 3 + 3 + 1.

    The last of them, which is all that the segment has, is not throttled.
    """
    quota = {"remote.log.manager.fetch.max.bytes.per.second": 6 * RECORD_BYTES}
    reader = group(start=0, max_partition_fetch_bytes=9 * RECORD_BYTES)
    result = simulate(remote_log([reader], 25, rounds=19, config=quota), watch=True)
    assert seen(result) == [*range(0, 25, 3), *range(25, 50, 3), 50]
    assert request_rounds(result) == [1, 4, 7, 10, 13, 16]
    assert counts(result)["throttled_rounds"] == 16
    assert indexes(result) == (4, 2)
    assert result.violations == []


def test_another_leader_drops_it() -> None:
    """2 leads from round 4 on, with indexes of its own: 6 to 9 are fetched again."""
    case = remote_log([group(start=0, records_per_round=2)], replicas=[2, 1])
    before = simulate(case)
    assert (request_rounds(before), indexes(before)) == ([1, 6], (0, 2))
    result = simulate({**case, "commands": [{"round": 4, "kind": "preferred_leader_election"}]}, watch=True)
    assert seen(result) == seen(before) == [0, 2, 4, 6, 8, 10, 12]
    assert (request_rounds(result), indexes(result)) == ([1, 4, 6], (0, 3))
    assert result.violations == []


@pytest.mark.parametrize(
    ("kind", "back", "rounds"), [("broker_pause", 5, [1, 7]), ("broker_crash", 8, [1, 8, 10])], ids=["same-epoch", "new-epoch"]
)
def test_a_new_epoch_of_the_same_leader_drops_it(kind: str, back: int, rounds: list[int]) -> None:
    """1, the only replica, is away from round 4 on: for one round it leads on, for four it is fenced and elected anew."""
    case = remote_log([group(start=0, records_per_round=2)], replicas=[1], rounds=11, faults=[fault(kind, 4, back, broker=1)])
    case["initial"] |= {"isr": [1], "replicas": {1: case["initial"]["replicas"][1]}}
    result = simulate(case, watch=True)
    assert seen(result)[3 : back + 3] == [*[6] * (back - 3), 8, 10, 12]
    assert request_rounds(result) == rounds
    assert result.violations == []


@pytest.mark.parametrize(("age", "rounds"), [(3, [2, 5, 8]), (1, [2])], ids=["leader-reads", "back-at-once"])
def test_a_read_of_another_replica_drops_it(age: int, rounds: list[int]) -> None:
    """Follower 2 is away in round 4. The leader serves in 5 and 6, and names it in 7; or it names it in 5 at once.

    For one round of metadata.max.age.ms it is named in every other round anyway, which drops nothing.
    """
    reader = group(start=0, records_per_round=1, rack="b", metadata_max_age_ms=ms(age))
    case = remote_log([reader], rounds=9, racks=RACKS, config=SELECTOR, faults=[fault("broker_pause", 4, 5, broker=2)])
    result = simulate(case, watch=True)
    expected = [None, None, 2, 2, None, 1, 1, None, 2] if age == 3 else [None, None, 2, None, None, None, 2, None, 2]
    assert seen(result, key="broker") == expected
    assert seen(result, key="answer")[4] == "follower_away"
    assert request_rounds(result) == rounds
    assert result.violations == []


@pytest.mark.parametrize(("from_round", "rounds"), [(4, [1, 6]), (6, [1, 6, 8])], ids=["no-pause", "pause"])
def test_a_pause_drops_it(from_round: int, rounds: list[int]) -> None:
    """6 to 9 are in hand after round 3. A row that goes on in round 4 has them; one that does in 6 fetches them again."""
    rows = [group(start=0, records_per_round=2, to_round=4), group(records_per_round=2, from_round=from_round)]
    result = simulate(remote_log(rows, rounds=from_round + 3), watch=True)
    assert seen(result) == [0, 2, 4, 6, 8, 10, 12]
    assert request_rounds(result) == rounds
    assert result.violations == []


def test_a_reset_drops_it() -> None:
    """DeleteRecords to 5 in round 2, position 2: 5 to 9 were in hand, and are fetched again."""
    reader = group(start=0, records_per_round=2, auto_offset_reset="earliest")
    case = remote_log([reader], commands=[{"round": 2, "kind": "delete_records", "offset": 5}])
    result = simulate(case, watch=True)
    assert seen(result) == [0, 2, 5, 7, 9, 10, 12]
    assert request_rounds(result) == [1, 3, 6]
    assert result.violations == []


def test_what_is_in_hand_needs_no_thread() -> None:
    """One thread: b waits in round 1 only. From then on one of them asks for a segment, the other has half of one in hand."""
    groups = [group(name, start=0, records_per_round=5) for name in "ab"]
    config = {**ONE_THREAD, "remote.log.reader.max.pending.tasks": 0}
    result = simulate(remote_log(groups, rounds=6, config=config, remote_storage=A_ROUND), watch=True)
    assert [seen(result, name) for name in "ab"] == [[0, 5, 10, 15, 20, 25], [0, 0, 5, 10, 15, 20]]
    assert [request_rounds(result, name) for name in "ab"] == [[1, 3, 5], [2, 4]]
    assert [counts(result, name)["waited_rounds"] for name in "ab"] == [{}, {"reader_threads": 1}]
    assert [counts(result, name)["remote_errors"] for name in "ab"] == [0, 1]
    assert result.violations == []


def test_what_is_in_hand_needs_no_place_in_a_fetch() -> None:
    """As with one thread: two partitions of one member, of which one needs a request in each round."""
    cases = [remote_log([group(start=0, records_per_round=5, members=1)], rounds=6) for _ in range(2)]
    results = simulate_together(cases, watch=True)
    assert [seen(result) for result in results] == [[0, 5, 10, 15, 20, 25], [0, 0, 5, 10, 15, 20]]
    assert [request_rounds(result) for result in results] == [[1, 3, 5], [2, 4]]
    assert [counts(result)["waited_rounds"] for result in results] == [{}, {"other_partition": 1}]
    assert all(result.violations == [] for result in results)


def test_who_needs_a_request_and_gets_no_thread_reads_nothing() -> None:
    """4 records a fetch, 3 a round, one thread: in round 2 a has 3 in hand, wants 3 to 5, and waits for b.

    They take turns up to round 5. In 6 a wants 9 only, for the segment ends there, and has it in hand.
    """
    groups = [group(name, start=0, records_per_round=3, max_partition_fetch_bytes=4 * RECORD_BYTES) for name in "ab"]
    result = simulate(remote_log(groups, config=ONE_THREAD, remote_storage=A_ROUND), watch=True)
    assert [seen(result, name) for name in "ab"] == [[0, 3, 3, 6, 6, 9, 10], [0, 0, 3, 3, 6, 6, 9]]
    assert [request_rounds(result, name) for name in "ab"] == [[1, 3, 5], [2, 4, 6]]
    assert [counts(result, name)["waited_rounds"] for name in "ab"] == [{"reader_threads": 2}, {"reader_threads": 3}]
    assert result.violations == []


def test_a_thread_is_asked_for_before_the_quota() -> None:
    """9 records a fetch, of which a quota leaves 3 a round, one thread: who wants 9 waits, although 3 of them are in hand.

    They take turns, and make a request in every third of theirs.
    """
    groups = [group(name, start=0, max_partition_fetch_bytes=9 * RECORD_BYTES) for name in "ab"]
    config = {**ONE_THREAD, "remote.log.manager.fetch.max.bytes.per.second": 6 * RECORD_BYTES}
    result = simulate(remote_log(groups, 25, rounds=9, config=config, remote_storage=A_ROUND), watch=True)
    assert [seen(result, name) for name in "ab"] == [[0, 3, 3, 6, 6, 9, 9, 12, 12], [0, 0, 3, 3, 6, 6, 9, 9, 12]]
    assert [request_rounds(result, name) for name in "ab"] == [[1, 7], [2, 8]]
    assert sum(counts(result, name)["waited_rounds"]["reader_threads"] for name in "ab") == 8
    assert result.violations == []


def test_a_thread_is_asked_for_after_the_stores_rate() -> None:
    """5 records a fetch, of which the store gives 2 a round, one thread: in round 2 a gets by with 2 and 3, in 3 it needs 5."""
    groups = [group(name, start=0, max_partition_fetch_bytes=5 * RECORD_BYTES) for name in "ab"]
    store = {**A_ROUND, "read_bytes_per_second": 4 * RECORD_BYTES}
    result = simulate(remote_log(groups, rounds=5, config=ONE_THREAD, remote_storage=store), watch=True)
    assert [seen(result, name) for name in "ab"] == [[0, 2, 4, 6, 8], [0, 0, 2, 4, 6]]
    assert [request_rounds(result, name) for name in "ab"] == [[1, 3], [2, 4]]
    assert counts(result, "b")["waited_rounds"] == {"reader_threads": 1}
    assert result.violations == []


def test_a_read_of_what_is_in_hand_uses_the_index() -> None:
    """Room for two. a has segment 0 in hand; b looks into 1 in round 2, c into 2 in round 3; d finds 0 in round 4."""
    once = {"records_per_round": 1}
    groups = [
        group("a", start=0, **once),
        group("b", start=10, from_round=1, to_round=3, **once),
        group("c", start=20, from_round=2, **once),
        group("d", start=0, from_round=3, **once),
    ]
    result = simulate(remote_log(groups, rounds=5, config={"remote.log.index.file.cache.total.size.bytes": 40}), watch=True)
    assert [indexes(result, name) for name in "abcd"] == [(0, 1), (0, 1), (0, 1), (1, 0)]
    assert result.violations == []


def test_what_is_in_hand_brings_no_index_back() -> None:
    """Room for one: b's pushes a's out, a reads on of what it has in hand, and c finds b's."""
    groups = [
        group("a", start=0, records_per_round=1),
        group("b", start=10, from_round=1, to_round=3),
        group("c", start=10, from_round=3),
    ]
    result = simulate(remote_log(groups, rounds=5, config={"remote.log.index.file.cache.total.size.bytes": 20}), watch=True)
    assert [indexes(result, name) for name in "abc"] == [(0, 1), (0, 1), (1, 0)]
    cache = IndexCache()
    cache.touch((0, 1))
    assert not cache.entries


def test_the_store_is_asked_for_what_is_in_hand_too() -> None:
    """Away in rounds 2 and 3: 5 to 9 are in hand, wait, and are there again without another request."""
    case = remote_log([group(start=0, records_per_round=5)], faults=[fault("remote_storage_outage", 2, 4)])
    result = simulate(case, watch=True)
    assert seen(result) == [0, 5, 5, 5, 10, 15, 20]
    assert request_rounds(result) == [1, 5]
    assert counts(result)["waited_rounds"] == {"store_away": 2} and counts(result)["remote_errors"] == 2
    assert result.violations == []
