"""Several remote fetches a round: what they bring, what a read needs, and how what is too few is dealt out. By hand.

Records have 100 bytes, a round 500 ms. `m` is how many remote fetches of a reader a round holds.
"""

from __future__ import annotations

from typing import Any

import pytest

from ..tiered.cases import RECORD_BYTES, remote
from .cases import counts, group, indexes, remote_log, requests, seen
from .simulate import Result, simulate, simulate_together

QUOTA = "remote.log.manager.fetch.max.bytes.per.second"
THREADS = "remote.log.reader.threads"
QUEUE = "remote.log.reader.max.pending.tasks"


def _reader(records_a_fetch: int, name: str = "g", **given: Any) -> dict[str, Any]:
    return group(name, **{"start": 0, **given}, max_partition_fetch_bytes=records_a_fetch * RECORD_BYTES)


def _who_read_less(results: list[Result], most: int) -> list[set[int]]:
    """By round, from 1 on: the partitions that read less than `most` records."""
    positions = [seen(result) for result in results]
    rounds = range(1, len(positions[0]))
    return [{at for at, of_one in enumerate(positions) if of_one[now] - of_one[now - 1] < most} for now in rounds]


def test_five_fetches_a_round() -> None:
    """m = 5, 2 records a fetch, segments of 25: 5 and 5 fetches, then 2 + 2 + 1 records, which end the segment, and 2 + 2 more.

    Of the second segment 10, 10 and 1 follow, and 8 of the third. 30 requests: the first of each segment misses its indexes,
    the 27 others find them.
    """
    result = simulate(remote_log([_reader(2)], 25, fetches_per_round=5), watch=True)
    assert seen(result) == [0, 10, 20, 29, 39, 49, 58]
    assert requests(result) == [5] * 6
    assert indexes(result) == (27, 3)
    assert counts(result)["remote_bytes"] == 58 * RECORD_BYTES
    assert result.violations == []


def test_each_request_looks_for_the_indexes() -> None:
    """No room for 20 bytes: all five miss."""
    config = {"remote.log.index.file.cache.total.size.bytes": 19}
    result = simulate(remote_log([_reader(2)], 25, rounds=2, fetches_per_round=5, config=config))
    assert indexes(result) == (0, 5)


def test_an_index_cache_that_is_made_smaller() -> None:
    """Two groups find the indexes of a segment each in rounds 2 and 3. In 4 there is room for those used last only, of "b": "a"
    misses its own, and from then on each pushes out the other's.
    """
    smaller = {"remote.log.index.file.cache.total.size.bytes": 20}
    commands = [{"round": 4, "kind": "alter_config", "broker": 1, "config": smaller}]
    result = simulate(remote_log([_reader(1, "a"), _reader(1, "b", start=50)], rounds=7, commands=commands))
    assert {name: indexes(result, name) for name in ("a", "b")} == {"a": (2, 4), "b": (2, 4)}


@pytest.mark.parametrize(
    ("cluster", "read_ms", "expected"),
    [
        ({"fetch_round_trip_ms": 99.999}, 0, 5),  # with the byte's time 100,000 us: 5 of them are a round
        ({"fetch_round_trip_ms": 100}, 0, 4),  # 100,001
        ({"fetch_round_trip_ms": 1}, 98, 5),  # 1000 + 1 + 98,000 = 99,001
        ({"fetch_round_trip_ms": 1}, 99, 4),  # 100,001
        ({"fetch_round_trip_ms": 1, "fetch_bytes_per_second": 2500}, 0, 6),  # 1000 + 80,000: six are 486,000
        ({"fetch_round_trip_ms": 1, "fetch_bytes_per_second": 2500}, 3, 5),  # 84,000: six are 504,000
        ({"fetch_round_trip_ms": 1}, 300, 1),
        ({"fetch_round_trip_ms": 1}, 2000, 1),  # one at least
        ({"fetches_per_round": 3}, 300, 3),  # whatever they take
        ({"fetches_per_round": 3, "fetch_round_trip_ms": 400}, 0, 3),
    ],
)
def test_how_many_fetches_a_round_holds(cluster: dict[str, Any], read_ms: int, expected: int) -> None:
    """Of 200 bytes: 1 us at the 200 MB/s of the default, 80 ms at 2,500 bytes/s; and how long a read keeps its thread."""
    result = simulate(remote_log([_reader(2)], 50, rounds=3, remote_storage={"read_ms": read_ms}, **cluster))
    assert seen(result) == [0, 2 * expected, 4 * expected]
    assert requests(result) == [expected, expected]


