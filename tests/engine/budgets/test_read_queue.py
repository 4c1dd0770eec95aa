"""Turns of one broker's remote reads in a round, by hand."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.engine.budgets.read_queue import ReadTask, deal, parts_of, requests_of
from emulator.inputs.arrays.shared_reads import BY_ITSELF
from emulator.rounds.kafka.reading.records import IS_MADE, IS_REFUSED, WAITS_FOR_FETCH, WAITS_FOR_THREAD

ANY = float("inf")


def read(
    partition: int, last_round: int = -1, *, fetch: int = BY_ITSELF, fetches: int = 1, short_round: int = -1, needs: int = 1
) -> ReadTask:
    return ReadTask((partition, 0), fetch, fetches, last_round, short_round, needs)


def turns(tasks: Sequence[ReadTask], at_once: float = ANY, queue: int = 0) -> list[int]:
    return [turn for turn, _ in requests_of(tasks, at_once, queue)]


def dealt(tasks: Sequence[ReadTask], at_once: float = ANY, queue: int = 100) -> list[int]:
    return [requests for _, requests in requests_of(tasks, at_once, queue)]


def test_nobody_waits_without_limits() -> None:
    assert requests_of([read(0), read(1, needs=7)], ANY, 0) == [(IS_MADE, 1), (IS_MADE, 7)]


def test_a_fetch_brings_the_partition_whose_last_read_is_longest_ago() -> None:
    tasks = [read(0, 8, fetch=3), read(1, 6, fetch=3), read(2, 9, fetch=4), read(3, 6, fetch=3), read(4)]
    assert turns(tasks) == [WAITS_FOR_FETCH, IS_MADE, IS_MADE, WAITS_FOR_FETCH, IS_MADE]


def test_threads_then_the_queue_then_errors() -> None:
    tasks = [read(0, 5), read(1, 4), read(2, 3), read(3, 2)]
    assert turns(tasks, 1, 2) == [IS_REFUSED, WAITS_FOR_THREAD, WAITS_FOR_THREAD, IS_MADE]


def test_of_reads_as_long_ago_who_came_short_more_recently_comes_first() -> None:
    """2 in round 7, 1 in round 6; 0 and 3 never did."""
    tasks = [read(0, 8), read(1, 8, short_round=6), read(2, 8, short_round=7), read(3, 8), read(4, 9, short_round=8)]
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
    """Two have one only; they are ahead in the next round."""
    tasks = [read(at, needs=2) for at in range(11)]
    assert dealt(tasks, 20) == [2] * 9 + [1] * 2
    tasks = [read(at, 0, needs=2, short_round=0 if at > 8 else -1) for at in range(11)]
    assert dealt(tasks, 20) == [2] * 7 + [1] * 2 + [2] * 2


def test_who_is_dealt_some_is_not_in_the_queue() -> None:
    tasks = [read(at, needs=3) for at in range(5)]
    assert requests_of(tasks, 3, 1) == [(IS_MADE, 1)] * 3 + [(WAITS_FOR_THREAD, 0), (IS_REFUSED, 0)]
    assert requests_of(tasks, 7, 1) == [(IS_MADE, 2)] * 2 + [(IS_MADE, 1)] * 3


def test_what_is_in_hand_needs_no_fetch_and_no_thread() -> None:
    tasks = [read(0, 1, fetch=3, needs=0), read(1, 2, fetch=3), read(2, 3, fetch=3), read(3, 4)]
    assert requests_of(tasks, 1, 1) == [(IS_MADE, 0), (IS_MADE, 1), (WAITS_FOR_FETCH, 0), (WAITS_FOR_THREAD, 0)]


def test_dealt_out_one_each_and_again() -> None:
    assert deal([3, 0, 1, 5], 100) == [3, 0, 1, 5]
    assert [deal([3, 0, 1, 5], number) for number in range(8)] == [
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
