"""The state of a block of groups between two stretches: records, and their lists packed one after the other."""

from __future__ import annotations

from typing import NamedTuple

from emulator.rounds.packed import Packed
from emulator.rounds.quorums.records import Group, Peer, Server
from emulator.rounds.records import Rows


class State(NamedTuple):
    """Groups, the servers and peers of each one after the other; `runs`: a list a server, the others a list a group."""

    groups: Rows[Group]
    servers: Rows[Server]
    peers: Rows[Peer]
    runs: Packed
    leaderships: Packed
    configurations: Packed
    messages: Packed
    appends: Packed
    latencies: Packed
