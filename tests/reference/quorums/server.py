"""A server of a group: what is on its disk, and what is in its memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

FOLLOWER, CANDIDATE, LEADER = "follower", "candidate", "leader"


class Configuration(NamedTuple):
    """The members; of a joint configuration those before it, and those to be; else twice the same."""

    before: frozenset[int]
    members: frozenset[int]


class Entry(NamedTuple):
    """An entry: its term, the number of the election that made its leader (0: the first leader's), whether it is a record."""

    term: int
    election: int
    is_record: bool
    configuration: Configuration | None = None


@dataclass
class Follower:
    """What a leader knows of another server; `is_waiting`, `took`: of hdfs-journal, a call or an answer that is late."""

    next_entry: int
    match: int
    answered: int | None
    joined: int | None = None
    in_sync: bool = True
    is_waiting: bool = False
    took: int = 0
    catch_up_to: int = 0
    catch_up_from: int = 0
    end_then: int | None = None
    has_caught_up: bool = False


class Request(NamedTuple):
    """A leader's entries under way to another server, as they were when it sent them; to itself: what its disk takes.

    A fetch is of no election, begins where its sender's log ends, and has the sender's term.
    """

    sender: int
    receiver: int
    election: int | None
    arrives: int
    previous: int
    previous_term: int
    entries: tuple[Entry, ...]
    commit: int
    sent: int = 0


@dataclass
class Server:
    """One replica.

    Of hdfs-journal's writers: `closed_segment` began before the one that is written, `puts_off`: a roll in this round, `waited`
    since that round for a majority, `has_ended` as a writer since it got the lock; whom it `fences`, whether it `has_fenced`,
    when it got the lock (`locked_in`), and whether it reached that one then.
    """

    id: int
    log: list[Entry] = field(default_factory=list)
    term: int = 1
    vote: int | None = 0
    flushed: int = 0
    role: str = FOLLOWER
    commit: int = 0
    heard: int = 0
    heard_leader: int | None = 0
    stood: int = 0
    followers: dict[int, Follower] = field(default_factory=dict)
    election: int = -1
    synced: int = 0
    members: frozenset[int] = frozenset()
    joining: frozenset[int] = frozenset()
    to_join: set[int] = field(default_factory=set)
    leader: int | None = 0
    log_term: int = 1
    segment: int = 0
    finalized: bool = False
    accepted: int = 0
    stage: int = 0
    chosen: int = 0
    segment_round: int = 0
    closed_segment: int = 0
    puts_off: bool = False
    waited: int = 0
    has_ended: bool = False
    fences: int = 0
    has_fenced: bool = True
    locked_in: int = 0
    was_reached: bool = True
    told: set[int] = field(default_factory=set)
    changes: set[int] = field(default_factory=set)
    handing_over_since: int | None = None
    told_in: int | None = None
    is_told: bool = False
    is_down: bool = False
    is_closed: bool = False
    is_paused: bool = False
    is_isolated: bool = False
    rack: str | None = None
    is_cut_off_with_rack: bool = False
    has_clients: bool = True
    cause: int | None = None

    @property
    def runs(self) -> bool:
        """Whether its process does something."""
        return not self.is_down and not self.is_paused

    @property
    def follows(self) -> bool:
        """Whether it knows a leader and is not that itself, of KRaft and as long as it does not lead."""
        return self.role != LEADER and self.leader not in (None, self.id)

    @property
    def has_resigned(self) -> bool:
        """Whether it knows itself as a leader that it is no more, of KRaft."""
        return self.role != LEADER and self.leader == self.id

    @property
    def is_heard(self) -> bool:
        """Whether it runs, and others hear of it."""
        return self.runs and not self.is_isolated

    def completeness(self) -> tuple[int, int]:
        """What the logs of candidates are compared by."""
        return (self.log[-1].term if self.log else 0, len(self.log))

    def term_before(self, end: int) -> int:
        """The term of the entry before an end, 0 at the log's start."""
        return self.log[end - 1].term if end else 0

    def largest_end(self, limit: int, term: int) -> int:
        """The largest end, not above a limit, whose last entry is of no later term; 0: none."""
        ends = [end for end in range(1, min(limit, len(self.log)) + 1) if self.log[end - 1].term <= term]
        return max(ends, default=0)

    def truncate(self, end: int) -> None:
        """Cut the log."""
        del self.log[end:]
        self.flushed, self.commit = min(self.flushed, end), min(self.commit, end)
