"""All threads of all followers, each fetch after fetch."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .inputs import SECOND_US, Limits, Partition
from .session import FetchSession
from .threads import fetcher_id


class FetcherThread(NamedTuple):
    """A thread of a follower broker's, to a leader broker, by its number."""

    follower: int
    leader: int
    fetcher: int


class Fetch(NamedTuple):
    """A fetch that was appended at `at_us`: bytes of whole batches, and bytes sent."""

    at_us: int
    appended_bytes: int
    sent_bytes: int


class CatchUp(NamedTuple):
    """Since when a follower's thread runs, and when it had caught up after that; None: not before the end."""

    since_us: int
    at_us: int | None


@dataclass
class FollowerLog:
    """What a follower had when: `at_us` and `log_bytes` are one list of appends, ascending."""

    at_us: list[int]
    log_bytes: list[int]
    catch_ups: list[CatchUp] = field(default_factory=list)

    def bytes_at(self, at_us: int) -> int:
        """Its log bytes, with what is appended at this time."""
        return self.log_bytes[bisect_right(self.at_us, at_us) - 1]


@dataclass
class Outcome:
    """What became of all: by (partition, follower) its log, by thread its fetches."""

    logs: dict[tuple[Partition, int], FollowerLog] = field(default_factory=dict)
    fetches: dict[FetcherThread, list[Fetch]] = field(default_factory=lambda: defaultdict(list))
    partitions: dict[FetcherThread, list[Partition]] = field(default_factory=lambda: defaultdict(list))


def play(
    partitions: Sequence[Partition],
    limits: Limits,
    seconds: float,
    down: Mapping[int, Sequence[tuple[float, float]]] | None = None,
) -> Outcome:
    """Let every thread fetch for so many seconds.

    `down`: by follower broker when it does not run, as [from, to) in seconds, ascending: what is on its way to it then is
    lost, and its threads begin anew at the end, with new sessions, in the order of `partitions`. (In Kafka that of a hash
    map; it is of no consequence but within one turn.)

    A follower has caught up when it has all that its leader had when the fetch was read there: with the response that
    brings it all, or at once where it lacks nothing (Replica.updateFetchStateOrThrow). From then on it lacks less than what
    is appended during a fetch.
    """
    outages = {
        broker: [(round(begin * SECOND_US), round(end * SECOND_US)) for begin, end in intervals]
        for broker, intervals in (down or {}).items()
    }
    away = {partition.leader for partition in partitions} & {broker for broker, intervals in outages.items() if intervals}
    if away:
        raise ValueError(f"brokers {sorted(away)} lead partitions: who would lead them while they are down is not modelled")
    outcome = Outcome()
    for partition in partitions:
        for follower in partition.followers:
            thread = FetcherThread(follower, partition.leader, fetcher_id(partition.topic, partition.number, limits.fetchers))
            outcome.partitions[thread].append(partition)
            first = partition.first_batches(follower) * partition.batch_bytes
            outcome.logs[partition, follower] = FollowerLog([0], [first])
    for thread in outcome.partitions:
        begin = 0
        for down_us, up_us in [*outages.get(thread.follower, []), (round(seconds * SECOND_US), 0)]:
            if begin < down_us:
                _run(outcome, thread, limits, begin, down_us)
            begin = up_us
    return outcome


def _run(outcome: Outcome, thread: FetcherThread, limits: Limits, begin_us: int, end_us: int) -> None:
    """One thread, from when its broker starts until it is down or all is over (AbstractFetcherThread.doWork, in a loop)."""
    partitions = outcome.partitions[thread]
    logs = {partition: outcome.logs[partition, thread.follower] for partition in partitions}
    has = {partition: logs[partition].log_bytes[-1] // partition.batch_bytes for partition in partitions}
    session = FetchSession(partitions)
    behind = dict.fromkeys(partitions)
    now = begin_us
    while True:
        arrived = now + limits.round_trip_us // 2
        if arrived > end_us:
            break
        for partition in [partition for partition in behind if partition.batches_at(arrived) == has[partition]]:
            del behind[partition]
            logs[partition].catch_ups.append(CatchUp(begin_us, arrived))
        read = _answered(partitions, has, arrived, limits)
        there = {partition: partition.batches_at(read) for partition in partitions}
        response = session.read({partition: there[partition] - has[partition] for partition in partitions}, limits)
        back_us = limits.round_trip_us - limits.round_trip_us // 2
        now = read + back_us + response.sent_bytes * SECOND_US // limits.bytes_per_second
        if now > end_us:
            break
        for partition, batches in response.batches.items():
            has[partition] += batches
            logs[partition].at_us.append(now)
            logs[partition].log_bytes.append(has[partition] * partition.batch_bytes)
            if partition in behind and has[partition] == there[partition]:
                del behind[partition]
                logs[partition].catch_ups.append(CatchUp(begin_us, now))
        appended = sum(partition.batch_bytes * batches for partition, batches in response.batches.items())
        outcome.fetches[thread].append(Fetch(now, appended, response.sent_bytes))
    for partition in behind:
        logs[partition].catch_ups.append(CatchUp(begin_us, None))


def _answered(partitions: Sequence[Partition], has: Mapping[Partition, int], arrived_us: int, limits: Limits) -> int:
    """When the leader reads what it answers: at once if there is anything, else when something comes, or after the wait.

    ReplicaManager.fetchMessages and DelayedFetch.tryComplete, with replica.fetch.min.bytes = 1.
    """
    if any(partition.batches_at(arrived_us) > has[partition] for partition in partitions):
        return arrived_us
    appends = [partition.next_append_us(arrived_us) for partition in partitions]
    return min([arrived_us + limits.wait_max_us, *(at for at in appends if at is not None)])
