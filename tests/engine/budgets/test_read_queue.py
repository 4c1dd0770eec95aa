"""Turns of one broker's remote reads in a round, by hand."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.engine.budgets.read_queue import ReadTask, deal, parts_of, requests_of
from emulator.inputs.arrays.shared_reads import BY_ITSELF
from emulator.rounds.kafka.reading.records import IS_MADE, IS_REFUSED, WAITS_FOR_FETCH, WAITS_FOR_THREAD

ANY = float("inf")


def read(
    partition: int, dealt_round: int = -1, *, fetch: int = BY_ITSELF, fetches: int = 1, place: int = 0, needs: int = 1
) -> ReadTask:
    return ReadTask((partition, 0), fetch, fetches, dealt_round, place, needs)


def turns(tasks: Sequence[ReadTask], at_once: float = ANY, queue: int = 0) -> list[int]:
    return [turn for turn, *_ in requests_of(tasks, at_once, queue)]


def dealt(tasks: Sequence[ReadTask], at_once: float = ANY, queue: int = 100) -> list[int]:
    return [requests for _, requests, _ in requests_of(tasks, at_once, queue)]


def test_nobody_waits_without_limits() -> None:
    assert requests_of([read(0), read(1, needs=7)], ANY, 0) == [(IS_MADE, 1, 0), (IS_MADE, 7, 0)]


def test_a_fetch_brings_the_partition_whose_last_read_is_longest_ago() -> None:
    tasks = [read(0, 8, fetch=3), read(1, 6, fetch=3), read(2, 9, fetch=4), read(3, 6, fetch=3), read(4)]
    assert turns(tasks) == [WAITS_FOR_FETCH, IS_MADE, IS_MADE, WAITS_FOR_FETCH, IS_MADE]


def test_threads_then_the_queue_then_errors() -> None:
    tasks = [read(0, 5), read(1, 4), read(2, 3), read(3, 2)]
    assert turns(tasks, 1, 2) == [IS_REFUSED, WAITS_FOR_THREAD, WAITS_FOR_THREAD, IS_MADE]


def test_of_one_round_who_was_dealt_its_last_one_earlier_comes_first() -> None:
    tasks = [read(0, 8, place=4), read(1, 8, place=2), read(2, 8, place=1), read(3, 8, place=5), read(4, 9, place=1)]
    for at_once, first in ((1, {2}), (2, {1, 2}), (3, {0, 1, 2}), (4, {0, 1, 2, 3})):
        assert {at for at, requests in enumerate(dealt(tasks, at_once)) if requests} == first


def test_who_waits_for_a_fetch_takes_no_thread() -> None:
    tasks = [read(0, 1, fetch=3), read(1, 2, fetch=3), read(2, 3)]
    assert turns(tasks, 2) == [IS_MADE, WAITS_FOR_FETCH, IS_MADE]


def test_a_members_fetches_of_a_round_go_to_its_partitions_one_by_one() -> None:
    """Three for two partitions: two for the one whose last read is longer ago. A third reader has its own."""
    tasks = [read(0, 5, fetch=3, fetches=3, needs=3), read(1, 4, fetch=3, fetches=3, needs=3), read(2, 4, fetches=3, needs=3)]
    assert dealt(tasks) == [1, 2, 3]
    assert dealt(tasks, 4) == [1, 2, 1]  # of the threads' four two are left once everybody has one: 1 has its second, 2 has none
    assert dealt([read(0, fetch=3, fetches=3), read(1, fetch=3, fetches=3, needs=2)]) == [1, 2]
    assert turns([read(at, fetch=3, fetches=3, needs=9) for at in range(4)]) == [IS_MADE] * 3 + [WAITS_FOR_FETCH]


def test_eleven_readers_of_two_requests_each_for_twenty() -> None:
    """Two have one only, and are ahead in the next round: in eleven rounds each has twenty."""
    places, sums = [(-1, 0)] * 11, [0] * 11
    for round_ in range(11):
        found = requests_of([read(at, *places[at][:1], place=places[at][1], needs=2) for at in range(11)], 20, 100)
        if round_ < 2:
            assert [requests for _, requests, _ in found] == ([2] * 9 + [1] * 2, [2] * 7 + [1] * 2 + [2] * 2)[round_]
        places = [(round_, place) for *_, place in found]
        sums = [had + requests for had, (_, requests, _) in zip(sums, found, strict=True)]
    assert sums == [20] * 11


def test_who_needs_more_than_all_have_takes_turns_too() -> None:
    """Thirteen for ten requests a round, seven for three, and two of a member for three fetches."""
    for count, needs, most, options in ((13, 1, 10, {}), (7, 1, 3, {}), (2, 3, ANY, {"fetch": 3, "fetches": 3})):
        places, sums = [(-1, 0)] * count, [0] * count
        for round_ in range(count):
            tasks = [read(at, round_of, place=place, needs=needs, **options) for at, (round_of, place) in enumerate(places)]
            found = requests_of(tasks, most, 9)
            places = [(round_, place) if requests else old for (_, requests, place), old in zip(found, places, strict=True)]
            sums = [had + requests for had, (_, requests, _) in zip(sums, found, strict=True)]
        assert sums == [min(most, 3) if count < 13 else 10] * count


def test_places_count_where_somebody_comes_short() -> None:
    assert requests_of([read(0, needs=2), read(1)], 3, 0) == [(IS_MADE, 2, 0), (IS_MADE, 1, 0)]
    assert requests_of([read(0, needs=2), read(1)], 2, 0) == [(IS_MADE, 1, 1), (IS_MADE, 1, 2)]


def test_who_is_dealt_some_is_not_in_the_queue() -> None:
    tasks = [read(at, needs=3) for at in range(5)]
    made = [(IS_MADE, 1, place) for place in (1, 2, 3)]
    assert requests_of(tasks, 3, 1) == [*made, (WAITS_FOR_THREAD, 0, 0), (IS_REFUSED, 0, 0)]
    assert requests_of(tasks, 7, 1) == [(IS_MADE, 2, 6), (IS_MADE, 2, 7), *((IS_MADE, 1, place) for place in (3, 4, 5))]


def test_what_is_in_hand_needs_no_fetch_and_no_thread() -> None:
    tasks = [read(0, 1, fetch=3, needs=0), read(1, 2, fetch=3), read(2, 3, fetch=3), read(3, 4)]
    assert requests_of(tasks, 1, 1) == [(IS_MADE, 0, 0), (IS_MADE, 1, 1), (WAITS_FOR_FETCH, 0, 0), (WAITS_FOR_THREAD, 0, 0)]


def test_dealt_out_one_each_and_again() -> None:
    assert deal([3, 0, 1, 5], 100) == [(3, 6), (0, 0), (1, 2), (5, 9)]
    assert [[dealt for dealt, _ in deal([3, 0, 1, 5], number)] for number in range(8)] == [
        [0, 0, 0, 0],
        [1, 0, 0, 0],
        [1, 0, 1, 0],
        [1, 0, 1, 1],
        [2, 0, 1, 1],
        [2, 0, 1, 2],
        [3, 0, 1, 2],
        [3, 0, 1, 3],
    ]


def test_parts_of_the_quota_rise_together() -> None:
    assert parts_of([100, 10, 70], 120) == [55, 10, 55]
    assert parts_of([100, 10, 70], 1000) == [100, 10, 70]
    assert parts_of([100, 100, 0], 101) == [50, 51, 0]
