"""Which remote requests a broker makes in a round, to whom they are dealt out, and how many bytes each read gets.

Choices where docs/consumer_rounds.md is silent:

* What the quota leaves over by rounding to whole bytes is nobody's.
* Only what brings records is a read: one that another replica lets wait does not drop what is in hand of the first one.
* That the store is away or slow, or the segment gone, holds for reads of what is in hand, too: only 4 and 5 are of requests.
* A reader that 1 to 3 give nothing neither needs requests nor comes short of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from .pieces import Piece
from .reader import Reader
from .settings import ReadSettings, ReadStore, Row


@dataclass
class RemoteRead:
    """A read that a reader would make, of [position, end); `order` is its place among all readers.

    `fetched_by` is who asks whom: (group, member, broker). `pieces` are those that it may go through, each within the limits
    of its segment, `fetches` how many of the reader's a round holds. It needs so many requests, and was dealt so many of them;
    `place` is that of the last one among all that its broker dealt out.
    """

    reader: Reader
    row: Row
    fetched_by: Hashable
    order: int
    partition: int
    broker: int
    pieces: Sequence[Piece]
    fetches: int
    end: int
    needed: int = 0
    dealt: int = 0
    place: int = 0
    granted_bytes: int = 0
    failure: str | None = None
    refused: bool = False

    @property
    def turn(self) -> tuple[tuple[int, int], int]:
        """Who comes first: who was last dealt a request longest ago."""
        return self.reader.dealt_last, self.order


def deal_fetches(reads: Iterable[RemoteRead]) -> None:
    """Deal out what a round holds of each member's fetches, each of which brings one partition from remote storage."""
    together: defaultdict[Hashable, list[RemoteRead]] = defaultdict(list)
    for read in reads:
        together[read.fetched_by].append(read)
    for of_member in together.values():
        for read in _deal_out(of_member, max(read.fetches for read in of_member)):
            read.failure = "other_partition"


def deal_threads(reads: Sequence[RemoteRead], settings: ReadSettings, store: ReadStore) -> None:
    """Deal out what a broker's threads make in a round: all that is wanted, if a read takes no time.

    Of those that get none the last find no place in the queue: errors.
    """
    if not reads:
        return
    broker = reads[0].broker
    if store.read_ms > 0:
        requests = int(settings.of_broker(broker, "remote.log.reader.threads")) * max(1, settings.round_ms // store.read_ms)
    else:
        requests = sum(read.dealt for read in reads)
    queue = int(settings.of_broker(broker, "remote.log.reader.max.pending.tasks"))
    for place, read in enumerate(_deal_out(reads, requests)):
        read.failure, read.refused = "reader_threads", place >= queue


def _deal_out(reads: Iterable[RemoteRead], requests: int) -> list[RemoteRead]:
    """One request each of what they were dealt before, in turn, and again, until none is left. Who gets none is returned."""
    in_turn = sorted(reads, key=lambda read: read.turn)
    wanted = [read.dealt for read in in_turn]
    for read in in_turn:
        read.dealt = 0
    count = 0
    for already in range(max(wanted, default=0)):
        for read, most in zip(in_turn, wanted, strict=True):
            if count < requests and most > already:
                count += 1
                read.dealt, read.place = read.dealt + 1, count
    return [read for read in in_turn if read.dealt == 0]


def note_who_was_dealt_some(reads: Sequence[RemoteRead], now: int) -> None:
    """Of a broker's reads that needed requests: if one of them came short, who was dealt its last one earlier is ahead."""
    short = any(read.dealt < read.needed for read in reads)
    for read in reads:
        if read.dealt > 0:
            read.reader.dealt_last = now, read.place if short else 0


def share_quota(reads: Sequence[RemoteRead], wanted_bytes: Sequence[int], quota_bytes: int | None) -> None:
    """Give each read of a broker its bytes: all parts rise together until they have what they want, or nothing is left."""
    left = sum(wanted_bytes) if quota_bytes is None else quota_bytes
    by_size = sorted(range(len(reads)), key=lambda at: wanted_bytes[at])
    for place, at in enumerate(by_size):
        reads[at].granted_bytes = min(wanted_bytes[at], left // (len(by_size) - place))
        left -= reads[at].granted_bytes
