"""Zab, as its page has it: discovery, synchronization, broadcast; histories entry by entry."""

from __future__ import annotations

from tests.reference.quorums.group import Group
from tests.reference.quorums.requests import drop, exchange
from tests.reference.quorums.server import CANDIDATE, FOLLOWER, LEADER, Follower, Request, Server


def play_zab_round(group: Group) -> None:
    """A round."""
    acked_before = group.counts["acked"]
    was_down = [server.is_down for server in group.servers]
    group.take_inputs()
    for server, before in zip(group.servers, was_down, strict=True):
        begin_or_end(group, server, before)
    for server in group.servers:
        leave(group, server)
    discover(group)
    for leader in group.servers:
        if leader.leader == leader.id and leader.runs:
            synchronize(group, leader)
    group.append()
    broadcast(group)
    group.commit(quorum(group))
    check_order(group)
    group.end_round(acked_before)
    group.round += 1


def quorum(group: Group) -> int:
    """How many are one."""
    return group.case.copies // 2 + 1


def begin_or_end(group: Group, server: Server, was_down: bool) -> None:
    """What a process that ends or begins, and a disk that is lost, mean for a leader and for promises."""
    if server.is_down and not was_down:
        server.leader = None
    if was_down and not server.is_down and group.lacks("keep_vote"):
        server.term = server.log_term
    if server.term == 0:
        server.log_term = 0


def leave(group: Group, server: Server) -> None:
    """A server without its leader, or a leader without a quorum, looks for one."""
    if not server.runs or server.leader is None:
        return
    if server.leader != server.id:
        is_silent = group.round - server.heard >= group.case.timeout_rounds
        if is_silent or sees_closed(group, server, group.servers[server.leader]):
            server.leader = None
        return
    open_to = {n: f for n, f in server.followers.items() if not sees_closed(group, server, group.servers[n])}
    answers = [f.answered for f in open_to.values() if f.answered is not None]
    if 1 + sum(group.round - answered < group.case.timeout_rounds for answered in answers) < quorum(group):
        abandon(group, server)


def sees_closed(group: Group, server: Server, other: Server) -> bool:
    """Whether a server sees that another one's process is gone."""
    return other.is_closed and group.is_open(other, server)


def abandon(group: Group, leader: Server) -> None:
    """A leader gives up."""
    if leader.role == CANDIDATE:
        group.tell("campaign", leader, leader.term, None, None, leader.cause)
        group.counts["campaigns"] += 1
        leader.role = FOLLOWER
    group.follow(leader)
    leader.leader = None


def looks(server: Server) -> bool:
    """Whether a server looks for a leader."""
    return server.runs and server.leader is None


def talks(group: Group, one: Server, other: Server) -> bool:
    """Whether two get each other's messages."""
    return one is other or (group.gets_through(one, other) and group.gets_through(other, one))


def discover(group: Group) -> None:
    """Phase 1."""
    for server in group.servers:
        if looks(server):
            leaders = [s for s in group.servers if s is not server and s.leader == s.id and talks(group, server, s)]
            leader = max(leaders, key=lambda s: (s.term, -s.id), default=None)
            if leader is not None and server.term > leader.term:
                abandon(group, leader)
            elif leader is not None:
                server.term = leader.term
                attach(group, server, leader)
    around = [group.servers[(group.round + step) % group.case.copies] for step in range(group.case.copies)]
    named: dict[int, list[Server]] = {}
    for server in group.servers:
        if looks(server):
            first = next(s for s in around if looks(s) and talks(group, server, s))
            named.setdefault(first.id, []).append(server)
    for number, voters in sorted(named.items()):
        leader = group.servers[number]
        if leader in voters and len(voters) >= quorum(group):
            begin_epoch(group, leader, voters)


def attach(group: Group, server: Server, leader: Server) -> None:
    """A server follows a leader in the epoch that it acknowledged."""
    server.leader, server.heard = leader.id, group.round
    known = leader.followers[server.id]
    known.joined, known.answered, known.in_sync = group.round, group.round, False
    drop(group, leader, server)


def recency(group: Group, server: Server) -> tuple[int, ...]:
    """What histories are compared by."""
    return server.completeness() if group.lacks("current_epoch_first") else (server.log_term, *server.completeness())


