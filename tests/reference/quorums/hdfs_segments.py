"""Step 4 of HDFS's quorum journal: the two calls between segments, and when a writer makes them."""

from __future__ import annotations

from dataclasses import replace

from tests.reference.quorums.group import Group
from tests.reference.quorums.hdfs_nodes import fall_out, has_queue, is_silent, majority, others, reaches, stop
from tests.reference.quorums.requests import drop
from tests.reference.quorums.server import Server
from tests.reference.quorums.zab import take_history


def is_old(group: Group, writer: Server) -> bool:
    """Whether a writer's segment is to end."""
    return group.round >= writer.segment_round + group.case.roll_rounds


def roll(group: Group, writer: Server) -> None:
    """A segment after another, when it is time and nothing is in the way."""
    is_careless = group.lacks("finalize_first")
    if not is_old(group, writer) or (writer.commit < len(writer.log) and not is_careless):
        return
    if not is_careless and has_to_wait(group, writer):
        writer.puts_off = True
        return
    is_final = finalize(group, writer)
    if not (is_final or is_careless) or not start(group, writer):
        stop(group, writer)


def has_to_wait(group: Group, writer: Server) -> bool:
    """Whether a majority cannot answer in this round, but one may later."""
    ready = there = 1
    for node, known in others(group, writer):
        is_there = (known.in_sync or known.is_waiting) and not node.is_down
        there += is_there
        ready += is_there and known.in_sync and not has_queue(writer, known) and not is_silent(group, writer, node)
    return ready < majority(group) <= there


def takes_call(group: Group, writer: Server, node: Server) -> bool:
    """Whether a call gets to a node and is not refused; the node's promise, and its segment that was open."""
    if not reaches(group, writer, node):
        return False
    if node.term > writer.term and not group.lacks("refuse_older_term"):
        return False
    if node.term < writer.term:
        stop(group, node)
        node.term = writer.term
    node.leader = None
    return True


def is_same(group: Group, node: Server, other: Server) -> bool:
    """Whether two nodes have the same last segment, and the same before it."""
    ends = (node.segment, len(node.log)) == (other.segment, len(other.log))
    return ends and (node.log == other.log or group.lacks("same_content"))


def copy(group: Group, node: Server, source: Server) -> None:
    """A node takes another one's log; what it finalized has to be in it."""
    if node.finalized:
        both = list(zip(node.log, source.log, strict=False))
        common = next((number for number, (own, its) in enumerate(both) if own != its), len(both))
        is_longer = node.segment == source.segment and len(node.log) != len(source.log)
        if common < len(node.log) or is_longer:
            group.violate("FinalizedSegments", node, None, common)
    take_history(group, node, source)


def finalize(group: Group, writer: Server) -> bool:
    """The segment is closed for good."""
    acks = int(close(group, writer, writer))
    for node, known in others(group, writer):
        if known.in_sync and not has_queue(writer, known):
            acks += close(group, writer, node)
    return acks >= majority(group)


def close(group: Group, writer: Server, node: Server) -> bool:
    """finalizeLogSegment at a node; whether the writer hears that it had the segment."""
    if not takes_call(group, writer, node) or not is_same(group, node, writer):
        return False
    node.finalized, node.accepted = len(node.log) > node.segment, 0
    return reaches(group, node, writer)


def start(group: Group, writer: Server) -> bool:
    """The next one begins; who is silent has the call in its queue."""
    begin, acks = len(writer.log), 1
    writer.closed_segment = writer.segment
    for node, known in others(group, writer):
        if known.in_sync and has_queue(writer, known):
            acks += 1
            continue
        drop(group, writer, node)
        is_taken = ask_to_start(group, writer, node, begin)
        known.is_waiting = is_silent(group, writer, node)
        known.in_sync = is_taken and not known.is_waiting
        acks += known.in_sync
        if known.in_sync or known.is_waiting:
            known.match = known.next_entry = known.took = begin
            known.answered = group.round
    open_segment(group, writer, writer, begin)
    writer.segment_round = group.round
    return acks >= majority(group)


def ask_to_start(group: Group, writer: Server, node: Server, begin: int) -> bool:
    """startLogSegment at a node, which has all before it then; whether it takes it."""
    has_edits = node.segment == begin and len(node.log) > begin
    if not takes_call(group, writer, node) or has_edits:
        return False
    copy(group, node, replace(writer, log=writer.log[:begin], segment=writer.closed_segment))
    open_segment(group, node, writer, begin)
    return True


def ask_again(group: Group, writer: Server, node: Server) -> None:
    """Step 6.2: the call that waits is made once more."""
    known = writer.followers[node.id]
    if not ask_to_start(group, writer, node, writer.segment):
        fall_out(group, writer, node)
    elif group.gets_through(node, writer):
        known.in_sync, known.is_waiting, known.answered = True, False, group.round


def open_segment(group: Group, node: Server, writer: Server, begin: int) -> None:
    """A segment of the writer is in progress on a node."""
    node.segment, node.finalized, node.accepted = begin, False, 0
    node.log_term, node.leader = writer.term, writer.id
