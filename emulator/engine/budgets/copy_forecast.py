"""How the copy tasks of a broker that are under way, or wait, will go on if nothing comes between (docs/tiered_rounds.md).

So that a queue takes no stop for each of its tasks: partitions are told from which round they may copy, and it is seen afterwards
whether all of it was so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from emulator.engine.budgets.copy_queue import CopyTask, turns_of
from emulator.rounds.kafka.constants import FOREVER, UNKNOWN

MOST_STOPS = 1000
"""Rounds of a forecast in which something changes."""


@dataclass
class Course:
    """What a task will do: from which round it may begin segments, what it may move in that one, how many it begins; and the
    rounds in which they begin and end.
    """

    from_round: int = UNKNOWN
    from_bytes: int = UNKNOWN
    starts: int = 0
    begins: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    is_under_way: bool = False
    has_begun_all: bool = True


def forecast(
    tasks: Sequence[CopyTask],
    threads: int,
    begun: Sequence[tuple[int, int]],
    window: int,
    most_bytes: int,
    round_: int,
    to_round: int,
) -> tuple[list[Course], int]:
    """(what each task will do, up to which round, `to_round` at most): there somebody else may have a turn.

    `begun`: (round, bytes) of segments begun in the quota's window before, in order.
    """
    left, starts = list(tasks), list(begun)
    courses = [Course(is_under_way=task.copies, has_begun_all=not task.sizes) for task in tasks]
    now = round_
    for _ in range(MOST_STOPS):
        waiting = [at for at, task in enumerate(left) if not task.copies and task.sizes]
        if not waiting:
            # Whoever comes now may have the thread, or the quota, that is left.
            return courses, min(_next_stop(left, threads, starts, most_bytes, window, now), to_round)
        stop = _next_stop(left, threads, starts, most_bytes, window, now)
        if stop >= to_round:
            return courses, to_round
        left = [_moved_on(task, stop - now) for task in left]
        now = stop
        used = sum(size for at, size in starts if at > now - window)
        in_line = [at for at, task in enumerate(left) if task.copies or task.sizes]
        turns = dict(zip(in_line, turns_of([left[at] for at in in_line], threads, used, most_bytes), strict=True))
        if any(left[at].last_start >= round_ and turns[at].starts for at in waiting):
            return courses, now  # it waited for the quota in between
        if all(turns[at].starts for at in waiting):
            return courses, now  # whoever comes in this round may have what is left of it
        for at, turn in turns.items():
            if at in waiting and turn.starts:
                courses[at].from_round, courses[at].from_bytes = now, turn.bytes
            left[at] = _after(left[at], turn.starts, turn.moved, now, courses[at], starts)
        starts.sort()
        now += 1
    return courses, now


def _next_stop(
    tasks: Sequence[CopyTask], threads: int, starts: Sequence[tuple[int, int]], most: int, window: int, now: int
) -> int:
    """The next round in which a segment ends, or may begin."""
    ends = [now + max(0, -(-task.left_bytes // task.store_bytes) - 1) for task in tasks if task.copies and task.store_bytes > 0]
    stop = min(ends, default=FOREVER)
    counted = sorted(start for start in starts if start[0] > now - window)
    used = sum(size for _, size in counted)
    if used <= most:
        taken = sum(task.copies and task.store_bytes != UNKNOWN for task in tasks)
        takes_none = any(task.sizes and not task.copies and task.store_bytes == UNKNOWN for task in tasks)
        return now if taken < threads or takes_none else stop
    for at, size in counted:
        used -= size
        if used <= most:
            return min(stop, at + window)
    return stop


def _moved_on(task: CopyTask, rounds: int) -> CopyTask:
    if not task.copies or task.store_bytes == UNKNOWN:
        return task
    return replace(task, left_bytes=task.left_bytes - rounds * task.store_bytes)


def _after(task: CopyTask, begins: int, moved_bytes: int, now: int, course: Course, starts: list[tuple[int, int]]) -> CopyTask:
    """A task after a round in which it began so many segments, and moved so much."""
    left, sizes, is_under_way = moved_bytes, list(task.sizes), task.copies
    under_way = task.left_bytes if task.copies else 0
    if is_under_way:
        step = min(under_way, left)
        under_way, left = under_way - step, left - step
        if under_way == 0:
            course.ends.append(now)
            is_under_way = False
    for _ in range(begins):
        size = sizes.pop(0)
        course.begins.append(now)
        course.starts += 1
        starts.append((now, size))
        step = min(size, left)
        under_way, left, is_under_way = size - step, left - step, step < size
        if not is_under_way:
            course.ends.append(now)
    course.is_under_way, course.has_begun_all = is_under_way, not sizes
    return replace(
        task,
        copies=is_under_way,
        left_bytes=under_way,
        sizes=sizes,
        last_start=now if begins else task.last_start,
    )
