"""Writing down what happened: rows of `events` and `violations`."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.lists import append
from emulator.rounds.quorums.constants import (
    CONSISTENT_COMMITTED_DATA,
    ELECTION_SAFETY,
    KRAFT,
    LEADER_COMPLETENESS,
    LEADERSHIP_2,
    NO_ENTRY,
    NO_LOG_DIVERGENCE,
    NO_TERM,
    NOBODY,
    PREFIX_CONSISTENCY,
    PRIMARY_INTEGRITY,
    SINGLE_LEADER,
    STATE_MACHINE_SAFETY,
    VIEWSTAMPED,
    ZAB,
)
from emulator.rounds.quorums.records import Group, Lists


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
def named(protocol: int, invariant: int) -> int:
    """What a protocol's own paper calls one of Raft's invariants."""
    if protocol == ZAB:
        if invariant == ELECTION_SAFETY:
            return LEADERSHIP_2
        if invariant == LEADER_COMPLETENESS:
            return PRIMARY_INTEGRITY
        if invariant == STATE_MACHINE_SAFETY:
            return PREFIX_CONSISTENCY
    if protocol == VIEWSTAMPED and invariant == STATE_MACHINE_SAFETY:
        return NO_LOG_DIVERGENCE
    if protocol == KRAFT:
        if invariant == ELECTION_SAFETY:
            return SINGLE_LEADER
        if invariant == STATE_MACHINE_SAFETY:
            return CONSISTENT_COMMITTED_DATA
    return invariant


@compiled
def witness(lists: Lists, group: Group, invariant: int, slot: int, other: int, entry: int) -> None:
    """Write down a violation. Nothing is promised any more once a disk lost something."""
    if group.damaged:
        return
    violation = lists.violations[append(lists.filled[0].violations)]
    violation.group = group.place
    violation.at_round = group.now
    violation.invariant = named(group.protocol, invariant)
    violation.broker = lists.servers[slot].broker
    violation.other = NOBODY if other == NOBODY else lists.servers[other].broker
    violation.term = lists.servers[slot].term
    violation.entry = entry
