"""The state of groups before round 0: server 0 leads term 1, logs are empty."""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.rounds.packed import packed, packed_empty, width_of
from emulator.rounds.quorums.constants import FOLLOWER, IN_SYNC, LEADER, NO_FAULT, NOBODY
from emulator.rounds.quorums.records import Appends, Configuration, Latency, Leadership, Message, Peer, Run, Server
from emulator.rounds.quorums.state import State
from emulator.rounds.records import rows


def start_groups(groups: Any, brokers: np.ndarray, places: np.ndarray, spans: np.ndarray) -> State:
    """The state of groups of which `copies` and what is in force are set.

    `brokers`, `places`, `spans`: of the groups' servers, one after the other, ids, places among the scenario's brokers, and
    places of what is first in force of the faults on them.
    """
    copies = np.asarray(groups.copies)
    groups.place = np.arange(len(groups))
    groups.first_server = np.concatenate([[0], np.cumsum(copies)])[:-1]
    groups.first_peer = np.concatenate([[0], np.cumsum(copies * copies)])[:-1]
    groups.elector_up = 1
    groups.served = NOBODY
    servers = rows(Server, int(copies.sum()))
    servers.broker, servers.place, servers.span = brokers, places, spans
    servers.cause = NO_FAULT
    servers.term = servers.log_term = 1
    groups.version, groups.members = 1, (1 << copies) - 1
    groups.initial = np.where(groups.changes, groups.initial, groups.members)
    servers.members = np.repeat(groups.members, copies)
    servers.role, servers.leadership, servers.to_fence = FOLLOWER, NOBODY, NOBODY
    servers.role[groups.first_server] = LEADER
    servers.leadership[groups.first_server] = 0
    first = rows(Leadership, 1)
    first.term, first.cause = 1, NO_FAULT
    peers = rows(Peer, int((copies * copies).sum()))
    peers.in_sync = IN_SYNC
    return State(
        groups,
        servers,
        peers,
        packed_empty(width_of(Run), len(servers)),
        packed(width_of(Leadership), [first] * len(groups)),
        packed_empty(width_of(Configuration), len(groups)),
        packed_empty(width_of(Message), len(groups)),
        packed_empty(width_of(Appends), len(groups)),
        packed_empty(width_of(Latency), len(groups)),
    )
