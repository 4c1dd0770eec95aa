"""Until when counters of entries keep their order: a horizon of leaps that holds for the rules of any protocol.

Rules compare ends, commits, what is sent next and what is matched with each other, and with where runs of logs begin. While all
that move otherwise are further apart than two rounds take them, each of these comparisons comes out as it did.
"""

from __future__ import annotations

import numpy as np

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.lists import every
from emulator.rounds.quorums.constants import FOREVER, LEADER, NO_LIMIT
from emulator.rounds.quorums.drift import Words
from emulator.rounds.quorums.inputs import Settings
from emulator.rounds.quorums.protocols import WITH_SEGMENTS
from emulator.rounds.quorums.records import Group, Leadership, Lists, Message, Peer, Server
from emulator.rounds.records import word_of

VALUE, MOVES = range(2)
"""Columns of points: where a counter is, how far it gets in a round."""
HIGH_WATERMARK = word_of(Group, "high_watermark")
END, COMMIT = word_of(Server, "end"), word_of(Server, "commit")
NEXT, MATCH, CATCH_UP = word_of(Peer, "next_entry"), word_of(Peer, "match_to"), word_of(Peer, "catch_up_to")
TOOK = word_of(Peer, "took")
PREVIOUS, SENT, TOLD = word_of(Message, "previous"), word_of(Message, "to_entry"), word_of(Message, "commit")
COMMITTED = word_of(Leadership, "committed_to")


def most_points(servers: int, room: int) -> int:
    """How many there are at most, of so many servers and lists of so much room."""
    return 1 + 4 * servers + 6 * servers * servers + (3 + 2 + 1) * room + servers * room


@compiled
def until_any_meet(lists: Lists, group: Group, settings: Settings, drift: Words, points: np.ndarray) -> int:
    """Rounds until two counters that move otherwise, or one and a place where something begins, come near each other."""
    count = put_counters(lists, group, settings, drift, points)
    lowest = FOREVER
    for at in range(count):
        value, moves = points[at, VALUE], points[at, MOVES]
        if moves != 0:
            lowest = min(lowest, value - 2 * moves if moves > 0 else 0)
    if lowest == FOREVER:
        return FOREVER
    count = put_beginnings(lists, group, drift, points, count, lowest)
    rounds = FOREVER
    for at in range(count):
        for other in range(at + 1, count):
            if points[at, MOVES] != points[other, MOVES]:
                rounds = min(rounds, rounds_apart(points[at], points[other]))
    return rounds


@compiled_into_callers
def rounds_apart(one: np.ndarray, other: np.ndarray) -> int:
    """Rounds for which two points that move otherwise stay two rounds' way apart; 0: they are not."""
    way = 2 * max(abs(one[MOVES]), abs(other[MOVES]))
    gap = abs(one[VALUE] - other[VALUE])
    if gap < way:
        return 0
    closing = other[MOVES] - one[MOVES] if one[VALUE] > other[VALUE] else one[MOVES] - other[MOVES]
    return (gap - way) // closing if closing > 0 else FOREVER


@compiled_into_callers
def put(points: np.ndarray, count: int, value: int, moves: int) -> int:
    """One more point; how many there are then."""
    points[count, VALUE] = value
    points[count, MOVES] = moves
    return count + 1


@compiled
def put_counters(lists: Lists, group: Group, settings: Settings, drift: Words, points: np.ndarray) -> int:
    """What moves: of servers, of what leaders know of others, of what is under way; and as far as one request gets from there."""
    most = settings.max_entries
    count = put(points, 0, group.high_watermark, drift.group[HIGH_WATERMARK])
    for slot in range(group.copies):
        server = lists.servers[slot]
        count = put(points, count, server.end, drift.servers[slot, END])
        count = put(points, count, server.commit, drift.servers[slot, COMMIT])
        if most < NO_LIMIT:
            count = put(points, count, server.end + most, drift.servers[slot, END])
        if group.protocol in WITH_SEGMENTS:
            count = put(points, count, server.segment, 0)
        for other in range(group.copies if server.role == LEADER else 0):
            pair = slot * group.copies + other
            peer = lists.peers[pair]
            count = put(points, count, peer.next_entry, drift.peers[pair, NEXT])
            count = put(points, count, peer.match_to, drift.peers[pair, MATCH])
            count = put(points, count, peer.catch_up_to, drift.peers[pair, CATCH_UP])
            if most < NO_LIMIT:
                count = put(points, count, peer.next_entry + most, drift.peers[pair, NEXT])
            if group.protocol in WITH_SEGMENTS:
                count = put(points, count, peer.took, drift.peers[pair, TOOK])
                count = put(points, count, peer.match_to + group.queue_limit, drift.peers[pair, MATCH])
    for at in range(group.messages.count):
        message = lists.messages[group.messages.start + at]
        count = put(points, count, message.previous, drift.messages[at, PREVIOUS])
        count = put(points, count, message.to_entry, drift.messages[at, SENT])
        count = put(points, count, message.commit, drift.messages[at, TOLD])
    return count


@compiled
def put_beginnings(lists: Lists, group: Group, drift: Words, points: np.ndarray, count: int, lowest: int) -> int:
    """Where leaderships, configurations and runs of logs begin, and what is committed of a leadership; none that is behind."""
    for at in range(group.leaderships.count):
        leadership = lists.leaderships[group.leaderships.start + at]
        if leadership.first_entry >= lowest:
            count = put(points, count, leadership.first_entry, 0)
        if leadership.committed_to >= lowest:
            count = put(points, count, leadership.committed_to, drift.leaderships[at, COMMITTED])
    for at in every(group.configurations):
        if lists.configurations[at].entry >= lowest:
            count = put(points, count, lists.configurations[at].entry, 0)
    for slot in range(group.copies):
        for at in every(lists.servers[slot].runs):
            if lists.runs[at].first_entry >= lowest:
                count = put(points, count, lists.runs[at].first_entry, 0)
    return count
