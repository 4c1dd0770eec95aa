"""A server begins to lead, takes a newer term, or stops leading."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.lists import append, every
from emulator.rounds.quorums.check_invariants import check_election
from emulator.rounds.quorums.constants import (
    ACKED_LOST,
    CAMPAIGN,
    CANDIDATE,
    COMMITTED_LOST,
    ELECTION,
    FOLLOWER,
    LEADER,
    NO_FAULT,
    NOBODY,
    STEP_DOWN,
)
from emulator.rounds.quorums.log import append_entries, end_of_run, run_of
from emulator.rounds.quorums.protocols import WITH_FETCHES, WITH_VOTES
from emulator.rounds.quorums.records import Group, Leadership, Lists
from emulator.rounds.quorums.tell import tell, tell_of_server


@compiled
def take_term(lists: Lists, group: Group, slot: int, term: int) -> None:
    """A newer term: a server follows in it, and has not voted. Of kraft, who followed a leader starts its timer.

    Source: Raft 5.1; QuorumState.transitionToUnattached.
    """
    server = lists.servers[slot]
    if group.protocol in WITH_FETCHES and server.leader not in (NOBODY, slot):
        server.heard_round = group.now
    follow(lists, group, slot)
    server.term = term
    server.voted_for = NOBODY
    server.leader = NOBODY


@compiled
def follow(lists: Lists, group: Group, slot: int) -> None:
    """A server is a follower; one that led steps down, and its timer starts.

    Source: Raft 5.2; etcd, becomeFollower; QuorumState.transitionToUnattached.
    """
    server = lists.servers[slot]
    if server.role == LEADER:
        tell_of_server(lists, group, STEP_DOWN, slot, server.term, server.cause)
        if group.protocol in WITH_VOTES:
            server.heard_round = group.now
    server.role = FOLLOWER
    server.hands_over = 0


@compiled
def stop_leading(lists: Lists, group: Group, slot: int) -> None:
    """A server that leads, or was about to, does not any more; who was about to has stood in vain."""
    server = lists.servers[slot]
    if server.role == CANDIDATE:
        tell_of_server(lists, group, CAMPAIGN, slot, server.term, server.cause)
        group.campaigns += 1
    follow(lists, group, slot)


@compiled
def lead(lists: Lists, group: Group, slot: int) -> None:
    """A server leads in its term: it starts every other at its end, and appends an empty entry.

    Source: Raft 5.3; 8 for the empty entry.
    """
    server = lists.servers[slot]
    begin_leadership(lists, group, slot, 1)
    server.leader = slot
    server.joining = 0
    for other in range(group.copies):
        peer = lists.peers[slot * group.copies + other]
        peer.next_entry = server.end
        peer.match_to = 0
        peer.answered_round = group.now
    append_entries(lists, server, server.leadership, server.term, 1)


@compiled
def begin_leadership(lists: Lists, group: Group, slot: int, empty_entries: int) -> None:
    """A server is the leader of its term: what that means is checked and told; with so many entries that are no records."""
    server = lists.servers[slot]
    cause = cause_of_election(lists, group, slot)
    check_election(lists, group, slot)
    tell_losses(lists, group, slot, cause)
    number = group.leaderships.count
    leadership = lists.leaderships[append(group.leaderships)]
    leadership.term = server.term
    leadership.slot = slot
    leadership.first_entry = server.end
    leadership.first_record = server.end + empty_entries
    leadership.cause = cause
    leadership.committed_to = server.end
    leadership.acked_to = server.end
    leadership.known_to = server.end
    leadership.had_from = server.end
    leadership.had_to = server.end
    tell(lists, group, ELECTION, slot, server.term, server.end, -1, cause)
    server.role = LEADER
    server.leadership = number
    group.elections += 1


@compiled
def last_leadership(lists: Lists, group: Group) -> Leadership:
    """The leadership elected last."""
    return lists.leaderships[group.leaderships.start + group.leaderships.count - 1]


@compiled
def cause_of_election(lists: Lists, group: Group, slot: int) -> int:
    """The fault on the last leader, else on the new one."""
    cause = lists.servers[last_leadership(lists, group).slot].cause
    return cause if cause != NO_FAULT else lists.servers[slot].cause


@compiled
def tell_losses(lists: Lists, group: Group, slot: int, cause: int) -> None:
    """What was committed, and acknowledged, that the new leader lacks and the one before it had."""
    server = lists.servers[slot]
    for at in every(group.leaderships):
        leadership = lists.leaderships[at]
        first = leadership.first_record
        had_from, had_to = 0, 0
        if max(leadership.committed_to, leadership.acked_to) > first:  # or nothing of it can be lost
            run = run_of(lists, server, at - group.leaderships.start)
            if run != NOBODY:
                had_from, had_to = lists.runs[run].first_entry, end_of_run(lists, server, run)
        tell_lost(lists, group, slot, leadership, COMMITTED_LOST, first, leadership.committed_to, had_from, had_to, cause)
        tell_lost(lists, group, slot, leadership, ACKED_LOST, first, leadership.acked_to, had_from, had_to, cause)
        leadership.had_from = had_from
        leadership.had_to = had_to
        leadership.known_to = leadership.committed_to


@compiled
def tell_lost(
    lists: Lists,
    group: Group,
    slot: int,
    leadership: Leadership,
    kind: int,
    first: int,
    end: int,
    had_from: int,
    had_to: int,
    cause: int,
) -> None:
    """Stretches of [first, end) outside [had_from, had_to) that the leader elected last did not lack."""
    begin, entry = -1, first
    while entry < end:
        is_lost = not had_from <= entry < had_to
        was_lost = entry < leadership.known_to and not leadership.had_from <= entry < leadership.had_to
        if is_lost and not was_lost:
            begin = entry if begin < 0 else begin
        elif begin >= 0:
            tell(lists, group, kind, slot, lists.servers[slot].term, begin, entry, cause)
            begin = -1
        entry = next_edge(entry, end, had_from, had_to, leadership)
    if begin >= 0:
        tell(lists, group, kind, slot, lists.servers[slot].term, begin, end, cause)


@compiled
def next_edge(entry: int, end: int, had_from: int, had_to: int, leadership: Leadership) -> int:
    """Where what is so of an entry may be otherwise."""
    edge = end
    for other in (had_from, had_to, leadership.had_from, leadership.had_to, leadership.known_to):
        if entry < other < edge:
            edge = other
    return edge
