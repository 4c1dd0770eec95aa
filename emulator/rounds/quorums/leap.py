"""Leaps over quiet rounds of a group: rounds in which only counters move, each by the same amount as in the round before.

A drift goes on until something is met that rules compare with a counter or a clock: the *horizons*, all of them conservative; the
round at a horizon is played. What fields do in a leap is said where they are declared (rounds/records.py).
"""

from __future__ import annotations

import numpy as np

from emulator.rounds.compiled import compiled
from emulator.rounds.leaps import last_due, move_counters, remember, sum_of_drift
from emulator.rounds.quorums.constants import FOREVER, LEADER, NEVER_FLUSHED, NOBODY
from emulator.rounds.quorums.drift import (
    GROUP_KINDS,
    LATENCY_KINDS,
    LEADERSHIP_KINDS,
    MESSAGE_KINDS,
    PEER_KINDS,
    SERVER_KINDS,
    Words,
)
from emulator.rounds.quorums.inputs import Inputs
from emulator.rounds.quorums.links import leader_of_clients, runs
from emulator.rounds.quorums.meet import COMMIT, END, MATCH, until_any_meet
from emulator.rounds.quorums.members import last_configuration
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.timers import next_due
from emulator.rounds.records import word_of

UNACKED = word_of(Group, "unacked")


@compiled
def horizon(lists: Lists, inputs: Inputs, group: Group, drift: Words, points: np.ndarray) -> int:
    """The next round, from `group.now` on, that has to be played."""
    settings = inputs.settings[group.settings]
    if (settings.delay_percent and group.messages.count > 0) or is_changing(lists, inputs, group):
        return group.now
    due = min(group.end, group.next_change, next_due(lists, inputs, group, settings, drift))
    for slot in range(group.copies):
        if drift.servers[slot, COMMIT] > 0:
            due = min(due, group.now + until_other_records(lists, group, slot, drift.servers[slot, COMMIT]))
    if due <= group.now:
        return group.now
    return min(due, group.now + until_any_meet(lists, group, settings, drift, points))


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
def until_other_records(lists: Lists, group: Group, slot: int, moves: int) -> int:
    """Rounds until a server's commit comes to records of another rate, which wait longer or not as long; 0: they do already."""
    rounds, server = FOREVER, lists.servers[slot]
    commit, of_acked = server.commit, moves
    for at in range(group.appends.start, group.appends.start + group.appends.count):
        first = lists.appends[at].first_entry
        if first >= commit:
            rounds = min(rounds, max(0, (first - commit) // moves - 2))
        elif server.role == LEADER and lists.appends[at].leadership == server.leadership:
            of_acked = lists.appends[at].records
    return rounds if of_acked == moves else 0


@compiled
def leap(lists: Lists, inputs: Inputs, group: Group, now: Words, before: Words, drift: Words, then: int) -> None:
    """Go on to round `then` at once."""
    rounds, settings = then - group.now, inputs.settings[group.settings]
    group.unacked_rounds += sum_of_drift(group.unacked, drift.group[UNACKED], rounds)
    flush_round = -1
    if settings.flush_ms != NEVER_FLUSHED:
        flush_round = last_due(group.now, then, settings.round_ms, settings.flush_ms)
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
