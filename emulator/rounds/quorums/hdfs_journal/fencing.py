"""What a journal node promises, who hears a call, how a writer stops: every step of hdfs-journal has these checks."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.constants import DOWN, LEADER, NOBODY
from emulator.rounds.quorums.inputs import Rules
from emulator.rounds.quorums.lead import stop_leading
from emulator.rounds.quorums.links import gets_through
from emulator.rounds.quorums.records import Group, Lists


@compiled
def stop_writing(lists: Lists, group: Group, slot: int) -> None:
    """A NameNode that writes, or takes over, ends; the controller beside it notices that of one that wrote.

    Source: HealthMonitor.doHealthChecks.
    """
    if lists.servers[slot].role == LEADER:
        lists.servers[slot].has_ended = 1
    stop_leading(lists, group, slot)


@compiled
def promise(lists: Lists, group: Group, slot: int, epoch: int) -> None:
    """A node takes part in no older epoch any more; a writer beside it, which is of one, stops.

    Source: class Journal, updateLastPromisedEpoch; that the writer stops at once is our own.
    """
    if lists.servers[slot].term < epoch:
        stop_writing(lists, group, slot)
        lists.servers[slot].term = epoch


@compiled
def is_called(lists: Lists, writer: int, slot: int) -> bool:
    """Whether a writer's call gets to a node; that of its own machine always."""
    return writer == slot or gets_through(lists, writer, slot)


@compiled
def answers(lists: Lists, writer: int, slot: int) -> bool:
    """Whether a node's answer gets to the writer."""
    return writer == slot or gets_through(lists, slot, writer)


@compiled
def is_silent(lists: Lists, writer: int, slot: int) -> bool:
    """Whether a node that is not down does not hear a writer, or is not heard: what it is sent, or answers, is late.

    Source: ipc.Client, PingInputStream: while the machine is there the connection is, and TCP sends again.
    """
    is_heard = is_called(lists, writer, slot) and answers(lists, writer, slot)
    return lists.servers[slot].status & DOWN == 0 and not is_heard


@compiled
def is_allowed(lists: Lists, group: Group, rules: Rules, writer: int, slot: int) -> bool:
    """Whether a node takes a call: not in an older epoch than it has promised; a newer one it promises with that.

    The segment that it had open is closed: every call but that with edits comes in between segments. Source: class Journal,
    checkRequest, abortCurSegment.
    """
    epoch, node = lists.servers[writer].term, lists.servers[slot]
    if node.term > epoch and rules.refuse_older_term:
        return False
    promise(lists, group, slot, epoch)
    node.leader = NOBODY
    return True
