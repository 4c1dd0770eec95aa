"""Which remote reads a broker makes in a round, and how much each of them gets.

Choices where docs/consumer_rounds.md is silent:

* What the quota leaves over by rounding to whole bytes is nobody's.
* A read of what is in hand is a remote read too: whoever made one comes after those whose last read is longer ago.
* Only what brings records is a read: one that another replica lets wait does not drop what is in hand of the first one.
* That the store is away or slow, or the segment gone, holds for reads of what is in hand, too: only 4 and 5 are of requests.
* Who has a thread or the place in the fetch, and gets so little of the quota that it makes no request, has used it up.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from ..tiered.metadata import RemoteSegment
from .reader import Reader
from .settings import ReadSettings, ReadStore


@dataclass
class RemoteRead:
    """A read that a reader would make, of [position, end); `order` is its place among all readers.

    `fetch` is what goes in one request: (group, member, broker). `limit_bytes` is what the reader and the store allow.
    `segment_end` is where the limits of the segment are.
    """

    reader: Reader
    fetch: Hashable
    order: int
    partition: int
    broker: int
    segment: RemoteSegment
    segment_end: int
    end: int
    limit_bytes: int
    granted_bytes: int = 0
    failure: str | None = None
    refused: bool = False

    @property
    def turn(self) -> tuple[int, int]:
        """Who comes first: whose last remote read is longest ago."""
        return self.reader.remote_round, self.order


def one_partition_a_fetch(reads: Sequence[RemoteRead]) -> None:
    """Of the reads that need a request, in one fetch, all but the first fail."""
    first: dict[Hashable, RemoteRead] = {}
    for read in sorted(reads, key=lambda one: one.turn):
        if first.setdefault(read.fetch, read) is not read:
            read.failure = "other_partition"


def limit_threads(reads: Sequence[RemoteRead], settings: ReadSettings, store: ReadStore) -> None:
    """Of a broker's reads that need a request, those without a thread fail; those without a place in the queue are errors."""
    if store.read_ms <= 0 or not reads:
        return
    broker = reads[0].broker
    at_once = int(settings.of_broker(broker, "remote.log.reader.threads")) * max(1, settings.round_ms // store.read_ms)
    queue = int(settings.of_broker(broker, "remote.log.reader.max.pending.tasks"))
    for place, read in enumerate(sorted(reads, key=lambda one: one.turn)):
        if place >= at_once:
            read.failure = "reader_threads"
            read.refused = place >= at_once + queue


def share_quota(reads: Sequence[RemoteRead], wanted_bytes: Sequence[int], quota_bytes: int | None) -> None:
    """Give each read of a broker its bytes: all parts rise together until they have what they want, or nothing is left."""
    left = sum(wanted_bytes) if quota_bytes is None else quota_bytes
    by_size = sorted(range(len(reads)), key=lambda at: wanted_bytes[at])
    for place, at in enumerate(by_size):
        reads[at].granted_bytes = min(wanted_bytes[at], left // (len(by_size) - place))
        left -= reads[at].granted_bytes
