"""A group round by round: inputs, append, commit, what is seen and counted; its requests are in requests.py and replicate.py."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.reference.quorums.cases import Case, Event, Fault, Violation
from tests.reference.quorums.draws import trip_of
from tests.reference.quorums.server import FOLLOWER, LEADER, Entry, Follower, Request, Server

STRENGTH = (
    "disk_loss", "power_loss", "broker_crash", "controlled_shutdown", "broker_pause", "isolation", "link_cut",
)  # fmt: skip
"""The strongest first."""
DEATHS = STRENGTH[:4]
NAMES = {
    "zab": {
        "ElectionSafety": "Leadership2",
        "LeaderCompleteness": "PrimaryIntegrity",
        "StateMachineSafety": "PrefixConsistency",
    },
    "viewstamped": {"StateMachineSafety": "NoLogDivergence"},
    "kraft": {"ElectionSafety": "SingleLeader", "StateMachineSafety": "ConsistentCommittedData"},
}
"""What a protocol's paper calls Raft's invariants."""
OF_CONFIGURATIONS = ("isr_shrinks", "isr_expands", "under_replicated_rounds")


@dataclass
class Group:
    """The state of a group and what it told so far. `committed`: by (number, entry) who committed first."""

    case: Case
    servers: list[Server] = field(default_factory=list)
    round: int = 0
    events: list[Event] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    elections: list[tuple[int, int, int | None]] = field(default_factory=list)
    committed: set[tuple[int, Entry]] = field(default_factory=set)
    acked_entries: set[tuple[int, Entry]] = field(default_factory=set)
    lacked: set[tuple[int, Entry]] = field(default_factory=set)
    is_damaged: bool = False
    elector_heard: int = 0
    elector_was_up: bool = True
    served: int | None = None
    logs_differed: bool = False
    commits_seen: list[int] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    version: int = 1
    members: frozenset[int] = frozenset()
    primary: int = 0
    broken: set[str] = field(default_factory=set)
    under_way: list[Request] = field(default_factory=list)
    appended_in: dict[tuple[int, Entry], int] = field(default_factory=dict)
    latencies: dict[int, int] = field(default_factory=dict)
    starts: list[int] = field(default_factory=lambda: [0])
    high_watermark: int = 0
    cuts: list[Fault] = field(default_factory=list)
    ended: set[tuple[int, Entry]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.servers = [Server(number) for number in range(self.case.copies)]
        for server in self.servers:
            server.rack = self.case.rack_of(server.id)
        first = self.servers[0]
        first.role, first.election = LEADER, 0
        first.followers = {other.id: Follower(0, 0, 0) for other in self.servers[1:]}
        self.elections.append((1, 0, None))
        self.commits_seen = [0] * self.case.copies
        everybody = frozenset(range(self.case.copies))
        self.version, self.members, self.primary = 1, everybody, 0
        for server in self.servers:
            server.members = everybody
        names = ("appended", "acked", "truncated", "elections", "campaigns", "leaderless_rounds", "unwritable_rounds")
        self.counts = dict.fromkeys((*names, "unacked_rounds", "sent_entries", "refused", *OF_CONFIGURATIONS), 0)

    def lacks(self, guard: str) -> bool:
        """Whether the case is a mutant without a guard."""
        return guard in self.case.lacking

    # Inputs

    def in_force(self, fault: Fault) -> bool:
        """Whether a fault holds in this round."""
        return fault.from_round <= self.round < fault.to_round

    def take_inputs(self) -> None:
        """Step 1."""
        there = [(n, f) for n, f in enumerate(self.case.faults) if self.in_force(f)]
        self.cuts = [f for _, f in there if f.kind == "link_cut"]
        for server in self.servers:
            own = [(n, f) for n, f in there if self.strikes(f, server)]
            if own:
                server.cause = min(own, key=lambda one: (strength(one[1]), one[0]))[0]
            was_down, server.is_down = server.is_down, any(f.of_server in DEATHS for _, f in own)
            server.is_closed = server.is_down and not any(f.of_server == "power_loss" for _, f in own)
            server.is_paused = any(f.kind == "broker_pause" for _, f in own)
            isolations = [f for _, f in own if f.of_server == "isolation"]
            server.is_cut_off_with_rack = {f.kind for f in isolations} == {"rack_isolation"}
            server.is_isolated, server.has_clients = bool(isolations), not any(f.clients for f in isolations)
            if server.is_down and not was_down:
                server.role, server.commit, server.heard_leader, server.joining = FOLLOWER, 0, None, frozenset()
                server.handing_over_since = None
            if was_down and not server.is_down:
                server.heard = self.round
                if self.lacks("keep_vote"):
                    server.vote = server.leader = None
            if self.case.protocol == "viewstamped":
                continue
            begun = {f.of_server for _, f in own if f.from_round == self.round}
            self.damage(server, begun)

    @staticmethod
    def strikes(fault: Fault, server: Server) -> bool:
        """Whether a fault concerns a server; a slow link takes nothing from anybody."""
        if fault.rack is not None:
            return fault.rack == server.rack
        return fault.kind != "slow_link" and server.id in (fault.broker, fault.peer if fault.kind == "link_cut" else None)

    def damage(self, server: Server, begun: set[str]) -> None:
        """What goes with the power or the disk."""
        end = len(server.log)
        if "disk_loss" in begun:
            self.is_damaged |= end > 0 or server.term > 0
            server.log, server.flushed, server.term, server.vote, server.members = [], 0, 0, None, frozenset()
        elif "power_loss" in begun:
            server.truncate(server.flushed)
            self.is_damaged |= len(server.log) < end
        if len(server.log) < end:
            self.tell("log_damaged", server, None, len(server.log), end, server.cause)

    def trip(self, sender: Server, receiver: Server) -> int:
        """Rounds from a request that is sent now to its answer."""
        slow = []
        for f in self.case.faults:
            if f.kind == "slow_link" and self.in_force(f):
                out = f.broker == sender.id and f.peer in (None, receiver.id) and f.direction != "in"
                into = f.broker == receiver.id and f.peer in (None, sender.id) and f.direction != "out"
                slow += [f.rounds] if out or into else []
        delay = max(slow, default=self.case.delay_rounds)
        return trip_of(self.case, self.round, sender.id, receiver.id, delay)

    def gets_through(self, sender: Server, receiver: Server) -> bool:
        """Whether a message arrives."""
        return sender.runs and receiver.runs and self.is_open(sender, receiver)

    def is_open(self, sender: Server, receiver: Server) -> bool:
        """Whether nothing is in the way of messages."""
        if (sender.is_isolated or receiver.is_isolated) and not are_rack_mates(sender, receiver):
            return False
        out = any((f.broker, f.peer) == (sender.id, receiver.id) and f.direction in ("both", "out") for f in self.cuts)
        into = any((f.broker, f.peer) == (receiver.id, sender.id) and f.direction in ("both", "in") for f in self.cuts)
        return not out and not into

    # Terms

    def take_term(self, server: Server, term: int) -> None:
        """A server follows in a newer term; in KRaft the timer starts of one that loses its leader with that."""
        if self.case.protocol == "kraft" and server.follows:
            server.heard = self.round
        self.follow(server)
        server.term, server.vote, server.leader = term, None, None

    def follow(self, server: Server) -> None:
        """A server is a follower; of one that led the timer starts."""
        if server.role == LEADER:
            self.tell("step_down", server, server.term, None, None, server.cause)
            if self.case.protocol in ("raft", "kraft"):
                server.heard = self.round
        server.role, server.handing_over_since = FOLLOWER, None

    def lead(self, server: Server, anew: bool = True) -> None:
        """A server is the leader of its term; `anew`: it knows nothing of the others yet, and appends an empty entry."""
        before = self.servers[self.elections[-1][1]]
        cause = before.cause if before.cause is not None else server.cause
        same_term = [leader for term, leader, _ in self.elections if term == server.term]
        if same_term:
            self.violate("ElectionSafety", server, same_term[0], None)
        has = set(enumerate(server.log))
        lacks = self.committed - has
        if lacks:
            name = "ReconfigurationInvariant" if self.case.protocol == "pacifica" else "LeaderCompleteness"
            self.violate(name, server, None, min(number for number, _ in lacks))
        for election in range(len(self.elections)):
            for kind, kept in (("committed_lost", self.committed), ("acked_lost", self.acked_entries)):
                own = {(n, e) for n, e in (kept & lacks) - self.lacked if e.election == election}
                lost = {n for n, e in own if e.is_record or e.configuration}
                for begin, end in stretches(lost):
                    self.tell(kind, server, server.term, begin, end, cause)
        self.lacked = lacks
        end = len(server.log)
        self.tell("election", server, server.term, end, None, cause)
        server.role, server.election = LEADER, len(self.elections)
        self.elections.append((server.term, server.id, cause))
        self.starts.append(end)
        server.leader = server.id
        if anew:
            server.synced, server.joining = 0, frozenset()
            server.followers = {s.id: Follower(end, 0, self.round) for s in self.servers if s is not server}
            server.log.append(Entry(server.term, server.election, False))
        self.counts["elections"] += 1

    # The rest of a round

    def leader_of_clients(self) -> Server | None:
        """Who gets what clients send."""
        leaders = [s for s in self.servers if s.role == LEADER and s.runs and s.has_clients]
        return max(leaders, key=lambda server: (server.term, -server.id), default=None)

    def records(self) -> int:
        """What clients have to send in this round."""
        return [records for first, records in self.case.workload if first <= self.round][-1]

    def append(self) -> None:
        """Step 3."""
        leader = self.leader_of_clients()
        if leader is not None and leader.handing_over_since is None:
            new = Entry(self.elections[leader.election][0], leader.election, True)
            offered, limit = self.records(), self.case.records_limit
            taken = offered if limit is None or offered < limit else limit
            self.counts["refused"] += offered - taken
            for _ in range(taken):
                self.appended_in[len(leader.log), new] = self.round
                leader.log.append(new)
            self.counts["appended"] += taken

    def commit(self, acks: int) -> None:
        """Step 5."""
        for leader in self.servers:
            if leader.role != LEADER or not leader.runs:
                continue
            at_home = leader.synced if self.case.fsync_rounds else len(leader.log)
            matches = [at_home, *(follower.match for follower in leader.followers.values())]
            self.commit_to(leader, sorted(matches, reverse=True)[acks - 1])

    def commit_to(self, leader: Server, end: int) -> None:
        """A leader has an end matched."""
        if end > leader.commit and (leader.term_before(end) == leader.term or self.lacks("own_term_commits")):
            leader.commit = end
            self.note_committed(leader)

    def note_committed(self, leader: Server) -> None:
        """What a leader has committed; records of its own are acknowledged with that."""
        done = set(enumerate(leader.log[: leader.commit]))
        self.committed |= done
        own = {(number, entry) for number, entry in done if entry.election == leader.election}
        for number, entry in own - self.acked_entries:
            if entry.is_record:
                self.counts["acked"] += 1
                waited = bucket(self.round - self.appended_in[number, entry])
                self.latencies[waited] = self.latencies.get(waited, 0) + 1
        self.acked_entries |= own

    # What is seen and counted

    def end_round(self, acked_before: int) -> None:
        """Step 6."""
        flush = self.case.flush_rounds
        for server in self.servers:
            if flush and self.round % flush < 1 and server.runs:
                is_late = self.case.fsync_rounds and server.role == LEADER
                server.flushed = max(server.flushed, server.synced) if is_late else len(server.log)
        self.check_log_matching()
        self.check_committed()
        leader, unacked = self.leader_of_clients(), 0
        if leader is None:
            self.counts["leaderless_rounds"] += 1
            if self.served is not None:
                was = self.servers[self.served]
                self.tell("leader_lost", was, was.term, None, None, was.cause)
        else:
            own = {(n, e) for n, e in enumerate(leader.log) if e.election == leader.election and e.is_record}
            unacked = len(own - self.acked_entries)
        self.served = None if leader is None else leader.id
        self.counts["unacked_rounds"] += unacked
        self.counts["under_replicated_rounds"] += len(self.members) < self.case.copies
        if self.counts["acked"] == acked_before and (unacked or self.records()):
            self.counts["unwritable_rounds"] += 1

    def check_log_matching(self) -> None:
        """Two logs that have an entry of one number and term are the same up to there."""
        differed, first = self.logs_differed, None
        for one in self.servers:
            for other in self.servers[one.id + 1 :]:
                both = min(len(one.log), len(other.log))
                if one.log[:both] == other.log[:both]:
                    continue
                shared = [n for n, (a, b) in enumerate(zip(one.log, other.log, strict=False)) if a.term == b.term]
                below = range(max(shared, default=-1) + 1)
                wrong = next((n for n in below if one.log[n] != other.log[n]), None)
                if wrong is not None and first is None:
                    first = (one, other.id, wrong)
        self.logs_differed = first is not None
        if first is not None and not differed:
            self.violate("LogMatching", *first)

    def check_committed(self) -> None:
        """What a server newly knows as committed was committed by a leader, and no other entry with that number."""
        committed: dict[int, set[Entry]] = {}
        for number, entry in self.committed:
            committed.setdefault(number, set()).add(entry)
        for server in self.servers:
            seen, self.commits_seen[server.id] = self.commits_seen[server.id], server.commit
            for number in range(seen, server.commit):
                if committed.get(number, set()) != {server.log[number]}:
                    self.violate("StateMachineSafety", server, None, number)
                    break

    def lost(self) -> dict[str, int]:
        """Records that the log of the leader elected last lacks at the end."""
        server = self.servers[self.elections[-1][1]]
        if server.role == "recovering":
            server = max(self.servers, key=lambda one: (one.log_term, len(one.log)))
        has = set(enumerate(server.log))
        kept = {"committed_lost": self.committed, "acked_lost": self.acked_entries}
        return {name: sum(entry.is_record for _, entry in entries - has) for name, entries in kept.items()}

    def tell(self, kind: str, server: Server, term: int | None, begin: int | None, end: int | None, cause: int | None) -> None:
        """Write an event down."""
        self.events.append(Event(self.round, kind, server.id, term, begin, end, cause))

    def violate(self, invariant: str, server: Server, other: int | None, entry: int | None) -> None:
        """Write a violation down; nothing is promised once a disk lost something."""
        invariant = NAMES.get(self.case.protocol, {}).get(invariant, invariant)
        if not self.is_damaged:
            self.violations.append(Violation(self.round, invariant, server.id, other, entry))


def strength(fault: Fault) -> int:
    """How strong a fault of a server is: its place among kinds."""
    return STRENGTH.index(fault.of_server)


def are_rack_mates(one: Server, other: Server) -> bool:
    """Whether two servers are cut off together, with their rack and by nothing else."""
    return one.rack == other.rack and one.is_cut_off_with_rack and other.is_cut_off_with_rack


def bucket(rounds: int) -> int:
    """The least latency that is counted with one: itself below 64, then eight buckets to a power of two."""
    power = 64
    while rounds >= 2 * power:
        power *= 2
    return rounds if rounds < 64 else power + (rounds - power) // (power // 8) * (power // 8)


def stretches(numbers: set[int]) -> list[tuple[int, int]]:
    """Numbers as ascending stretches [begin, end)."""
    begins = sorted(n for n in numbers if n - 1 not in numbers)
    ends = sorted(n + 1 for n in numbers if n + 1 not in numbers)
    return list(zip(begins, ends, strict=True))
