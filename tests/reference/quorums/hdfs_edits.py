"""Steps 6 and 7 of HDFS's quorum journal: edits one by one, who falls out, who has waited for too long."""

from __future__ import annotations

from tests.reference.quorums.group import Group
from tests.reference.quorums.hdfs_nodes import fall_out, has_queue, is_silent, majority, others, stop, writers
from tests.reference.quorums.hdfs_segments import ask_again
from tests.reference.quorums.requests import arrival, is_awaited, write
from tests.reference.quorums.server import Follower, Request, Server


def journal(group: Group) -> None:
    """Step 6, one part of all writers after the other."""
    take_late_answers(group)
    for writer in writers(group):
        for node, known in others(group, writer):
            if known.is_waiting and group.gets_through(writer, node):
                ask_again(group, writer, node)
    take_arrived(group)
    send_edits(group)
    drop_nodes(group)
    for writer in writers(group):
        if 1 + sum(known.in_sync or known.is_waiting for known in writer.followers.values()) < majority(group):
            stop(group, writer)


def take_late_answers(group: Group) -> None:
    """Step 6.1."""
    for writer in writers(group):
        for node, known in others(group, writer):
            if known.in_sync and known.took > known.match and group.gets_through(node, writer):
                known.match, known.answered = known.took, group.round


def take_arrived(group: Group) -> None:
    """Step 6.3: in the order in which they were sent, requests whose round has come are taken, or wait for the next one."""
    for request in list(group.under_way):
        if request.arrives > group.round or request not in group.under_way or not is_awaited(group, request):
            continue
        place = group.under_way.index(request)
        if has_to_wait(group, request):
            group.under_way[place] = request._replace(arrives=group.round + 1)
        else:
            del group.under_way[place]
            take(group, request)


def has_to_wait(group: Group, request: Request) -> bool:
    """Whether a request is late: one of the two is silent, or an answer to what was before."""
    writer, node = group.servers[request.sender], group.servers[request.receiver]
    if node is writer:
        return not writer.runs
    known = writer.followers[node.id]
    return is_silent(group, writer, node) or known.took > known.match


def take(group: Group, request: Request) -> None:
    """A request is there: a node takes it, or the writer's own disk."""
    if request.receiver == request.sender:
        group.servers[request.sender].synced = request.previous
    else:
        take_edits(group, request)


def send_edits(group: Group) -> None:
    """Step 6.4."""
    for writer in writers(group):
        write(group, writer)
        for node, known in others(group, writer):
            if known.in_sync and known.took <= known.match and group.gets_through(writer, node):
                send(group, writer, node, known)


def send(group: Group, writer: Server, node: Server, known: Follower) -> None:
    """The next edits for a node."""
    first, limit = known.next_entry, group.case.max_entries
    edits = tuple(writer.log[first:] if limit is None else writer.log[first : first + limit])
    if not edits:
        return
    arrives = arrival(group, writer, node)
    request = Request(writer.id, node.id, writer.election, arrives, first, 0, edits, writer.commit, group.round)
    if arrives > group.round:
        group.under_way.append(request)
        known.next_entry = first + len(edits)
    else:
        take_edits(group, request)


def take_edits(group: Group, request: Request) -> None:
    """A node writes them down; its answer may be late, a refusal never is."""
    writer, node = group.servers[request.sender], group.servers[request.receiver]
    known, end = writer.followers[node.id], request.previous + len(request.entries)
    is_open = node.leader == writer.id and node.term == node.log_term == writer.term
    if not (is_open or group.lacks("refuse_older_term")) or len(node.log) != request.previous:
        fall_out(group, writer, node)
        return
    node.log += request.entries
    group.counts["sent_entries"] += len(request.entries)
    node.commit = max(node.commit, min(request.commit, end))
    if end > writer.segment:  # the calls between segments came behind edits: the node gets to the new one with this
        node.segment, node.finalized, node.accepted = writer.segment, False, 0
    known.took, known.next_entry = end, max(known.next_entry, end)
    if group.gets_through(node, writer):
        known.match, known.answered = end, group.round


def drop_nodes(group: Group) -> None:
    """Step 6.5."""
    for writer in writers(group):
        for node, known in others(group, writer):
            if known.in_sync and not has_queue(writer, known):
                known.answered = group.round
            elif (known.in_sync or known.is_waiting) and is_given_up(group, writer, node, known):
                fall_out(group, writer, node)


def is_given_up(group: Group, writer: Server, node: Server, known: Follower) -> bool:
    """Whether a node that waits, or has something in its queue, is out of sync."""
    limit = group.case.answer_rounds
    is_full = len(writer.log) - known.match > group.case.queue_limit
    is_late = known.answered is not None and limit > 0 and group.round - known.answered >= limit
    return node.is_down or is_full or is_late


def commit(group: Group) -> None:
    """Step 7, and who has waited for a majority for too long."""
    before = [server.commit for server in group.servers]
    group.commit(majority(group))
    for writer in writers(group):
        has_all = writer.commit == len(writer.log) and not writer.puts_off
        if has_all or writer.commit != before[writer.id]:
            writer.waited = group.round
        if group.round - writer.waited >= group.case.write_rounds:
            stop(group, writer)
