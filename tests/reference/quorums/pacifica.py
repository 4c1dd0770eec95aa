"""PacificA, as the page has it: leases and grace periods, the configuration manager, candidates, commits by all."""

from __future__ import annotations

from tests.reference.quorums.group import Group
from tests.reference.quorums.replicate import replicate
from tests.reference.quorums.server import LEADER, Server


def play_pacifica_round(group: Group) -> None:
    """A round."""
    acked_before = group.counts["acked"]
    group.take_inputs()
    group.elector_was_up = not any(f.kind == "controller_loss" and group.in_force(f) for f in group.case.faults)
    for primary in primaries(group):
        renew(group, primary)
    for server in group.servers:
        take_over(group, server)
    group.append()
    replicate(group)
    for primary in primaries(group):
        add(group, primary)
    for primary in primaries(group):
        commit(group, primary)
    check(group)
    group.end_round(acked_before)
    group.round += 1


def primaries(group: Group) -> list[Server]:
    """Who thinks that it is one, and runs."""
    return [server for server in group.servers if server.role == LEADER and server.runs]


def is_heard(group: Group, server: Server) -> bool:
    """Whether the manager hears a server."""
    return group.elector_was_up and server.is_heard


def lease(group: Group) -> int:
    """Rounds of a lease."""
    return group.case.lease_rounds or group.case.timeout_rounds


def answers(group: Group, primary: Server, number: int) -> bool:
    """Whether a primary holds a lease of another server."""
    answered = primary.followers[number].answered
    return answered is not None and group.round - answered < lease(group)


def renew(group: Group, primary: Server) -> None:
    """Those of whom there is no lease go, or the primary does."""
    gone = {number for number in primary.followers if not answers(group, primary, number)}
    primary.joining -= gone
    if primary.members & gone:
        if is_heard(group, primary):
            propose(group, primary, primary.members - gone)
        elif not group.lacks("leases_expire"):
            group.follow(primary)


def take_over(group: Group, server: Server) -> None:
    """A secondary after its grace period, or a primary that is none any more, wants to be the primary."""
    if server.role == LEADER or server.id not in server.members or not is_heard(group, server):
        return
    is_own = server.vote == server.id
    if not is_own and group.round - server.heard < group.case.timeout_rounds:
        return
    members = server.members if is_own else server.members - {server.vote}
    if propose(group, server, frozenset(members)):
        group.lead(server)
        server.joining = frozenset()
        for number, follower in server.followers.items():
            if number not in server.members:
                follower.answered = None


def propose(group: Group, server: Server, members: frozenset[int]) -> bool:
    """The manager takes what comes from who knows the version in force."""
    if server.term != group.version and not group.lacks("check_version"):
        group.follow(server)
        server.term, server.members, server.vote, server.heard = group.version, group.members, group.primary, group.round
        return False
    for number in range(group.case.copies):
        other = group.servers[number]
        if number in group.members - members:
            group.tell("isr_shrink", other, group.version + 1, None, None, other.cause)
        if number in members - group.members:
            group.tell("isr_expand", other, group.version + 1, None, None, server.cause)
    group.counts["isr_shrinks"] += len(group.members - members)
    group.counts["isr_expands"] += len(members - group.members)
    group.version, group.members, group.primary = group.version + 1, members, server.id
    server.term, server.members, server.vote = group.version, members, server.id
    return True


def add(group: Group, primary: Server) -> None:
    """Candidates that have caught up become secondaries."""
    ready = set()
    for number, follower in primary.followers.items():
        if number in primary.members or not answers(group, primary, number):
            continue
        if follower.next_entry >= len(primary.log):
            primary.joining |= {number}
        has_all = number in primary.joining and follower.match >= primary.commit
        if has_all or group.lacks("catch_up_first"):
            ready.add(number)
    if ready and is_heard(group, primary) and propose(group, primary, primary.members | ready):
        primary.joining -= ready


def commit(group: Group, primary: Server) -> None:
    """What all replicas have prepared is committed."""
    at_home = primary.synced if group.case.fsync_rounds else len(primary.log)
    waited_for = () if group.lacks("all_prepared") else (primary.members | primary.joining) - {primary.id}
    end = min([at_home, *(primary.followers[number].match for number in waited_for)])
    if end > primary.commit:
        primary.commit = end
        group.note_committed(primary)


def check(group: Group) -> None:
    """PrimaryInvariant; CommitInvariant: committed of a replica is within committed of the primary, which is within prepared."""
    broken: dict[str, tuple[Server, int | None]] = {}
    for server in primaries(group):
        if server.id != group.primary:
            broken["PrimaryInvariant"] = (server, None)
            continue
        first = 0 if server.election == 0 else next(n for n, e in enumerate(server.log) if e.election == server.election)
        if server.election > 0 and server.commit <= first:
            continue
        for number in sorted(server.members - {server.id}):
            replica = group.servers[number]
            terms = [entry.term for entry in replica.log]
            unlike = [n for n in range(server.commit) if n >= len(terms) or terms[n] != server.log[n].term]
            wrong = unlike[0] if unlike else server.commit if replica.commit > server.commit else None
            if wrong is not None:
                broken.setdefault("CommitInvariant", (replica, wrong))
    for name in ("PrimaryInvariant", "CommitInvariant"):
        if name in broken and name not in group.broken:
            replica, entry = broken[name]
            group.violate(name, replica, group.primary, entry)
    group.broken = set(broken)