def test_a_round_that_needs_two_fetches_now_and_then() -> None:
    """m = 2, 3 records a fetch, 4 a round: 0 to 2 and 3 to 5 for 0 to 3; 6 to 8 for 4 to 7; 9 to 11 for 8 to 11; again two.

    In the seventh read only record 24 is left of the segment, with nothing in hand of it: a fetch for it, and one for 25 to 27.
    """
    result = simulate(remote_log([_reader(3, records_per_round=4)], 25, rounds=8, fetches_per_round=2), watch=True)
    assert seen(result) == [0, 4, 8, 12, 16, 20, 24, 28]
    assert requests(result) == [2, 1, 1, 2, 1, 1, 2]
    assert indexes(result) == (8, 2)
    assert result.violations == []


@pytest.mark.parametrize("limit", [{"records_per_round": 7}, {"bytes_per_round": 650}, {}])
def test_no_more_than_the_fetches_of_a_round(limit: dict[str, Any]) -> None:
    """m = 2, 3 records a fetch: 6 records, although 6.5 or 7 are wanted; 1 + 3 where a fetch has only the last of a segment."""
    result = simulate(remote_log([_reader(3, **limit)], 25, fetches_per_round=2))
    assert seen(result) == [0, 6, 12, 18, 24, 28, 34]
    assert requests(result) == [2] * 6


def test_what_is_in_hand_is_no_fetch_more() -> None:
    """m = 2, 3 records a fetch. 2 is in hand after round 1. The read of round 2 is what two fetches from 2 on bring, 2 to 7.

    Its requests are for what comes after 2: 3 to 5 and 6 to 8, and so 8 is in hand.
    """
    rows = [_reader(3, records_per_round=2, to_round=2), _reader(3, from_round=2)]
    result = simulate(remote_log(rows, 25, rounds=4, fetches_per_round=2), watch=True)
    assert seen(result) == [0, 2, 8, 14]
    assert requests(result) == [1, 2, 2]
    assert result.violations == []


def test_fetches_of_records_of_unlike_bytes() -> None:
    """10 records of 1005 bytes, of which the first k have floor(100.5 k). Fetches of 201 bytes end at 2, 4, 6, 8 and 10.

    m = 2, 3 records a round: two fetches, to 4, for 0 to 2; one, to 6, for 3 to 5; two, to 10, for 6 to 8; 9 is in hand.
    Then one is for 10 and 11, which have 100 bytes each.
    """
    case = remote_log([_reader(2, records_per_round=3)], rounds=5, fetches_per_round=2)
    case["initial"]["remote_segments"][0] = {**remote(0, 9), "bytes": 1005}
    case["consumers"][0]["config"] = {"max.partition.fetch.bytes": 201}
    result = simulate(case, watch=True)
    assert seen(result) == [0, 3, 6, 9, 12]
    assert requests(result) == [2, 1, 2, 1]
    assert counts(result)["remote_bytes"] == 1005 + 200
    assert result.violations == []