def begin_epoch(group: Group, leader: Server, voters: list[Server]) -> None:
    """NEWEPOCH, ACK-E, and the best history becomes the leader's."""
    epoch = max(server.term for server in voters) + 1
    best = leader
    for server in voters:
        if not group.lacks("compare_logs") and recency(group, server) > recency(group, best):
            best = server
    match = {number: known.next_entry for number, known in leader.followers.items()}
    leader.followers = {s.id: Follower(match.get(s.id, 0), 0, None, None, False) for s in group.servers if s is not leader}
    for server in voters:
        server.term = epoch
        if server is not leader:
            attach(group, server, leader)
    leader.role, leader.leader = CANDIDATE, leader.id
    if best is not leader:
        take_history(group, leader, best)
    leader.log_term = epoch


def take_history(group: Group, server: Server, source: Server, up_to: int | None = None) -> None:
    """A server's history becomes another one's, or what of that was sent."""
    both = list(zip(server.log, source.log, strict=False))
    common = next((n for n, (own, its) in enumerate(both) if own != its), len(both))
    if common < len(server.log) and not group.lacks("cut_history"):
        if common < server.commit:
            group.violate("StateMachineSafety", server, None, common)
        before = group.servers[group.elections[-1][1]]
        new = before.cause if before.cause is not None else server.cause
        cause = group.elections[source.election][2] if source.role == LEADER else new
        group.tell("truncate", server, server.term, len(server.log), common, cause)
        group.counts["truncated"] += len(server.log) - common
        server.truncate(common)
    missing = source.log[len(server.log) : up_to]
    server.log += missing
    group.counts["sent_entries"] += len(missing)


def synchronize(group: Group, leader: Server) -> None:
    """Phase 2 of one leader."""
    for server in group.servers:
        known = leader.followers.get(server.id)
        if known is None or known.in_sync or known.joined is None or known.joined >= group.round:
            continue
        if not group.gets_through(leader, server) or server.leader != leader.id or server.term != leader.term:
            continue
        server.heard = group.round
        take_history(group, server, leader)
        server.log_term = leader.term
        if group.gets_through(server, leader):
            end = len(leader.log)
            known.in_sync, known.match, known.next_entry, known.answered = True, end, end, group.round
    in_sync = 1 + sum(known.in_sync for known in leader.followers.values())
    if leader.role == CANDIDATE and (in_sync >= quorum(group) or group.lacks("acks_of_new_leader")):
        group.lead(leader, anew=False)
        leader.synced = len(leader.log)
        if len(leader.log) > leader.commit:
            leader.commit = len(leader.log)
            group.note_committed(leader)


def broadcast(group: Group) -> None:
    """Phase 3."""
    exchange(group, take_proposals, lambda leader, server: leader.followers[server.id].in_sync)


def take_proposals(group: Group, request: Request) -> None:
    """A follower gets proposals."""
    leader, server = group.servers[request.sender], group.servers[request.receiver]
    if (server.leader != leader.id or server.term != leader.term) and not group.lacks("refuse_older_term"):
        return
    server.heard = group.round
    end = request.previous + len(request.entries)
    follows = request.previous <= len(server.log)
    if follows:
        new = request.entries[len(server.log) - request.previous :]
        server.log += new
        group.counts["sent_entries"] += len(new)
        server.commit = max(server.commit, min(request.commit, end))
    if group.gets_through(server, leader):
        known = leader.followers[server.id]
        known.answered = group.round
        if follows:
            known.match, known.next_entry = max(known.match, end), max(known.next_entry, end)
        else:
            drop(group, leader, server)
            known.next_entry = len(server.log)


def check_order(group: Group) -> None:
    """GlobalPrimaryOrder: epochs never fall in a history."""
    for server in group.servers:
        falls = [n for n, (a, b) in enumerate(zip(server.log, server.log[1:], strict=False), 1) if b.term < a.term]
        if falls:
            if "GlobalPrimaryOrder" not in group.broken:
                group.violate("GlobalPrimaryOrder", server, None, falls[0])
            group.broken.add("GlobalPrimaryOrder")
            return
    group.broken.discard("GlobalPrimaryOrder")
