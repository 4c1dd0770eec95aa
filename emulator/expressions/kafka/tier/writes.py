"""What replicas do to remote segments in a round, as data: every row tells it, and all rows make the same of it (share.py).

A write's segment is an id; of an attempt that begins in this round the number of those before it plus its place among the row's
own. SQL text helpers.
"""

from __future__ import annotations

from emulator.expressions.kafka.state import TIER_COUNTERS
from emulator.expressions.kafka.tier.types import REMOTE_SEGMENT

GAVE_UP, STARTED, FINISHED, FAILED, DELETED = range(5)
"""Kinds of writes; all but the first write events."""

WRITE = "STRUCT<task: INT, slot: INT, at: INT, kind: INT, segment: INT, moved: BIGINT, tells: BOOLEAN>"
"""task: order within a round; at: place among the row's; moved: bytes of an attempt that is over; tells: DELETE_STARTED is
written of one that failed."""

NO_WRITES = f"CAST(array() AS ARRAY<{WRITE}>)"
NO_REMOTE_SEGMENTS = f"CAST(array() AS ARRAY<{REMOTE_SEGMENT}>)"

AT_INPUTS, OF_DUTIES, OF_EXPIRY, OF_COPY = range(4)
"""The order in which tasks write."""


def write(task: int, at: str, kind: int, segment: str, moved: str = "0L", tells: str = "false") -> str:
    """A write as SQL struct."""
    return (
        f"named_struct('task', {task}, 'slot', slot, 'at', {at}, 'kind', {kind}, 'segment', {segment},"
        f" 'moved', CAST({moved} AS BIGINT), 'tells', {tells})"
    )


def left_bytes(copy: str, round_: str = "round") -> str:
    """Bytes that a copy under way has yet to move at the start of a round."""
    return f"({copy}.left_bytes - {copy}.rate * CAST({round_} - {copy}.as_of AS BIGINT))"


def counted(counts: str, more: dict[str, str]) -> str:
    """The counters with some of them raised."""
    fields = (f"'{name}', {counts}.{name}" + (f" + {more[name]}" if name in more else "") for name in TIER_COUNTERS)
    return f"named_struct({', '.join(fields)})"


def due(task: str) -> str:
    """Whether a task is due."""
    return f"(round >= {task}.next AND (round - {task}.next) % {task}.period = 0)"


def task(next_round: str, period: str, failures: str) -> str:
    """A task as SQL struct."""
    return f"named_struct('next', {next_round}, 'period', {period}, 'failures', {failures})"


def done(known: str) -> str:
    """A task whose run came to its end: the next one comes an interval later. One that runs so anyway stays as it is."""
    interval = "feed.storage.task_rounds"
    return f"IF({known}.period = {interval} AND {known}.failures = 0, {known}, {task(f'round + {interval}', interval, '0')})"


def failed(known: str) -> str:
    """A task whose run failed: the next one comes after a while that grows."""
    wait = rounds_to_retry(f"{known}.failures")
    return task(f"round + {wait}", wait, f"{known}.failures + 1")


def rounds_to_retry(failures: str, retry_rounds: str = "feed.storage.retry_rounds") -> str:
    """Rounds until the next try of what failed now, and `failures` times in a row before."""
    return f"get({retry_rounds}, least({failures}, size({retry_rounds}) - 1))"
