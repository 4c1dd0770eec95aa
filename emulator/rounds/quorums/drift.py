"""What of a group moves in quiet rounds: its records as rows of words, by how much they moved in the round just played."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emulator.rounds.compiled import compiled
from emulator.rounds.leaps import take_drift
from emulator.rounds.quorums.records import Group, Latency, Leadership, Message, Peer, Server
from emulator.rounds.records import kinds_of

GROUP_KINDS = np.array(kinds_of(Group), np.int64)
SERVER_KINDS = np.array(kinds_of(Server), np.int64)
PEER_KINDS = np.array(kinds_of(Peer), np.int64)
LEADERSHIP_KINDS = np.array(kinds_of(Leadership), np.int64)
MESSAGE_KINDS = np.array(kinds_of(Message), np.int64)
LATENCY_KINDS = np.array(kinds_of(Latency), np.int64)


class Words(NamedTuple):
    """Words of the records of one group, of the round before, or how they drift; or of the scratch arrays."""

    group: np.ndarray
    servers: np.ndarray
    peers: np.ndarray
    leaderships: np.ndarray
    messages: np.ndarray
    latencies: np.ndarray


@compiled
def is_quiet(group: Group, now: Words, before: Words, drift: Words) -> bool:
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
