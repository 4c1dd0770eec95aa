"""What one group reads of one partition: its position, what it counts, and what it could not read.

Choices where docs/consumer_rounds.md is silent:

* A stretch of rounds without an answer ends with the first round that has one, even if that brings nothing, and with a
  row of `consumers`. Rounds in which there is nothing to read end it as well.
* Consumers that come back know nothing of a follower they read from before.
* A position that a start or a reset found is checked against the leader that gave it.
* What is in hand is offsets up to an end, of whatever segment: a lookup that finds another one for them does not drop it.
  Local reads do not either, but what the position has passed is not in hand any more; nor do rounds without a read.
* A new leader drops what is in hand even where rules.py turns the check off.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

PAGE_CACHE, DISK, REMOTE = "page_cache", "disk", "remote"

COUNTERS = (
    "records", "page_cache_bytes", "disk_bytes", "remote_bytes", "page_cache_requests", "disk_requests", "remote_requests",
    "remote_errors", "throttled_rounds", "index_hits", "index_misses", "index_bytes", "follower_bytes", "cross_rack_bytes",
    "empty_fetches", "resets", "truncations", "skipped", "read_again", "read_lost",
)  # fmt: skip

COMMIT_DELAY = frozenset({"not_committed", "follower_behind"})
"""Causes that an ordinary round has too, as records are committed in the round after they came: their first round is none."""


class Unread(NamedTuple):
    """A row of the table `unread`: a stretch of rounds, a skip or a loss; rounds and offsets are [from, to)."""

    group: str
    kind: str
    from_round: int
    to_round: int
    from_offset: int
    to_offset: int
    cause: str
    broker: int | None


class Taken(NamedTuple):
    """Records of one answer, (epoch, offset) each, how many requests it took, and of how many pieces a remote one is."""

    round: int
    broker: int
    source: str
    records: list[tuple[int, int]]
    requests: int
    pieces: int = 1


class InHand(NamedTuple):
    """What remote fetches from a broker brought and the reader has not taken: from its position up to `end`."""

    broker: int
    end: int


@dataclass
class Stretch:
    """Consecutive rounds in which nothing could be read by one cause; [from_offset, to_offset) is what there was."""

    cause: str
    broker: int | None
    from_round: int
    last_round: int
    from_offset: int
    to_offset: int


@dataclass
class Reader:
    """One group's reading of a partition; `leader` is the (broker, epoch) that the position was checked against.

    `replica` is whom it asks until `replica_until`, None: the leader. `reset_cause` says why the position must be reset.
    `misled`: a check by offset alone passed, though the leader has not the position's epoch. `refused` is for invariants:
    (round, cause, position) of the last one that could not be read. `dealt_last` is when it was last dealt a request: the
    round, and how many its broker had dealt out by then (0 if nobody came short there).
    """

    group: str
    position: int | None = None
    epoch: int | None = None
    leader: tuple[int, int] | None = None
    replica: int | None = None
    replica_until: int = 0
    reset_cause: str | None = None
    stopped: str | None = None
    dealt_last: tuple[int, int] = (-1, 0)
    in_hand: InHand | None = None
    first_position: int | None = None
    misled: bool = False
    refused: tuple[int, str, int] | None = None
    max_lag: int = 0
    stretch: Stretch | None = None
    counts: Counter[str] = field(default_factory=Counter)
    waited_rounds: Counter[str] = field(default_factory=Counter)
    unread: list[Unread] = field(default_factory=list)
    taken: list[Taken] = field(default_factory=list)
    answer: str | None = None

    def start_at(self, position: int) -> None:
        """Take a first position, which has no epoch."""
        self.position = self.first_position = position
        self.epoch, self.answer = None, "started"

    def reset_to(self, position: int, log_end: int, now: int) -> None:
        """Take another position instead of one that can't be read, and account for what lies between."""
        assert self.position is not None and self.reset_cause is not None
        old, cause = self.position, self.reset_cause
        self.counts["resets"] += 1
        if position > old:
            self.counts["skipped"] += position - old
            self.note("skip", now, now, old, position, cause, None)
        self.counts["read_again"] += max(0, min(old, log_end) - position)
        if self.epoch is not None:
            self.lose(log_end, now, cause)
        self.position, self.epoch, self.reset_cause, self.in_hand = position, None, None, None
        self.answer = "reset"

    def lose(self, end: int, now: int, cause: str) -> None:
        """What was read from `end` on is not in the leader's log any more."""
        assert self.position is not None
        if end < self.position:
            self.counts["read_lost"] += self.position - end
            self.note("loss", now, now, end, self.position, cause, None)

    def held_to(self, broker: int) -> int:
        """Up to where a read of the broker has its records in hand; the position if there are none."""
        assert self.position is not None
        hand = self.in_hand
        return self.position if hand is None or hand.broker != broker else max(self.position, hand.end)

    def take(self, taken: Taken, size_bytes: int) -> None:
        """Read records: the position moves behind them."""
        records, source = taken.records, taken.source
        self.taken.append(taken)
        self.position, self.epoch = records[-1][1] + 1, records[-1][0]
        self.counts["records"] += len(records)
        self.counts[f"{source}_bytes"] += size_bytes
        self.counts[f"{source}_requests"] += taken.requests
        self.answer = source

    def wait(self, cause: str, broker: int | None, now: int, to_offset: int) -> None:
        """Nothing can be read in this round, though there is something up to `to_offset`, or it has not started yet."""
        self.answer = cause
        if self.position is None:
            self.waited_rounds[cause] += 1
            return
        if to_offset <= self.position:
            return
        begun = self.stretch
        if begun is None or (begun.cause, begun.broker, begun.last_round) != (cause, broker, now - 1):
            self.end_stretch()
            begun = self.stretch = Stretch(cause, broker, now, now, self.position, to_offset)
        begun.last_round, begun.to_offset = now, to_offset
        self.waited_rounds[cause] += cause not in COMMIT_DELAY or begun.from_round < now

    def end_stretch(self) -> None:
        """It can read again, or the run is over."""
        stretch, self.stretch = self.stretch, None
        if stretch is None or (stretch.cause in COMMIT_DELAY and stretch.from_round == stretch.last_round):
            return
        first = stretch.from_round + (stretch.cause in COMMIT_DELAY)
        self.note("stretch", first, stretch.last_round, stretch.from_offset, stretch.to_offset, stretch.cause, stretch.broker)

    def note(
        self, kind: str, from_round: int, last_round: int, from_offset: int, to_offset: int, cause: str, broker: int | None
    ) -> None:
        """Write a row of `unread`."""
        self.unread.append(Unread(self.group, kind, from_round, last_round + 1, from_offset, to_offset, cause, broker))
