"""KRaft, as its page has it: elections of who is due, one after the other; fetches by offset and epoch, the high watermark."""

from __future__ import annotations

from tests.reference.quorums.draws import drawn
from tests.reference.quorums.group import Group
from tests.reference.quorums.members import agree, agreed_end, audience, change_members, end_changes, in_force, may_stand
from tests.reference.quorums.raft import Request as VoteRequest
from tests.reference.quorums.raft import hold_votes, is_reached, stand, take_request, would_win
from tests.reference.quorums.requests import arrival, is_awaited, take_arrived, write
from tests.reference.quorums.server import FOLLOWER, LEADER, Request, Server


def play_kraft_round(group: Group) -> None:
    """A round."""
    acked_before = group.counts["acked"]
    was_down = [server.is_down for server in group.servers]
    group.take_inputs()
    dead = [server.id for server, before in zip(group.servers, was_down, strict=True) if server.is_down and not before]
    group.under_way = [request for request in group.under_way if request.sender not in dead]
    for server in group.servers:
        if server.term == 0:
            server.leader = None
    for server in group.servers:
        resign(group, server)
    for server in group.servers:
        if server.has_resigned and server.runs:
            end_quorum_epoch(group, server)
    elect(group)
    change_members(group)
    group.append()
    for leader in group.servers:
        for server in group.servers:
            tells = server is not leader and leader.role == LEADER and leader.runs and group.gets_through(leader, server)
            if tells and server.id in audience(group, leader):
                begin_quorum_epoch(group, leader, server)
    fetch_all(group)
    for leader in group.servers:
        if leader.role == LEADER and leader.runs:
            advance(group, leader)
    end_changes_of_voters(group)
    group.end_round(acked_before)
    group.round += 1


def resign(group: Group, server: Server) -> None:
    """A leader without a majority's fetches."""
    if server.role == LEADER and server.runs:
        limit = 1.5 * group.case.timeout_rounds
        since = {number: group.round - (known.answered or 0) for number, known in server.followers.items()}
        if not agree(group, server, [server.id, *(number for number, rounds in since.items() if rounds < limit)]):
            group.follow(server)
            server.leader = None
            end_quorum_epoch(group, server)


def end_quorum_epoch(group: Group, leader: Server) -> None:
    """One that has resigned tells its voters; the timers of those that follow it have run out."""
    for server in group.servers:
        is_told = server.id in in_force(group, leader).members and group.gets_through(leader, server)
        if is_told and server.follows and (server.leader, server.term) == (leader.id, leader.term):
            server.heard = group.round - group.case.timeout_rounds


def end_changes_of_voters(group: Group) -> None:
    """Leaders that are no voters any more resign, and tell those that are."""
    leaders = [server for server in group.servers if server.role == LEADER]
    end_changes(group)
    for leader in leaders:
        if leader.role != LEADER:
            end_quorum_epoch(group, leader)


def elect(group: Group) -> None:
    """Who is due comes one after the other; then votes."""
    due = [server for server in group.servers if server.runs and is_due(group, server)]
    requests: list[VoteRequest] = []
    for server in sorted(due, key=lambda one: (one.id - group.round) % group.case.copies):
        if any(request.term > server.term and is_reached(group, server, request) for request in requests):
            continue
        server.leader, server.heard, server.stood = None, group.round, server.stood + 1
        if not group.case.pre_vote or would_win(group, server, has_fetched):
            requests.append(stand(server))
    hold_votes(group, requests, answer)


def is_due(group: Group, server: Server) -> bool:
    """Whether a voter's timer has run out."""
    case, wait = group.case, group.case.timeout_rounds
    if server.role == LEADER or not may_stand(group, server):
        return False
    if not server.follows:
        wait += drawn(case.seed, case.number, server.id, server.stood, case.jitter_rounds)
    return group.round - server.heard >= wait


def has_fetched(group: Group, server: Server) -> bool:
    """Whether a voter leads, or follows a leader from which it has fetched since it does."""
    return server.role == LEADER or (server.follows and server.heard_leader is not None)


def answer(group: Group, voter: Server, request: VoteRequest) -> bool:
    """A voter takes a request for its vote; it votes for nobody where it knows the leader."""
    return take_request(group, voter, request, keeps_leader=True)


