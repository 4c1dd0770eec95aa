"""Viewstamped replication, as its page has it: views in turn, view changes, recovery without a disk."""

from __future__ import annotations

from tests.reference.quorums.group import Group
from tests.reference.quorums.requests import arrival, is_awaited, take_arrived
from tests.reference.quorums.server import CANDIDATE, FOLLOWER, LEADER, Follower, Request, Server
from tests.reference.quorums.zab import take_history

RECOVERING = "recovering"


def play_viewstamped_round(group: Group) -> None:
    """A round."""
    acked_before = group.counts["acked"]
    was_down = [server.is_down for server in group.servers]
    group.take_inputs()
    forget(group, was_down)
    change_views(group)
    for server in group.servers:
        if server.role == RECOVERING and server.runs:
            recover(group, server)
    group.append()
    prepare_all(group)
    for primary in group.servers:
        if primary.role == LEADER and primary.runs:
            ends = sorted([len(primary.log), *(known.match for known in primary.followers.values())], reverse=True)
            if ends[quorum(group) - 1] > primary.commit:
                primary.commit = ends[quorum(group) - 1]
                group.note_committed(primary)
    group.end_round(acked_before)
    group.round += 1


def quorum(group: Group) -> int:
    """How many are one."""
    return group.case.copies // 2 + 1


def primary_of(group: Group, view: int) -> Server:
    """The views' primaries come in turn."""
    return group.servers[(view - 1) % group.case.copies]


def forget(group: Group, was_down: list[bool]) -> None:
    """A process that ends has lost all."""
    for server, before in zip(group.servers, was_down, strict=True):
        if server.is_down and not before:
            server.role = RECOVERING
        if server.role == RECOVERING:
            if server.log:
                group.tell("log_damaged", server, None, 0, len(server.log), server.cause)
            server.log, server.flushed, server.term, server.log_term = [], 0, 0, 0
    if sum(server.role == RECOVERING for server in group.servers) > (group.case.copies - 1) // 2:
        group.is_damaged = True


def begin(group: Group, server: Server, view: int) -> None:
    """A server's status is view-change, in a newer view."""
    leave(group, server)
    server.role, server.term, server.heard = CANDIDATE, view, group.round
    server.told, server.changes = set(), set()


def leave(group: Group, server: Server) -> None:
    """A primary, or one that was to be it, gives up its view."""
    if server.role == CANDIDATE and primary_of(group, server.term) is server:
        group.tell("campaign", server, server.term, None, None, server.cause)
        group.counts["campaigns"] += 1
    group.follow(server)


def change_views(group: Group) -> None:
    """Timers, STARTVIEWCHANGE, DOVIEWCHANGE, new primaries."""
    for server in group.servers:
        is_late = group.round - server.heard >= group.case.timeout_rounds
        if server.runs and server.role in (FOLLOWER, CANDIDATE) and is_late:
            begin(group, server, server.term + 1)
    asking = [(server, server.term) for server in group.servers if server.role == CANDIDATE and server.runs]
    for server in group.servers:
        server.told, server.changes = set(), set()
    for sender, view in asking:
        for server in group.servers:
            if server is not sender and server.role != RECOVERING and group.gets_through(sender, server):
                if server.term < view:
                    begin(group, server, view)
                if server.term == view and server.role == CANDIDATE:
                    server.told.add(sender.id)
    if not asking:
        return
    for server in group.servers:
        if server.role == CANDIDATE and len(server.told) >= quorum(group) - 1:
            new = primary_of(group, server.term)
            if new is not server and new.role != RECOVERING and group.gets_through(server, new):
                if new.term < server.term:
                    begin(group, new, server.term)
                if new.term == server.term and new.role == CANDIDATE:
                    new.changes.add(server.id)
    for server in group.servers:
        has_quorum = len(server.changes) + 1 >= quorum(group) or group.lacks("quorum_of_changes")
        if server.role == CANDIDATE and server.runs and primary_of(group, server.term) is server and has_quorum:
            start_view(group, server)


def start_view(group: Group, primary: Server) -> None:
    """The best log of those that sent theirs, and the largest commit-number."""
    others = [group.servers[number] for number in sorted(primary.changes)]

    def recency(server: Server) -> tuple[int, ...]:
        return (len(server.log),) if group.lacks("current_epoch_first") else (server.log_term, len(server.log))

    best = primary
    for server in others:
        if recency(server) > recency(best) and not group.lacks("compare_logs"):
            best = server
    commit = max([primary.commit, *(server.commit for server in others)])
    if best is not primary:
        take_history(group, primary, best)
    primary.log_term = primary.term
    primary.commit = max(primary.commit, min(commit, len(primary.log)))
    primary.followers = {s.id: Follower(0, 0, 0) for s in group.servers if s is not primary}
    group.lead(primary, anew=False)


def recover(group: Group, server: Server) -> None:
    """A server asks all for the state."""
    if group.lacks("recover_first"):
        server.role, server.heard = FOLLOWER, group.round
        return
    answers = [
        other
        for other in group.servers
        if other is not server
        and other.role in (FOLLOWER, LEADER)
        and group.gets_through(server, other)
        and group.gets_through(other, server)
    ]
    primaries = [other for other in answers if other.role == LEADER]
    if not primaries:
        return
    primary = max(primaries, key=lambda other: (other.term, -other.id))
    is_latest = len(answers) >= quorum(group) and primary.term == max(other.term for other in answers)
    if is_latest or group.lacks("quorum_of_answers"):
        server.role, server.term, server.heard = FOLLOWER, primary.term, group.round
        take_history(group, server, primary)
        server.log_term, server.commit = primary.term, primary.commit


def prepare_all(group: Group) -> None:
    """Messages that arrive, and every primary's to the others: with all of its log, of which who gets it takes what it lacks."""
    take_arrived(group, prepare)
    for primary in group.servers:
        for server in group.servers:
            if primary.role == LEADER and primary.runs and server is not primary and group.gets_through(primary, server):
                arrives = arrival(group, primary, server)
                message = Request(
                    primary.id, server.id, primary.election, arrives, 0, 0, tuple(primary.log), primary.commit, group.round
                )
                if arrives > group.round:
                    group.under_way.append(message)
                else:
                    prepare(group, message)
    group.under_way = [message for message in group.under_way if is_awaited(group, message)]


def prepare(group: Group, message: Request) -> None:
    """PREPARE, or the whole log, and the answer."""
    primary, server = group.servers[message.sender], group.servers[message.receiver]
    if server.role == RECOVERING or (server.term > primary.term and not group.lacks("refuse_older_term")):
        return
    if server.term < primary.term or server.role == CANDIDATE:
        leave(group, server)
        server.role, server.term = FOLLOWER, primary.term
        take_history(group, server, primary, len(message.entries))
        server.log_term = primary.term
    else:
        group.follow(server)
        first, limit = len(server.log), group.case.max_entries
        new = message.entries[first:] if limit is None else message.entries[first : first + limit]
        server.log += new
        group.counts["sent_entries"] += len(new)
    server.heard = group.round
    server.commit = max(server.commit, min(message.commit, len(server.log)))
    if group.gets_through(server, primary):
        known = primary.followers[server.id]
        known.match = max(known.match, min(len(server.log), len(primary.log)))