def test_a_quota_below_what_was_dealt() -> None:
    """m = 5, 2 records a fetch; the quota leaves 3 records a round: two requests, with one record in hand; then one.

    Record 24 is the last of its segment, and a fetch: with 25 and 26 it is two requests again, but with nothing in hand.
    """
    result = simulate(remote_log([_reader(2)], 25, rounds=11, fetches_per_round=5, config={QUOTA: 600}), watch=True)
    assert seen(result) == list(range(0, 31, 3))
    assert requests(result) == [2, 1, 2, 1, 2, 1, 2, 1, 2, 2]
    assert counts(result)["throttled_rounds"] == 10
    assert result.violations == []


def test_what_was_dealt_is_used_up() -> None:
    """m = 5, one thread for 5 requests: a is dealt 3, b 2. The quota leaves each a record, half a fetch, in each round.

    So each makes a request in every other round only, and what it was dealt beyond that is nobody's.
    """
    config = {THREADS: 1, QUOTA: 400}
    case = remote_log([_reader(2, name) for name in "ab"], 50, fetches_per_round=5, config=config)
    result = simulate({**case, "remote_storage": {"read_ms": 100}}, watch=True)
    assert [seen(result, name) for name in "ab"] == [[0, 1, 2, 3, 4, 5, 6]] * 2
    assert [requests(result, name) for name in "ab"] == [[1, 0, 1, 0, 1, 0]] * 2
    assert [counts(result, name)["throttled_rounds"] for name in "ab"] == [6, 6]
    assert result.violations == []


def test_a_read_ends_with_the_last_fetch_it_was_dealt() -> None:
    """m = 2 of a member with two partitions, 3 records a fetch: one fetch each.

    With 5 records a round each needs two fetches, and reads one. With one in hand (2) it reads that and 3 to 5.
    """
    cases = [remote_log([_reader(3, records_per_round=5, members=1)], 25, rounds=4, fetches_per_round=2) for _ in range(2)]
    for result in simulate_together(cases, watch=True):
        assert (seen(result), requests(result)) == ([0, 3, 6, 9], [1, 1, 1])
        assert (counts(result)["waited_rounds"], result.violations) == ({}, [])
    rows = [_reader(3, records_per_round=2, to_round=2, members=1), _reader(3, from_round=2, members=1)]
    for result in simulate_together([{**case, "consumers": rows} for case in cases], watch=True):
        assert (seen(result), requests(result)) == ([0, 2, 6, 9], [1, 1, 1])


@pytest.mark.parametrize("wanted", [2, 3, None])
def test_a_member_of_two_partitions(wanted: int | None) -> None:
    """m = 3; both want two or more fetches of a record: first, second, first. So the second is first in round 2, and so on."""
    given: dict[str, Any] = {"records_per_round": wanted, "members": 1}
    cases = [remote_log([_reader(1, **given)], 50, fetches_per_round=3) for _ in range(2)]
    results = simulate_together(cases, watch=True)
    assert [requests(result) for result in results] == [[2, 1, 2, 1, 2, 1], [1, 2, 1, 2, 1, 2]]
    assert [seen(result)[-1] for result in results] == [9, 9]
    assert all(result.violations == [] for result in results)


def test_a_member_of_three_partitions() -> None:
    """m = 2; all want a fetch of a record: 0 and 1, 2 and 0, 1 and 2, and so on."""
    cases = [remote_log([_reader(1, records_per_round=1, members=1)], 50, rounds=10, fetches_per_round=2) for _ in range(3)]
    results = simulate_together(cases, watch=True)
    assert _who_read_less(results, 1) == [{2}, {1}, {0}] * 3
    assert [counts(result)["waited_rounds"] for result in results] == [{"other_partition": 3}] * 3
    assert all(result.violations == [] for result in results)


@pytest.mark.parametrize("fetches", [1, 2, 3])
def test_thirteen_readers_for_ten_threads(fetches: int) -> None:
    """A request keeps its thread for the round. The last three wait, and are first in the next round; then the last are others.

    So it goes on: each has one request in 10 of any 13 rounds, however many it wants in each.
    """
    store = {"read_ms": 500}
    cases = [remote_log([_reader(1)], 100, rounds=118, remote_storage=store, fetches_per_round=fetches) for _ in range(13)]
    results = simulate_together(cases)
    assert _who_read_less(results, 1) == [{-3 * now % 13, (1 - 3 * now) % 13, (2 - 3 * now) % 13} for now in range(1, 118)]
    assert [seen(result)[-1] for result in results] == [90] * 13
    assert [counts(result)["waited_rounds"] for result in results] == [{"reader_threads": 27}] * 13


