"""Turns of one broker's copy tasks in a round, and how a line of them goes on, by hand."""

from __future__ import annotations

from typing import Any

from emulator.engine.budgets.copy_forecast import forecast
from emulator.engine.budgets.copy_queue import CopyTask, turns_of
from emulator.inputs.arrays.copy_budgets import UNLIMITED
from emulator.rounds.kafka.constants import UNKNOWN

RATE = 1000


def task(partition: int, due: int = 0, *, sizes: tuple[int, ...] = (), left: int = 0, **more: Any) -> CopyTask:
    given = {"last_start": UNKNOWN, "store_bytes": RATE, "fails": False, **more}
    return CopyTask(partition=partition, due=due, copies=left > 0, left_bytes=left, sizes=sizes, **given)


def moved(*tasks: CopyTask, threads: int, used: int = 0, most: int = UNLIMITED) -> list[tuple[int, int, int]]:
    """Of each task (bytes that it may move, segments that it may begin, bytes that it moves)."""
    return [(turn.bytes, turn.starts, turn.moved) for turn in turns_of(tasks, threads, used, most)]


WAITS = (UNKNOWN, 0, 0)


def test_who_is_due_earlier_has_the_thread() -> None:
    late, early = task(0, 5, sizes=(3000,)), task(1, 4, sizes=(3000,))
    assert moved(late, early, threads=1) == [WAITS, (UNKNOWN, 1, 1000)]
    assert moved(late, task(1, 5, sizes=(3000,)), threads=1) == [(UNKNOWN, 1, 1000), WAITS]


def test_a_task_keeps_its_thread_to_the_end_of_its_run() -> None:
    running, waiting = task(0, 9, left=200, sizes=(500, 3000)), task(1, 4, sizes=(3000,))
    assert moved(running, waiting, threads=1) == [(UNKNOWN, 2, 1000), WAITS]


def test_the_next_in_line_has_what_is_left_of_the_round() -> None:
    running = task(0, 9, left=300)
    assert moved(running, task(1, 4, sizes=(3000,)), threads=1) == [(UNKNOWN, 0, 300), (700, 1, 700)]
    # Whose run is short leaves the rest of the rest.
    short, third = task(1, 4, sizes=(100,)), task(2, 5, sizes=(3000,))
    assert moved(running, short, third, threads=1) == [(UNKNOWN, 0, 300), (700, 1, 100), (600, 1, 600)]


def test_of_two_threads_the_one_that_is_free_first() -> None:
    tasks = [task(0, left=900), task(1, left=400), task(2, sizes=(500,)), task(3, sizes=(500,))]
    assert moved(*tasks, threads=2) == [(UNKNOWN, 0, 900), (UNKNOWN, 0, 400), (600, 1, 500), (100, 1, 100)]


def test_a_copy_that_fails_takes_no_time() -> None:
    failing = [task(at, sizes=(500,), fails=True) for at in range(2)]
    assert moved(*failing, task(2, sizes=(800,)), threads=1) == [(UNKNOWN, 1, 0), (1000, 1, 0), (1000, 1, 800)]


def test_of_a_smaller_pool_who_is_done_first_is_not_replaced() -> None:
    tasks = [task(0, left=300), task(1, left=3000), task(2, sizes=(500,))]
    assert moved(*tasks, threads=1) == [(UNKNOWN, 0, 300), (UNKNOWN, 0, 1000), WAITS]


def test_a_segment_begins_while_the_quota_is_not_exceeded() -> None:
    no_time = [task(at, sizes=(400, 400), store_bytes=UNKNOWN) for at in range(2)]
    assert moved(*no_time, threads=1, used=0, most=1000) == [(UNKNOWN, 2, 800), (UNKNOWN, 1, 400)]
    assert moved(*no_time, threads=1, used=1001, most=1000) == [WAITS, WAITS]


def test_who_began_a_segment_goes_to_the_end_of_the_line() -> None:
    first, second = task(0, 3, sizes=(400,), last_start=8), task(1, 7, sizes=(400,))
    assert [turn.starts for turn in turns_of([first, second], 10, 900, 1000)] == [0, 1]


def test_who_waits_for_the_quota_has_a_thread() -> None:
    tasks = [task(0, 3, sizes=(400,)), task(1, 4, sizes=(400,)), task(2, 5, sizes=(400,))]
    assert [turn.starts for turn in turns_of(tasks, 2, 1001, 1000)] == [0, 0, 0]


def test_how_a_line_goes_on() -> None:
    """One thread: 2,500 bytes are left, then come 3,300; whoever stands in line then may have the rest of their last round."""
    tasks = [task(0, left=2500), task(1, 1, sizes=(3300,)), task(2, 2, sizes=(600,))]
    courses, until = forecast(tasks, 1, [], 11, UNLIMITED, 10, 1000)
    assert [(one.from_round, one.from_bytes, one.begins, one.ends) for one in courses] == [
        (UNKNOWN, UNKNOWN, [], [12]),
        (12, 500, [12], []),
        (UNKNOWN, UNKNOWN, [], []),
    ]
    assert until == 15
    assert [one.is_under_way for one in courses] == [False, True, False]


def test_a_line_that_waits_for_the_quota() -> None:
    """A segment may begin when so much has left the window; a task that would have to wait a second time ends the forecast."""
    tasks = [task(at, at, sizes=(900,) * (2 - at), store_bytes=UNKNOWN) for at in range(2)]
    courses, until = forecast(tasks, 10, [(4, 700), (6, 900)], 11, 1000, 10, 1000)
    assert [(one.from_round, one.begins, one.has_begun_all) for one in courses] == [(15, [15], False), (17, [17], True)]
    assert until == 26