def follow(group: Group, server: Server, leader: int) -> None:
    """A server knows its leader."""
    server.leader, server.heard, server.heard_leader = leader, group.round, None


def begin_quorum_epoch(group: Group, leader: Server, server: Server) -> None:
    """A leader tells of its epoch."""
    if server.leader == leader.id and server.term == leader.term:
        return
    if server.term > leader.term and not group.lacks("refuse_older_term"):
        if group.gets_through(server, leader):
            group.take_term(leader, server.term)
        return
    if server.term < leader.term:
        group.take_term(server, leader.term)
    group.follow(server)
    follow(group, server, leader.id)


def epoch_end(server: Server, epoch: int) -> tuple[int, int]:
    """The last epoch of a log that is not above one, and its end: (0, 0) if there is none."""
    end = server.largest_end(len(server.log), epoch)
    return server.term_before(end), end


def fetch_all(group: Group) -> None:
    """Fetches that arrive, and those of followers that have none under way."""

    def take(group: Group, request: Request) -> None:
        fetch(group, group.servers[request.sender], group.servers[request.receiver])

    take_arrived(group, take)
    for server in group.servers:
        if server.role == LEADER and server.runs:
            write(group, server)
        if server.role != FOLLOWER or not server.runs or server.leader in (None, server.id):
            continue
        leader = group.servers[server.leader or 0]
        waits = any(r.sender == server.id and is_awaited(group, r) for r in group.under_way)
        if not waits and group.gets_through(server, leader):
            end, arrives = len(server.log), arrival(group, server, leader)
            if arrives > group.round:
                group.under_way.append(Request(server.id, leader.id, None, arrives, end, server.term, (), server.commit))
            else:
                fetch(group, server, leader)


def fetch(group: Group, server: Server, leader: Server) -> None:
    """A fetch that is there, and its answer."""
    answers = group.gets_through(leader, server)
    if leader.role != LEADER or leader.term > server.term:
        if answers and leader.term > server.term:
            group.take_term(server, leader.term)
            if leader.leader not in (None, server.id):
                follow(group, server, leader.leader or 0)
        return
    if leader.term < server.term and not group.lacks("refuse_older_term"):
        return
    offset = len(server.log)
    epoch = server.term_before(offset)
    its_epoch, its_end = epoch_end(leader, epoch)
    diverges = its_epoch != epoch or its_end < offset
    if not diverges or group.lacks("check_previous"):
        known = leader.followers[server.id]
        known.match, known.answered = offset, group.round
        if offset >= len(leader.log) or (known.end_then is not None and offset >= known.end_then):
            known.has_caught_up = True
        known.end_then = len(leader.log)
    if not answers:
        return
    server.heard = server.heard_leader = group.round
    if diverges and not group.lacks("check_previous"):
        own_epoch, own_end = epoch_end(server, its_epoch)
        cut(group, server, leader, min(own_end, its_end) if own_epoch == its_epoch else own_end)
        return
    limit = group.case.max_entries
    new = leader.log[offset:] if limit is None else leader.log[offset : offset + limit]
    server.log += new
    group.counts["sent_entries"] += len(new)
    server.commit = max(server.commit, min(leader.commit, len(server.log)))


def cut(group: Group, server: Server, leader: Server, end: int) -> None:
    """A log ends earlier."""
    if end < len(server.log):
        if end < server.commit:
            group.violate("StateMachineSafety", server, None, end)
        group.tell("truncate", server, server.term, len(server.log), end, group.elections[leader.election][2])
        group.counts["truncated"] += len(server.log) - end
        server.truncate(end)


def advance(group: Group, leader: Server) -> None:
    """The high watermark of a leader."""
    end, start = agreed_end(group, leader), group.starts[leader.election]
    is_beyond = end > start or (end == start and group.lacks("beyond_epoch_start"))
    if end > leader.commit and is_beyond:
        leader.commit = end
        group.note_committed(leader)
        if not agree(group, leader, [server.id for server in group.servers if len(server.log) >= end]):
            group.violate("MajorityReachedHighWatermark", leader, None, end)
        if end < group.high_watermark:
            group.violate("MonotonicHighWatermark", leader, None, end)
        group.high_watermark = max(group.high_watermark, end)
