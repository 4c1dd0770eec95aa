"""Words of the page of HDFS's quorum journal: writers, who is silent for them, who falls out, who stops."""

from __future__ import annotations

from collections.abc import Iterator

from tests.reference.quorums.group import Group
from tests.reference.quorums.requests import drop
from tests.reference.quorums.server import CANDIDATE, LEADER, Follower, Server


def majority(group: Group) -> int:
    """How many are one."""
    return group.case.copies // 2 + 1


def writers(group: Group) -> Iterator[Server]:
    """Who writes, and runs, when its turn comes."""
    for server in group.servers:
        if server.role == LEADER and server.runs:
            yield server


def others(group: Group, writer: Server) -> Iterator[tuple[Server, Follower]]:
    """The other nodes, with what a writer knows of them."""
    for node in group.servers:
        if node is not writer:
            yield node, writer.followers[node.id]


def reaches(group: Group, writer: Server, node: Server) -> bool:
    """Whether a message gets from one machine to another, or stays on it."""
    return writer is node or group.gets_through(writer, node)


def is_silent(group: Group, writer: Server, node: Server) -> bool:
    """Whether a node that is not down is not heard, or does not hear."""
    return not node.is_down and not (group.gets_through(writer, node) and group.gets_through(node, writer))


def has_queue(writer: Server, known: Follower) -> bool:
    """Whether there are edits that a node has not acknowledged."""
    return known.match < len(writer.log)


def stop(group: Group, server: Server) -> None:
    """The writer on a server, or the new one, is none any more."""
    if server.role == CANDIDATE:
        group.tell("campaign", server, server.term, None, None, server.cause)
        group.counts["campaigns"] += 1
    if server.role == LEADER:
        server.has_ended = True
    group.follow(server)


def fall_out(group: Group, writer: Server, node: Server) -> None:
    """A node is out of sync."""
    known = writer.followers[node.id]
    known.in_sync = known.is_waiting = False
    drop(group, writer, node)
