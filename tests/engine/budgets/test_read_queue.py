"""Turns of one broker's remote reads in a round, by hand."""

from __future__ import annotations

from emulator.engine.budgets.read_queue import ReadTask, reads_of
from emulator.inputs.arrays.shared_reads import BY_ITSELF
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.reading.records import IS_MADE, IS_REFUSED, WAITS_FOR_FETCH, WAITS_FOR_THREAD

ANY = float("inf")


def read(partition: int, last_round: int = -1, *, fetch: int = BY_ITSELF, wanted: int = 100, has_it: bool = False) -> ReadTask:
    return ReadTask((partition, 0), fetch, last_round, wanted, has_it)


def test_nobody_waits_without_limits() -> None:
    assert reads_of([read(0), read(1)], ANY, 0, ANY) == [(IS_MADE, UNKNOWN)] * 2


def test_a_fetch_brings_the_partition_whose_last_read_is_longest_ago() -> None:
    tasks = [read(0, 8, fetch=3), read(1, 6, fetch=3), read(2, 9, fetch=4), read(3, 6, fetch=3), read(4)]
    assert [turn for turn, _ in reads_of(tasks, ANY, 0, ANY)] == [
        WAITS_FOR_FETCH,
        IS_MADE,
        IS_MADE,
        WAITS_FOR_FETCH,
        IS_MADE,
    ]


def test_threads_then_the_queue_then_errors() -> None:
    tasks = [read(0, 5), read(1, 4), read(2, 3), read(3, 2)]
    assert [turn for turn, _ in reads_of(tasks, 1, 2, ANY)] == [IS_REFUSED, WAITS_FOR_THREAD, WAITS_FOR_THREAD, IS_MADE]


def test_who_waits_for_a_fetch_takes_no_thread() -> None:
    tasks = [read(0, 1, fetch=3), read(1, 2, fetch=3), read(2, 3)]
    assert [turn for turn, _ in reads_of(tasks, 2, 0, ANY)] == [IS_MADE, WAITS_FOR_FETCH, IS_MADE]


def test_what_is_in_hand_needs_no_fetch_and_no_thread_but_has_its_part_of_the_quota() -> None:
    tasks = [read(0, 1, fetch=3, has_it=True), read(1, 2, fetch=3), read(2, 3, fetch=3), read(3, 4)]
    assert reads_of(tasks, 1, 1, 120) == [(IS_MADE, 60), (IS_MADE, 60), (WAITS_FOR_FETCH, 0), (WAITS_FOR_THREAD, 0)]


def test_parts_of_the_quota_rise_together() -> None:
    tasks = [read(0, wanted=100), read(1, wanted=10), read(2, wanted=70)]
    assert reads_of(tasks, ANY, 0, 120) == [(IS_MADE, 55), (IS_MADE, 10), (IS_MADE, 55)]
    assert reads_of(tasks, ANY, 0, 1000) == [(IS_MADE, 100), (IS_MADE, 10), (IS_MADE, 70)]
