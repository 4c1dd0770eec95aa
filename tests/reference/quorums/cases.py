"""What a group plays: its protocol, settings, workload and faults, and what the reference has to say of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Fault(NamedTuple):
    """A row of a scenario's faults, [from_round, to_round); its place in the list is its fault_id.

    `rounds`: of a slow_link's trip; `rack`: of a rack_isolation or rack_loss, which takes the power as well with `power`.
    """

    kind: str
    from_round: int
    to_round: int
    broker: int | None = None
    peer: int | None = None
    direction: str = "both"
    clients: bool = False
    rounds: int = 0
    rack: str | None = None
    power: bool = False

    @property
    def of_server(self) -> str:
        """What it is for each server that it concerns."""
        if self.kind == "rack_loss":
            return "power_loss" if self.power else "broker_crash"
        return "isolation" if self.kind == "rack_isolation" else self.kind


@dataclass(frozen=True)
class Case:
    """One group, its servers being brokers 0 to copies - 1. `workload`: (first round, records a round), ascending.

    `racks`: which each server is in; in none where there is no more of it.

    `first_members`: so many servers are members at the start, None: all; `changes`: (round, the members asked for from then on).

    `flush_rounds`: of every so many what is written is on disk at its end, with a fraction of the one that has passed a multiple.

    `transfers`: rounds in which the leader is asked to hand over to server 0.

    Of hdfs-journal, the keys of its page in rounds: `health_rounds` (health-monitor.check-interval), `fence_rounds`
    (graceful-fence.rpc-timeout), `connect_rounds` (connect.timeout), `answer_rounds` (ipc.client.rpc-timeout, 0: never),
    `write_rounds` (write-txns.timeout); `queue_limit`: entries for queued-edits.limit.mb.

    `lacking`: the guards that a mutant is without, as docs/quorum_rounds.md has them under Mutants.
    """

    protocol: str
    copies: int
    rounds: int
    acks: int = 0
    compared: int = 0
    timeout_rounds: int = 4
    lease_rounds: int = 0
    jitter_rounds: int = 4
    pre_vote: bool = False
    check_quorum: bool = False
    max_entries: int | None = None
    flush_rounds: float = 1
    fsync_rounds: int = 0
    records_limit: int | None = None
    delay_rounds: int = 0
    delay_percent: int = 0
    delay_shape: str = "uniform"
    roll_rounds: int = 240
    health_rounds: int = 2
    fence_rounds: int = 10
    connect_rounds: int = 40
    answer_rounds: int = 240
    queue_limit: int = 10_485
    write_rounds: int = 40
    seed: int = 1
    number: int = 0
    workload: tuple[tuple[int, int], ...] = ((0, 1),)
    faults: tuple[Fault, ...] = ()
    racks: tuple[str, ...] = ()
    first_members: int | None = None
    changes: tuple[tuple[int, tuple[int, ...]], ...] = ()
    one_at_a_time: bool = False
    transfers: tuple[int, ...] = ()
    lacking: frozenset[str] = field(default_factory=frozenset)

    def rack_of(self, server: int) -> str | None:
        """The rack that a server is in."""
        return self.racks[server] if server < len(self.racks) else None


class Event(NamedTuple):
    """As a row of `events`; None: null."""

    round: int
    kind: str
    broker: int
    term: int | None
    from_entry: int | None
    to_entry: int | None
    cause: int | None


class Violation(NamedTuple):
    """An invariant that broke, the server that shows it, another one that does, the first entry that does."""

    round: int
    invariant: str
    broker: int
    other: int | None
    entry: int | None


VOTER_RESTARTS = (
    Fault("link_cut", 4, 6, 0, 2),
    Fault("broker_crash", 6, 8, 2),
    Fault("broker_crash", 6, 10, 0),
    Fault("isolation", 10, 20, 1),
    Fault("broker_crash", 10, 11, 2),
)
"""Server 1 leads the second term by the vote of server 2, which restarts and is asked by server 0 for that term once more."""
