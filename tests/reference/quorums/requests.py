"""Requests of leaders, and KRaft's fetches: which arrive, which are sent, how long they take. What is done with one that is
there a protocol says.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.reference.quorums.group import Group
from tests.reference.quorums.server import FOLLOWER, LEADER, Request, Server

Take = Callable[[Group, Request], None]
"""Another server takes a request, and answers it."""


def exchange(group: Group, take: Take, is_sent_to: Callable[[Server, Server], bool] = lambda leader, server: True) -> None:
    """What arrives of requests under way; then each leader's, as long as it leads, to its own disk and to the others."""
    take_arrived(group, take)
    for leader in group.servers:
        for server in group.servers:
            if leader.role == LEADER and leader.runs:
                if server is leader:
                    write(group, leader)
                elif is_sent_to(leader, server) and group.gets_through(leader, server):
                    send(group, leader, server, take)
    group.under_way = [request for request in group.under_way if is_awaited(group, request)]


def take_arrived(group: Group, take: Take) -> None:
    """Requests whose round has come, in the order in which they were sent."""
    for request in list(group.under_way):
        if request.arrives <= group.round and request in group.under_way:
            group.under_way.remove(request)
            arrive(group, request, take)


def is_awaited(group: Group, request: Request) -> bool:
    """Whether who sent a request still leads as it did then; of a fetch, follows as it did then."""
    sender = group.servers[request.sender]
    if request.election is None:
        return (sender.role, sender.leader, sender.term) == (FOLLOWER, request.receiver, request.previous_term)
    return sender.role == LEADER and sender.election == request.election


def write(group: Group, leader: Server) -> None:
    """A leader's log on its way to its own disk, if that takes rounds."""
    if group.case.fsync_rounds:
        arrives = group.round + group.case.fsync_rounds
        own = Request(leader.id, leader.id, leader.election, arrives, len(leader.log), 0, (), leader.commit)
        group.under_way.append(own)


def send(group: Group, leader: Server, server: Server, take: Take) -> None:
    """A request with entries: it is there at once, or under way."""
    follower = leader.followers[server.id]
    previous, limit = follower.next_entry, group.case.max_entries
    entries = leader.log[previous:] if limit is None else leader.log[previous : previous + limit]
    arrives = arrival(group, leader, server)
    request = Request(
        leader.id, server.id, leader.election, arrives, previous, leader.term_before(previous), tuple(entries), leader.commit,
        group.round,
    )  # fmt: skip
    if arrives > group.round:
        group.under_way.append(request)
        follower.next_entry = previous + len(entries)
    else:
        arrive(group, request, take)


def arrival(group: Group, sender: Server, receiver: Server) -> int:
    """The round in which a request that is sent now is there: none overtakes another."""
    link = (sender.id, receiver.id)
    before = [r.arrives for r in group.under_way if (r.sender, r.receiver) == link and is_awaited(group, r)]
    return max([group.round + group.trip(sender, receiver), *before])


def arrive(group: Group, request: Request, take: Take) -> None:
    """A request is there: the disk has it, or who gets it takes it."""
    leader, server = group.servers[request.sender], group.servers[request.receiver]
    if not is_awaited(group, request) or not leader.runs:
        return
    if server is leader:
        leader.synced = request.previous
    elif group.gets_through(leader, server):
        take(group, request)


def drop(group: Group, leader: Server, server: Server) -> None:
    """What else is under way from a leader to a server is thrown away."""
    group.under_way = [r for r in group.under_way if (r.sender, r.receiver) != (leader.id, server.id)]
