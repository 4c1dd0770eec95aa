"""Writing down what happened: rows of `events` and `violations`."""

from __future__ import annotations

import numpy as np

from emulator.rounds.compiled import compiled
from emulator.rounds.lists import append
from emulator.rounds.quorums.constants import INVARIANTS, NO_ENTRY, NO_TERM, NOBODY
from emulator.rounds.quorums.protocols import PROTOCOLS
from emulator.rounds.quorums.records import Group, Lists

NAMES = np.array([[INVARIANTS.index(own.names.get(name, name)) for name in INVARIANTS] for own in sorted(PROTOCOLS.values())])
"""By the number of a protocol, and of one of Raft's invariants, what its own paper calls that."""


@compiled
def tell(lists: Lists, group: Group, kind: int, slot: int, term: int, from_entry: int, to_entry: int, cause: int) -> None:
    """Write an event of this round about a server; NO_TERM and NO_ENTRY are null in the table."""
    event = lists.events[append(lists.filled[0].events)]
    event.group = group.place
    event.at_round = group.now
    event.kind = kind
    event.broker = lists.servers[slot].broker
    event.term = term
    event.from_entry = from_entry
    event.to_entry = to_entry
    event.cause = cause


@compiled
def tell_of_server(lists: Lists, group: Group, kind: int, slot: int, term: int, cause: int) -> None:
    """An event that names no entries."""
    tell(lists, group, kind, slot, term, NO_ENTRY, NO_ENTRY, cause)


@compiled
def tell_of_disk(lists: Lists, group: Group, kind: int, slot: int, from_entry: int, to_entry: int, cause: int) -> None:
    """An event of no term."""
    tell(lists, group, kind, slot, NO_TERM, from_entry, to_entry, cause)


@compiled
def witness(lists: Lists, group: Group, invariant: int, slot: int, other: int, entry: int) -> None:
    """Write down a violation. Nothing is promised any more once a disk lost something."""
    if group.damaged:
        return
    violation = lists.violations[append(lists.filled[0].violations)]
    violation.group = group.place
    violation.at_round = group.now
    violation.invariant = NAMES[group.protocol, invariant]
    violation.broker = lists.servers[slot].broker
    violation.other = NOBODY if other == NOBODY else lists.servers[other].broker
    violation.term = lists.servers[slot].term
    violation.entry = entry