@pytest.mark.parametrize("fetches", [2, 3])
def test_eleven_readers_for_twenty_requests(fetches: int) -> None:
    """Ten threads for two requests each: one for each of the 11, a second for 9. The two others are first in the next round.

    So each has 20 requests in any 11 rounds, and nobody waits.
    """
    store = {"read_ms": 250}
    cases = [remote_log([_reader(1)], 100, rounds=45, remote_storage=store, fetches_per_round=fetches) for _ in range(11)]
    results = simulate_together(cases)
    assert _who_read_less(results, 2) == [{-2 * now % 11, (1 - 2 * now) % 11} for now in range(1, 45)]
    assert [sum(requests(result)) for result in results] == [80] * 11
    assert [seen(result)[-1] for result in results] == [80] * 11
    assert [counts(result)["waited_rounds"] for result in results] == [{}] * 11


def test_those_that_find_no_place_in_the_queue() -> None:
    """m = 2, one thread for two requests, one place: a and b get one each, c waits, d is refused; then c and d, and so on.

    In round 2 those that read in round 1 come after those that never did: a waits, b is refused.
    """
    config = {THREADS: 1, QUEUE: 1}
    case = remote_log([_reader(1, name) for name in "abcd"], 50, fetches_per_round=2, config=config)
    result = simulate({**case, "remote_storage": {"read_ms": 250}}, watch=True)
    assert [seen(result, name) for name in "ab"] == [[0, 1, 1, 2, 2, 3, 3]] * 2
    assert [seen(result, name) for name in "cd"] == [[0, 0, 1, 1, 2, 2, 3]] * 2
    assert [counts(result, name)["remote_errors"] for name in "abcd"] == [0, 3, 0, 3]
    assert [counts(result, name)["waited_rounds"] for name in "abcd"] == [{"reader_threads": 3}] * 4
    assert result.violations == []


@pytest.mark.parametrize(("threads", "of_each"), [(4, [1, 2, 1]), (3, [1, 1, 1])])
def test_threads_are_dealt_out_for_what_the_fetches_left(threads: int, of_each: list[int]) -> None:
    """m = 2. A member has two partitions and so a fetch for each, `alone` has one and wants both. They are 4 requests."""
    pair, alone = _reader(1, "pair", members=1), _reader(1, "alone")
    given = {"fetches_per_round": 2, "remote_storage": {"read_ms": 500}, "config": {THREADS: threads}}
    cases = [remote_log(consumers, 50, rounds=4, **given) for consumers in ([pair, alone], [pair])]
    first, second = simulate_together(cases, watch=True)
    found = [requests(first, "pair"), requests(first, "alone"), requests(second, "pair")]
    assert found == [[number] * 3 for number in of_each]
    assert first.violations == second.violations == []


def test_threads_for_some_of_what_the_fetches_left() -> None:
    """As above, two threads: pair of partition 0 and alone, the pair, alone and pair of partition 1, and so on."""
    pair, alone = _reader(1, "pair", members=1), _reader(1, "alone")
    given = {"fetches_per_round": 2, "remote_storage": {"read_ms": 500}, "config": {THREADS: 2}}
    cases = [remote_log(consumers, 50, rounds=7, **given) for consumers in ([pair, alone], [pair])]
    first, second = simulate_together(cases, watch=True)
    assert seen(first, "pair") == [0, 1, 2, 2, 3, 4, 4]
    assert seen(first, "alone") == [0, 1, 1, 2, 3, 3, 4]
    assert seen(second, "pair") == [0, 0, 1, 2, 2, 3, 4]
    assert first.violations == second.violations == []


