"""Leaps over quiet rounds of a group: rounds in which only counters move, each by the same amount as in the round before.

A drift goes on until something is met that rules compare with a counter or a clock: the *horizons* here, all of them
conservative; the round at a horizon is played. What fields do in a leap is said where they are declared (rounds/records.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emulator.compiled import compiled
from emulator.rounds.leaps import last_multiple, move_counters, remember, sum_of_drift, take_drift
from emulator.rounds.quorums.constants import FOREVER, LEADER, NEVER_FLUSHED, NOBODY, PACIFICA, RAFT
from emulator.rounds.quorums.draw import draw
from emulator.rounds.quorums.inputs import Inputs, Settings
from emulator.rounds.quorums.links import leader_of_clients, runs
from emulator.rounds.quorums.members import last_configuration, may_stand
from emulator.rounds.quorums.records import Group, Latency, Leadership, Lists, Message, Peer, Server
from emulator.rounds.records import kinds_of, word_of

GROUP_KINDS = np.array(kinds_of(Group), np.int64)
SERVER_KINDS = np.array(kinds_of(Server), np.int64)
PEER_KINDS = np.array(kinds_of(Peer), np.int64)
LEADERSHIP_KINDS = np.array(kinds_of(Leadership), np.int64)
MESSAGE_KINDS = np.array(kinds_of(Message), np.int64)
LATENCY_KINDS = np.array(kinds_of(Latency), np.int64)
ELECTOR_HEARD, UNACKED = word_of(Group, "elector_heard"), word_of(Group, "unacked")
END, COMMIT, HEARD = word_of(Server, "end"), word_of(Server, "commit"), word_of(Server, "heard_round")
NEXT, MATCH, ANSWERED = word_of(Peer, "next_entry"), word_of(Peer, "match_to"), word_of(Peer, "answered_round")
MESSAGE_COMMIT, MESSAGE_PREVIOUS, MESSAGE_END = (word_of(Message, name) for name in ("commit", "previous", "to_entry"))
"""Places of fields among the words of their records."""


class Rows(NamedTuple):
    """Words of the records of one group, of the round before, or how they drift; or of the scratch arrays."""

    group: np.ndarray
    servers: np.ndarray
    peers: np.ndarray
    leaderships: np.ndarray
    messages: np.ndarray
    latencies: np.ndarray


@compiled
def is_quiet(group: Group, now: Rows, before: Rows, drift: Rows) -> bool:
    """Whether the round just played did nothing but what the round before did."""
    quiet = take_drift(GROUP_KINDS, now.group, before.group, drift.group)
    for at in range(group.copies):
        quiet = take_drift(SERVER_KINDS, now.servers[at], before.servers[at], drift.servers[at]) and quiet
    for at in range(group.copies * group.copies):
        quiet = take_drift(PEER_KINDS, now.peers[at], before.peers[at], drift.peers[at]) and quiet
    for at in range(group.leaderships.count):
        own = now.leaderships[group.leaderships.start + at]
        quiet = take_drift(LEADERSHIP_KINDS, own, before.leaderships[at], drift.leaderships[at]) and quiet
    for at in range(group.messages.count):
        own = now.messages[group.messages.start + at]
        quiet = take_drift(MESSAGE_KINDS, own, before.messages[at], drift.messages[at]) and quiet
    for at in range(group.latencies.count):
        own = now.latencies[group.latencies.start + at]
        quiet = take_drift(LATENCY_KINDS, own, before.latencies[at], drift.latencies[at]) and quiet
    return quiet


@compiled
def until_equal(one: int, drift: int, other: int, other_drift: int) -> int:
    """Rounds for which what is ahead of two stays ahead by more than a round's drift; FOREVER if it is not caught up with."""
    gap, closing = (one - other, other_drift - drift) if one >= other else (other - one, drift - other_drift)
    return max(0, gap // closing - 2) if closing > 0 else FOREVER


@compiled
def horizon(lists: Lists, inputs: Inputs, group: Group, drift: Rows) -> int:
    """The next round, from `group.now` on, that has to be played."""
    settings = inputs.settings[group.settings]
    if settings.delay_percent and group.messages.count > 0:
        return group.now
    due = min(group.end, group.next_change)
    if group.protocol == RAFT:
        if is_changing(lists, inputs, group):
            return group.now
        due = min(due, until_timers(lists, inputs, group, settings, drift))
    elif group.protocol == PACIFICA:
        due = min(due, until_leases(lists, group, settings, drift))
    elif group.elector_up and drift.group[ELECTOR_HEARD] == 0:
        due = min(due, at_or_never(group.now, group.elector_heard + settings.timeout_rounds))
    for slot in range(group.copies):
        if lists.servers[slot].role == LEADER and runs(lists, slot):
            due = min(due, group.now + until_followers_meet(lists, group, settings, slot, drift))
        if drift.servers[slot, COMMIT] > 0:
            due = min(due, group.now + until_commit_meets(lists, group, slot, drift.servers[slot, COMMIT]))
    for at in range(group.messages.count):
        message = lists.messages[group.messages.start + at]
        pair, own_end = message.sender * group.copies + message.receiver, drift.messages[at, MESSAGE_END]
        if message.sender != message.receiver:
            if drift.messages[at, MESSAGE_PREVIOUS] != own_end:
                return group.now  # refused, one after the other
            if message.to_entry <= first_of(lists, group, message.leadership) and own_end > 0:
                return group.now
            if is_met(lists.servers[message.receiver].end, drift.servers[message.receiver, END], message.to_entry, own_end):
                return group.now
            if is_met(lists.peers[pair].match_to, drift.peers[pair, MATCH], message.to_entry, own_end):
                return group.now
        commit, its_drift = lists.servers[message.receiver].commit, drift.servers[message.receiver, COMMIT]
        own = drift.messages[at, MESSAGE_COMMIT]
        due = min(due, group.now + until_equal(message.commit, own, commit, its_drift))
        due = min(due, group.now + until_equal(message.commit, own, message.to_entry, own_end))
    return max(due, group.now)


@compiled
def is_changing(lists: Lists, inputs: Inputs, group: Group) -> bool:
    """Whether the members are not yet those that are asked for, by a committed configuration of the leader's log."""
    wanted = inputs.wanted[group.wanted].members
    if group.configurations.count == 0:
        return wanted != group.initial
    slot = leader_of_clients(lists, group)
    at = NOBODY if slot == NOBODY else last_configuration(lists, group, slot)
    if at == NOBODY:
        return True
    own = lists.configurations[at]
    return own.before != wanted or own.members != wanted or own.entry >= lists.servers[slot].commit


@compiled
def first_of(lists: Lists, group: Group, leadership: int) -> int:
    """The first entry of a leadership."""
    return lists.leaderships[group.leaderships.start + leadership].first_entry


@compiled
def is_met(end: int, drift: int, sent: int, sent_drift: int) -> bool:
    """Whether what is sent again comes to an end that moves otherwise: there is something else to be done about the rest."""
    return sent_drift > 0 and drift != sent_drift and end + sent_drift >= sent


@compiled
def at_or_never(now: int, due: int) -> int:
    """A round that is still to come; what was due before and did not happen waits for something else."""
    return due if due >= now else FOREVER


@compiled
def until_timers(lists: Lists, inputs: Inputs, group: Group, settings: Settings, drift: Rows) -> int:
    """The round in which a server stands, or a leader that does not hear a majority may step down."""
    due, seed = FOREVER, inputs.scenarios[group.scenario].seed
    for slot in range(group.copies):
        server = lists.servers[slot]
        if not runs(lists, slot):
            continue
        if server.role != LEADER:
            if drift.servers[slot, HEARD] != 1 and may_stand(lists, group, slot):
                wait = settings.timeout_rounds + draw(seed, group.number, slot, server.stood, settings.jitter_rounds)
                due = min(due, server.heard_round + wait)
        elif settings.check_quorum:
            for other in range(group.copies):
                pair = slot * group.copies + other
                if other != slot and drift.peers[pair, ANSWERED] != 1:
                    due = min(due, at_or_never(group.now, lists.peers[pair].answered_round + settings.timeout_rounds))
    return due


@compiled
def until_leases(lists: Lists, group: Group, settings: Settings, drift: Rows) -> int:
    """The round in which a lease runs out, a grace period is over, or a candidate may join."""
    due = FOREVER
    for slot in range(group.copies):
        server = lists.servers[slot]
        if not runs(lists, slot):
            continue
        if server.role != LEADER:
            if drift.servers[slot, HEARD] != 1:
                due = min(due, at_or_never(group.now, server.heard_round + settings.timeout_rounds))
            continue
        for other in range(group.copies):
            if other == slot:
                continue
            pair = slot * group.copies + other
            expires = lists.peers[pair].answered_round + settings.lease_rounds
            if drift.peers[pair, ANSWERED] != 1:
                due = min(due, at_or_never(group.now, expires))
            if not server.members >> other & 1 and expires >= group.now:
                return group.now
            ahead = until_equal(server.commit, drift.servers[slot, COMMIT], lists.servers[other].end, drift.servers[other, END])
            due = min(due, group.now + ahead)
    return due


@compiled
def until_followers_meet(lists: Lists, group: Group, settings: Settings, slot: int, drift: Rows) -> int:
    """Rounds until followers of a leader may come to something: its end, its commit, each other, its first entry."""
    leader, rounds = lists.servers[slot], FOREVER
    end_drift, commit_drift = drift.servers[slot, END], drift.servers[slot, COMMIT]
    first = first_of(lists, group, leader.leadership)
    for other in range(group.copies):
        pair = slot * group.copies + other
        peer, match_drift, next_drift = lists.peers[pair], drift.peers[pair, MATCH], drift.peers[pair, NEXT]
        if other == slot:
            if not settings.fsync_rounds:
                continue
        elif next_drift not in (0, end_drift):
            return 0
        if match_drift not in (0, end_drift):
            return 0
        if other != slot:
            follower = lists.servers[other]
            if next_drift > 0 and peer.next_entry <= first:
                return 0  # it comes to other runs yet
            if is_met(follower.end, drift.servers[other, END], peer.next_entry, next_drift):
                return 0
            if is_met(peer.match_to, match_drift, peer.next_entry, next_drift):
                return 0
            if next_drift == 0 and peer.next_entry + settings.max_entries >= leader.end:
                rounds = min(rounds, until_equal(peer.next_entry + settings.max_entries, 0, leader.end, end_drift))
            rounds = min(rounds, until_equal(leader.commit, commit_drift, follower.commit, drift.servers[other, COMMIT]))
            rounds = min(rounds, until_equal(leader.commit, commit_drift, peer.next_entry, next_drift))
        if peer.match_to <= first:
            rounds = min(rounds, until_equal(first, 0, peer.match_to, match_drift))
        for third in range(group.copies):
            behind = lists.peers[slot * group.copies + third].match_to
            rounds = min(rounds, until_equal(peer.match_to, match_drift, behind, drift.peers[slot * group.copies + third, MATCH]))
        rounds = min(rounds, until_equal(leader.end, end_drift, peer.match_to, match_drift))
    return rounds


@compiled
def until_commit_meets(lists: Lists, group: Group, slot: int, moves: int) -> int:
    """Rounds until a server's commit comes to where another run of a log may begin, or records of other rounds do."""
    rounds, server = FOREVER, lists.servers[slot]
    commit, of_acked = server.commit, moves
    for at in range(group.leaderships.start, group.leaderships.start + group.leaderships.count):
        first = lists.leaderships[at].first_entry
        if first >= commit:
            rounds = min(rounds, max(0, (first - commit) // moves - 2))
    for at in range(group.appends.start, group.appends.start + group.appends.count):
        first = lists.appends[at].first_entry
        if server.role == LEADER and lists.appends[at].leadership == server.leadership and first < commit:
            of_acked = lists.appends[at].records
        if first >= commit:
            rounds = min(rounds, max(0, (first - commit) // moves - 2))
    return rounds if of_acked == moves else 0  # else what is acknowledged next waited longer, or not as long


@compiled
def leap(lists: Lists, inputs: Inputs, group: Group, now: Rows, before: Rows, drift: Rows, then: int) -> None:
    """Go on to round `then` at once."""
    rounds, settings = then - group.now, inputs.settings[group.settings]
    group.unacked_rounds += sum_of_drift(group.unacked, drift.group[UNACKED], rounds)
    flush_round = -1 if settings.flush_rounds == NEVER_FLUSHED else last_multiple(settings.flush_rounds, group.now, then)
    for slot in range(group.copies):
        server = lists.servers[slot]
        if flush_round >= 0 and runs(lists, slot):
            moved = flush_round - group.now + 1
            if settings.fsync_rounds and server.role == LEADER:
                pair = slot * group.copies + slot
                on_disk = lists.peers[pair].match_to + moved * drift.peers[pair, MATCH]
                server.flushed_to = max(server.flushed_to, on_disk)
            else:
                server.flushed_to = server.end + moved * drift.servers[slot, END]
        move_counters(SERVER_KINDS, now.servers[slot], drift.servers[slot], rounds)
        server.checked_commit = server.commit
        remember(now.servers[slot], before.servers[slot])
    for pair in range(group.copies * group.copies):
        move_counters(PEER_KINDS, now.peers[pair], drift.peers[pair], rounds)
        remember(now.peers[pair], before.peers[pair])
    for at in range(group.leaderships.count):
        own = now.leaderships[group.leaderships.start + at]
        move_counters(LEADERSHIP_KINDS, own, drift.leaderships[at], rounds)
        remember(own, before.leaderships[at])
    for at in range(group.messages.count):
        own = now.messages[group.messages.start + at]
        move_counters(MESSAGE_KINDS, own, drift.messages[at], rounds)
        remember(own, before.messages[at])
    for at in range(group.latencies.count):
        own = now.latencies[group.latencies.start + at]
        move_counters(LATENCY_KINDS, own, drift.latencies[at], rounds)
        remember(own, before.latencies[at])
    move_counters(GROUP_KINDS, now.group, drift.group, rounds)
    remember(now.group, before.group)
