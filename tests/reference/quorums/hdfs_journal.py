"""HDFS's quorum journal, as its page has it: its round, and a new writer's calls."""

from __future__ import annotations

from tests.reference.quorums.group import Group
from tests.reference.quorums.hdfs_edits import commit, journal
from tests.reference.quorums.hdfs_failover import fail_over, has_fenced, stop_without_lock
from tests.reference.quorums.hdfs_nodes import fall_out, has_queue, majority, reaches, stop, writers
from tests.reference.quorums.hdfs_segments import copy, finalize, is_old, is_same, roll, start, takes_call
from tests.reference.quorums.requests import is_awaited
from tests.reference.quorums.server import CANDIDATE, LEADER, Follower, Server


def play_hdfs_journal_round(group: Group) -> None:
    """A round."""
    acked_before = group.counts["acked"]
    was_down = [server.is_down for server in group.servers]
    group.take_inputs()
    for server, before in zip(group.servers, was_down, strict=True):
        begin_or_end(group, server, before)
    fail_over(group)
    for server in group.servers:
        if server.role == CANDIDATE and server.runs and has_fenced(group, server):
            make_call(group, server)
    for writer in writers(group):
        writer.puts_off = False
        roll(group, writer)
    append(group)
    journal(group)
    commit(group)
    stop_without_lock(group)
    group.under_way = [request for request in group.under_way if is_awaited(group, request)]
    group.end_round(acked_before)
    group.round += 1


def begin_or_end(group: Group, server: Server, was_down: bool) -> None:
    """A process that ends has no segment open; one that begins knows its promise; a disk that is lost has none of it."""
    if server.is_down and not was_down:
        server.leader = None
        fail_calls(group, server)
    if was_down and not server.is_down and group.lacks("keep_vote"):
        server.term = server.log_term
    if server.term == 0:
        server.log_term = server.segment = server.accepted = 0
        server.finalized = False


def fail_calls(group: Group, node: Server) -> None:
    """The connections of a node that goes down close, and what waits for an answer fails."""
    for writer in group.servers:
        if writer.role == LEADER and writer is not node:
            known = writer.followers[node.id]
            if known.is_waiting or (known.in_sync and has_queue(writer, known)):
                fall_out(group, writer, node)


def make_call(group: Group, writer: Server) -> None:
    """A new writer's next call, or its end."""
    call = (new_epoch, prepare_recovery, accept_recovery, begin_to_write)[writer.stage]
    writer.stage += 1
    if not call(group, writer):
        stop(group, writer)


def append(group: Group) -> None:
    """Step 5: before a roll all edits are committed."""
    writer = group.leader_of_clients()
    if writer is None or not is_old(group, writer) or writer.commit == len(writer.log):
        group.append()


def new_epoch(group: Group, writer: Server) -> bool:
    """Call 1."""
    told = [node.term for node in group.servers if reaches(group, writer, node) and reaches(group, node, writer)]
    if len(told) < majority(group):
        return False
    writer.term, writer.leader = max(told) + 1, None
    for node in group.servers:
        if node.term < writer.term and reaches(group, writer, node):
            stop(group, node)
            node.term, node.leader = writer.term, None
    return True


def value(group: Group, node: Server) -> tuple[int, ...]:
    """What copies of the last segment are compared by."""
    epoch = node.log_term if group.lacks("accepted_counts") else max(node.log_term, node.accepted)
    if group.lacks("current_epoch_first"):
        epoch = 0
    return (node.segment, int(node.finalized), epoch, len(node.log))


def prepare_recovery(group: Group, writer: Server) -> bool:
    """Call 2."""
    told = [node for node in group.servers if takes_call(group, writer, node) and reaches(group, node, writer)]
    best = writer
    for node in told:
        if value(group, node) > value(group, best) and not group.lacks("compare_logs"):
            best = node
    writer.chosen = best.id
    return len(told) >= majority(group)


def accept_recovery(group: Group, writer: Server) -> bool:
    """Call 3."""
    chosen = group.servers[writer.chosen]
    if chosen.term != writer.term:
        return False
    took = []
    for node in group.servers:
        if not takes_call(group, writer, node):
            continue
        if node is not chosen and not is_same(group, node, chosen):
            if not group.gets_through(chosen, node):
                continue
            copy(group, node, chosen)
            node.segment, node.finalized = chosen.segment, False
        node.accepted = writer.term
        took.append(node)
    known = [node for node in took if reaches(group, node, writer)]
    return writer in took and (len(known) >= majority(group) or group.lacks("acks_of_new_leader"))


def begin_to_write(group: Group, writer: Server) -> bool:
    """Call 4."""
    end = len(writer.log)
    writer.followers = {s.id: Follower(end, end, group.round, took=end) for s in group.servers if s is not writer}
    if not finalize(group, writer) or not start(group, writer):
        return False
    group.lead(writer, anew=False)
    writer.synced, writer.waited, writer.puts_off = end, group.round, False
    if end > writer.commit:
        writer.commit = end
        group.note_committed(writer)
    return True