@pytest.mark.parametrize(("cause", "others"), [("reader_threads", []), ("other_partition", []), ("other_partition", [2, 2])])
def test_places_of_a_round_without_anybody_short_do_not_count(cause: str, others: list[int]) -> None:
    """4 requests, of one thread each or of a member's fetches. In round 1 a, b, c and a again are dealt theirs: nobody is short.

    So they tie: in round 2 it is d, e, a and b; in 3 c, d, e and a, as c waited and the others have their places. In 4 it is
    b, c, a and a, and nobody is short again. So in 5 it is d, e, a and b, as in 2; then c, d, e, a; and b, c, d, e.

    Another member's two partitions, which always come short of fetches, are those of another broker.
    """
    threads = cause == "reader_threads"
    results = _all_of_them({} if threads else {"members": 1}, {"read_ms": 500} if threads else {}, others)
    assert [seen(result) for result in results] == [
        *[[0, 2, 3, 4, 6, 7, 8, 8], [0, 1, 2, 2, 3, 4, 4, 5], [0, 1, 1, 2, 3, 3, 4, 5]],
        *[[0, 1, 2, 3, 4, 5]] * 2,
    ]
    assert [counts(result)["waited_rounds"] for result in results] == [{cause: 1}, {cause: 2}, {cause: 2}, {}, {}]


def test_who_comes_short_makes_the_places_count_for_all_of_the_broker() -> None:
    """The other member's partitions, which always come short, are of the same broker.

    Round 1: a, b, c, a. 2: d, e, b, c, as a was dealt its last one after them. 3: a, d, e, b. 4: c, a, b, a. 5: d, e, c, b.
    6: a, d, e, c. 7: b, a, d, e.
    """
    results = _all_of_them({"members": 1}, {}, [1, 1])
    assert [seen(result) for result in results] == [
        *[[0, 2, 2, 3, 5, 5, 6, 7], [0, 1, 2, 3, 4, 5, 5, 6], [0, 1, 2, 2, 3, 4, 5, 5]],
        *[[0, 1, 2, 3, 4, 5]] * 2,
    ]


def _all_of_them(of_each: dict[str, Any], store: dict[str, Any], others: list[int]) -> list[Result]:
    """Of a, b and c, partitions of broker 1, a wants two records a round, the others one; so do d and e, not in force in round 4.

    Another member has a partition of each of the brokers `others`.
    """
    one = {**of_each, "records_per_round": 1}
    late = [_reader(1, **one, from_round=1, to_round=4), _reader(1, **one, from_round=5)]
    rows = [[_reader(1, **{**one, "records_per_round": 2})], [_reader(1, **one)], [_reader(1, **one)], late, late]
    given = {"rounds": 8, "fetches_per_round": 4, "config": {THREADS: 4}, "remote_storage": store}
    cases = [remote_log(consumers, 50, **given) for consumers in rows]
    cases += [remote_log([_reader(1, "other", members=1)], 50, **given, initial={"leader": broker}) for broker in others]
    results = simulate_together(cases, watch=True)
    assert all(result.violations == [] for result in results)
    assert [requests(result, "other") for result in results[5:]] == [[2] * 7] * len(others)
    return results[:5]


def test_a_member_whose_partitions_have_unlike_fetches() -> None:
    """50 ms and 1 ms a byte: one fetch of 4 records, or three of one. The member has three: one, and two of the three.

    That one was dealt earlier, so it is always first.
    """
    network = {"fetch_round_trip_ms": 50, "fetch_bytes_per_second": 1000}
    results = simulate_together([remote_log([_reader(records, members=1)], 50, **network) for records in (4, 1)], watch=True)
    assert [requests(result) for result in results] == [[1] * 6, [2] * 6]
    assert [seen(result)[-1] for result in results] == [24, 12]
    assert all(result.violations == [] for result in results)
