"""One broker's copier threads and copy quota in one round: which of its copy tasks run, how far, and which wait.

docs/tiered_rounds.md, Copies in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from emulator.rounds.kafka.constants import UNKNOWN

WHOLE_ROUND = 1_000_000
"""A thread's time is counted in millionths of a round."""


@dataclass(frozen=True)
class CopyTask:
    """A copy task that is due, or has a copy under way, and what it would do in the round if it were alone.

    `partition`: its place in order; `due`: the round from which it waits; `last_start`: when its last segment began, UNKNOWN:
    none did; `store_bytes`: what a copy moves in a round, UNKNOWN: it takes no time, and no thread. `copies`: a copy is under
    way; `left_bytes` of it; `sizes`: bytes of the segments that it would begin; `fails`: the copy fails, which takes no time.
    """

    partition: int
    due: int
    last_start: int
    store_bytes: int
    copies: bool
    left_bytes: int
    sizes: Sequence[int]
    fails: bool

    @property
    def place_in_line(self) -> tuple[int, int]:
        """Since when it waits; of one round's tasks in the order of partitions."""
        return max(self.due, self.last_start), self.partition


@dataclass(frozen=True)
class Turn:
    """What a task gets of the round: bytes that it may move, UNKNOWN: as many as the store takes, and segments that it may begin.
    `moved`: bytes that it moves then.
    """

    bytes: int
    starts: int
    moved: int


QUEUED = Turn(UNKNOWN, 0, 0)


@dataclass
class _Quota:
    """Bytes of copies begun in the window, and the most that they may have when another begins."""

    used: int
    most: int
    starts: int = field(default=0)

    def begins(self, size_bytes: int) -> bool:
        """Begin a segment, if that may be."""
        if self.used > self.most:
            return False
        self.used += size_bytes
        self.starts += 1
        return True


def turns_of(tasks: Sequence[CopyTask], threads: int, used_bytes: int, most_bytes: int) -> list[Turn]:
    """What each of a broker's tasks gets: the longest wait comes first; the next in line has what is left of a thread's round."""
    quota = _Quota(used_bytes, most_bytes)
    taken = sum(task.copies and task.store_bytes != UNKNOWN for task in tasks)
    waiting = [at for at, task in enumerate(tasks) if not task.copies and task.store_bytes != UNKNOWN]
    waiting.sort(key=lambda at: tasks[at].place_in_line)
    queue = waiting[max(0, threads - taken) :]
    in_queue = set(queue)
    running = [at for at in range(len(tasks)) if at not in in_queue]
    running.sort(key=lambda at: tasks[at].place_in_line)
    turns = [QUEUED] * len(tasks)
    ends: list[int] = []
    for at in running:
        task = tasks[at]
        moved, starts, is_busy = _run(task, task.store_bytes, quota)
        turns[at] = Turn(UNKNOWN, starts, moved)
        if task.store_bytes != UNKNOWN:
            ends.append(WHOLE_ROUND if is_busy else _time(task, moved))
    ends = sorted(ends)[max(0, len(ends) - threads) :]  # of a pool that was made smaller, threads that are done first go
    ends += [0] * min(max(0, threads - len(ends)), len(queue))
    heapify(ends)
    for at in queue:
        task, free_from = tasks[at], ends[0] if ends else WHOLE_ROUND
        size_bytes = task.store_bytes * (WHOLE_ROUND - free_from) // WHOLE_ROUND
        if free_from >= WHOLE_ROUND or (size_bytes == 0 and task.store_bytes > 0):
            continue
        moved, starts, is_busy = _run(task, size_bytes, quota)
        turns[at] = Turn(size_bytes, starts, moved)
        if is_busy or moved:
            heappop(ends)
            heappush(ends, WHOLE_ROUND if is_busy else min(WHOLE_ROUND, free_from + _time(task, moved)))
    return turns


def _time(task: CopyTask, moved_bytes: int) -> int:
    """How long a thread takes for so many bytes, rounded up."""
    return -(-moved_bytes * WHOLE_ROUND // task.store_bytes) if moved_bytes else 0


def _run(task: CopyTask, round_bytes: int, quota: _Quota) -> tuple[int, int, bool]:
    """(bytes that a task moves, segments that it begins, whether it has its thread to the round's end)."""
    begun = quota.starts
    if task.fails:
        waits = not task.copies and bool(task.sizes) and not quota.begins(task.sizes[0])
        return 0, quota.starts - begun, waits
    moved = 0
    sizes = [task.left_bytes, *task.sizes] if task.copies else task.sizes
    for place, size_bytes in enumerate(sizes):
        if (place or not task.copies) and not quota.begins(size_bytes):
            return moved, quota.starts - begun, True
        step = size_bytes if round_bytes == UNKNOWN else min(size_bytes, round_bytes - moved)
        moved += step
        if step < size_bytes:
            return moved, quota.starts - begun, True
    return moved, quota.starts - begun, False
