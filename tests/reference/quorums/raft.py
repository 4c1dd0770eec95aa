"""Elections of `raft`, and its round."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tests.reference.quorums.draws import drawn
from tests.reference.quorums.group import Group
from tests.reference.quorums.members import agree, audience, change_members, commit_entries, in_force, may_stand
from tests.reference.quorums.replicate import replicate
from tests.reference.quorums.server import CANDIDATE, LEADER, Server


class Request(NamedTuple):
    """What a candidate asks for."""

    candidate: Server
    term: int


Answer = Callable[[Group, Server, Request], bool]
"""A voter takes a request; whether it votes for the candidate."""
HearsLeader = Callable[[Group, Server], bool]
"""Whether a server would give no pre-vote, because of a leader."""


def majority(group: Group) -> int:
    """How many are one."""
    return group.case.copies // 2 + 1


def play_raft_round(group: Group) -> None:
    """A round."""
    acked_before = group.counts["acked"]
    group.take_inputs()
    check_quorum(group)
    elect(group)
    begin_transfer(group)
    change_members(group)
    group.append()
    replicate(group, audience)
    tell_first_server(group)
    commit_entries(group)
    group.end_round(acked_before)
    group.round += 1


def check_quorum(group: Group) -> None:
    """Leaders that too few answer step down."""
    for server in group.servers if group.case.check_quorum else ():
        if server.role == LEADER and server.runs:
            since = {number: group.round - (known.answered or 0) for number, known in server.followers.items()}
            heard = [number for number, rounds in since.items() if rounds < group.case.timeout_rounds]
            if not agree(group, server, [server.id, *heard]):
                group.follow(server)


def elect(group: Group) -> None:
    """Timers, pre-votes, votes."""
    case = group.case
    standing = []
    for server in group.servers:
        wait = case.timeout_rounds + drawn(case.seed, case.number, server.id, server.stood, case.jitter_rounds)
        server.is_told, server.told_in = server.told_in == server.term, None
        is_due = server.is_told or group.round - server.heard >= wait
        if server.runs and server.role != LEADER and is_due and may_stand(group, server):
            standing.append(server)
            server.heard, server.stood, server.leader = group.round, server.stood + 1, None
    if case.pre_vote:
        standing = [server for server in standing if server.is_told or would_win(group, server, hears_leader)]
    hold_votes(group, [stand(server) for server in standing], answer)


def stand(server: Server) -> Request:
    """A server is a candidate of the next term."""
    server.term, server.vote, server.role = server.term + 1, server.id, CANDIDATE
    return Request(server, server.term)


def is_reached(group: Group, voter: Server, request: Request) -> bool:
    """Whether a server gets a candidate's request."""
    is_asked = request.candidate is not voter and voter.id in audience(group, request.candidate)
    return is_asked and group.gets_through(request.candidate, voter)


def hold_votes(group: Group, requests: list[Request], answer: Answer) -> None:
    """Everybody takes the requests, and who has a majority leads."""
    votes = {request.candidate.id: {request.candidate.id} for request in requests}
    for voter in group.servers:
        around = sorted(requests, key=lambda request: (request.candidate.id - voter.id - 1) % group.case.copies)
        for request in around:
            if is_reached(group, voter, request):
                grants = answer(group, voter, request)
                is_candidate = request.candidate.role == CANDIDATE and request.candidate.term == request.term
                if grants and is_candidate and group.gets_through(voter, request.candidate):
                    votes[request.candidate.id].add(voter.id)
    for server, term in sorted(requests, key=lambda request: (request.term, request.candidate.id)):
        if server.role == CANDIDATE and server.term == term and agree(group, server, votes[server.id]):
            group.lead(server)
        else:
            group.tell("campaign", server, term, None, None, server.cause)
            group.counts["campaigns"] += 1


def begin_transfer(group: Group) -> None:
    """Who is asked to hand over begins to; who did not come to it in the time of an election stops."""
    for leader in group.servers:
        if leader.role != LEADER or not leader.runs:
            continue
        since = leader.handing_over_since
        if since is not None and group.round >= since + group.case.timeout_rounds:
            leader.handing_over_since = None
        is_asked = group.round in group.case.transfers and leader is group.leader_of_clients()
        if is_asked and leader.id > 0 and 0 in in_force(group, leader).members:
            leader.handing_over_since = group.round


def tell_first_server(group: Group) -> None:
    """Server 0 is told to stand in the next round, if it has all."""
    first = group.servers[0]
    for leader in group.servers:
        is_at_it = leader.role == LEADER and leader.runs and leader.handing_over_since is not None
        is_heard = is_at_it and group.gets_through(leader, first) and first.term == leader.term
        if is_heard and leader.followers[0].match == len(leader.log):
            first.told_in = leader.term


def hears_leader(group: Group, server: Server) -> bool:
    """Whether a server leads or heard from a leader within the timeout."""
    if server.role == LEADER:
        return True
    return server.heard_leader is not None and group.round - server.heard_leader < group.case.timeout_rounds


def is_complete(group: Group, candidate: Server, voter: Server) -> bool:
    """Whether a candidate's log will do for a voter."""
    return candidate.completeness() >= voter.completeness() or group.lacks("compare_logs")


def would_win(group: Group, server: Server, hears_leader: HearsLeader) -> bool:
    """Whether a majority would vote for a server in the term after its own."""
    term, willing, asked = server.term, [server.id], audience(group, server)
    for voter in group.servers:
        is_there = group.gets_through(server, voter) and group.gets_through(voter, server)
        if voter is server or voter.id not in asked or not is_there:
            continue
        if voter.term > server.term:
            group.take_term(server, voter.term)
        elif term + 1 >= voter.term and not hears_leader(group, voter) and is_complete(group, server, voter):
            willing.append(voter.id)
    return server.term == term and agree(group, server, willing)


def answer(group: Group, voter: Server, request: Request) -> bool:
    """A voter takes a request, unless it hears a leader and the quorum is checked."""
    is_sticky = group.case.check_quorum and not request.candidate.is_told
    if is_sticky and hears_leader(group, voter):
        return False
    return take_request(group, voter, request)


def take_request(group: Group, voter: Server, request: Request, keeps_leader: bool = False) -> bool:
    """A voter takes a request; whether it votes for the candidate. `keeps_leader`: not in an epoch whose leader it knows."""
    grants = False
    if request.term >= voter.term:
        if request.term > voter.term:
            group.take_term(voter, request.term)
        has_vote = voter.vote in (None, request.candidate.id) and not (keeps_leader and voter.leader is not None)
        if (has_vote or group.lacks("one_vote")) and is_complete(group, request.candidate, voter):
            grants, voter.vote, voter.heard = True, request.candidate.id, group.round
    if voter.term > request.candidate.term and group.gets_through(voter, request.candidate):
        group.take_term(request.candidate, voter.term)
    return grants
