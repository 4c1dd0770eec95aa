"""Servers, links between them and the elector over time as rows of records: what the faults make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from operator import attrgetter

from emulator.faults.kinds import FaultRow
from emulator.faults.servers import NO_FAULT, ServerState, elector_steps, link_cuts, server_states, slow_links
from emulator.rounds.quorums.constants import (
    CLIENTS_CUT,
    DISK_LOST,
    DOWN,
    FOREVER,
    ISOLATED,
    NO_ISLAND,
    NO_POWER,
    PAUSED,
    POWER_LOST,
)

Spans = tuple[tuple[int, ...], ...]

STATUS_BITS = {
    "down": DOWN,
    "paused": PAUSED,
    "isolated": ISOLATED,
    "clients_cut": CLIENTS_CUT,
    "no_power": NO_POWER,
    "power_lost": POWER_LOST,
    "disk_lost": DISK_LOST,
}
"""Flag of a ServerState -> bit of a status."""

_flags_of = attrgetter(*STATUS_BITS)


class ServerArrays:
    """The brokers of one scenario, by id: `ids`, `place` of an id, and by place rows of ServerSpan; the elector's; link cuts;
    slow links.

    `brokers`: (id, rack).
    """

    def __init__(self, brokers: Sequence[tuple[int, str | None]], faults: Sequence[FaultRow], rounds: int, round_ms: int) -> None:
        self.ids = sorted(broker for broker, _ in brokers)
        self.place = {broker: place for place, broker in enumerate(self.ids)}
        states = server_states(faults, brokers, rounds)
        islands = {rack: NO_ISLAND + number for number, rack in enumerate(dict.fromkeys([None, *(rack for _, rack in brokers)]))}
        nothing = spans_of([(0, ServerState())], islands)
        self.spans: list[Spans] = [spans_of(states[id_], islands) if id_ in states else nothing for id_ in self.ids]
        self.elector: Spans = (*((at, int(up)) for at, up in elector_steps(faults, rounds)), (FOREVER, 0))
        self.cuts: Spans = tuple(link_cuts(faults, self.place))
        self.slow_links: Spans = tuple(slow_links(faults, self.place, round_ms))


def spans_of(states: Sequence[tuple[int, ServerState]], islands: Mapping[str | None, int]) -> Spans:
    """Rows of ServerSpan; the last one is at FOREVER. `islands`: numbers of racks."""
    spans = [
        (at, sum(compress(STATUS_BITS.values(), _flags_of(state))), state.cause, islands[state.island]) for at, state in states
    ]
    return (*spans, (FOREVER, 0, NO_FAULT, NO_ISLAND))
