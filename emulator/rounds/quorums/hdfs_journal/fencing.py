"""What a journal node promises, and how a writer stops: every step of hdfs-journal has these checks."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.constants import NOBODY
from emulator.rounds.quorums.inputs import Rules
from emulator.rounds.quorums.lead import stop_leading
from emulator.rounds.quorums.links import gets_through
from emulator.rounds.quorums.records import Group, Lists


@compiled
def promise(lists: Lists, group: Group, slot: int, epoch: int) -> None:
    """A node takes part in no older epoch any more; a writer beside it, which is of one, stops.

    Source: class Journal, updateLastPromisedEpoch; that the writer stops at once is our own.
    """
    if lists.servers[slot].term < epoch:
        stop_leading(lists, group, slot)
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
