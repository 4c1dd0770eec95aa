"""Step 4 of every protocol but those with pages of their own: a leader's entries, and what a server does with them."""

from __future__ import annotations

from collections.abc import Callable

from tests.reference.quorums.group import Group
from tests.reference.quorums.requests import drop, exchange
from tests.reference.quorums.server import LEADER, Request, Server


def replicate(group: Group, audience: Callable[[Group, Server], frozenset[int]] | None = None) -> None:
    """Step 4; `audience`: whom a leader sends to, all without it."""
    exchange(group, take_append, lambda leader, server: audience is None or server.id in audience(group, leader))


def take_append(group: Group, request: Request) -> None:
    """Who gets a request takes it, and its answer is there."""
    leader, server = group.servers[request.sender], group.servers[request.receiver]
    follower, previous, entries = leader.followers[server.id], request.previous, request.entries
    answers = group.gets_through(server, leader)
    if leader.term < server.term and not group.lacks("refuse_older_term"):
        if answers:
            group.take_term(leader, server.term)
            leader.members = server.members
        return
    led = server.role == LEADER and server.term >= leader.term
    if leader.term > server.term:
        group.take_term(server, leader.term)
    group.follow(server)
    if group.case.protocol == "pacifica":
        server.members, server.vote = leader.members, leader.id
    server.heard = server.heard_leader = group.round
    agrees = previous <= len(server.log)
    if agrees and not group.lacks("check_previous"):
        agrees = server.term_before(previous) == request.previous_term
    if agrees:
        take_entries(group, request, led)
    if answers:
        follower.answered = request.sent if group.case.protocol == "pacifica" else group.round
        if agrees:
            follower.match = max(follower.match, previous + len(entries))
            follower.next_entry = max(follower.next_entry, previous + len(entries))
        else:
            drop(group, leader, server)
            end = server.largest_end(previous, request.previous_term)
            guess = leader.largest_end(end, server.term_before(end))
            follower.next_entry = max(0, min(previous - 1, guess))


def take_entries(group: Group, request: Request, led: bool) -> None:
    """A follower's log comes to agree with what it was sent."""
    leader, server = group.servers[request.sender], group.servers[request.receiver]
    for number, entry in enumerate(request.entries, request.previous):
        if number < len(server.log) and server.log[number].term != entry.term:
            if led:
                group.violate("LeaderAppendOnly", server, leader.id, number)
            if number < server.commit:
                group.violate("StateMachineSafety", server, None, number)
            cause = group.elections[leader.election][2]
            group.tell("truncate", server, server.term, len(server.log), number, cause)
            group.counts["truncated"] += len(server.log) - number
            server.truncate(number)
        if number == len(server.log):
            server.log.append(entry)
            group.counts["sent_entries"] += 1
    server.commit = max(server.commit, min(request.commit, request.previous + len(request.entries)))
