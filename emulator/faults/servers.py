"""What the faults say of the servers of quorums, of links between them, and of the elector (docs/quorum_rounds.md, step 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from emulator.faults.bookies import DEAD_KINDS, faults_by_bookie
from emulator.faults.broker_state import island_of
from emulator.faults.kinds import FaultRow

NO_FAULT = -1
"""The cause of what happens to a server that no fault has concerned yet."""


class ServerState(NamedTuple):
    """One server from a round on. `power_lost`, `disk_lost`: what happens to it in this very round only.

    `clients_cut`: clients don't reach it, though it runs. `no_power`: it is down with its machine, which closes no connection.
    `cause`: fault_id of the strongest fault in force on it, a link cut at either end being the weakest, else of the last that
    was. `island`: the rack with which it is isolated, if nothing else isolates it.
    """

    down: bool = False
    paused: bool = False
    isolated: bool = False
    clients_cut: bool = False
    no_power: bool = False
    power_lost: bool = False
    disk_lost: bool = False
    cause: int = NO_FAULT
    island: str | None = None


def server_states(
    faults: Sequence[FaultRow], brokers: Iterable[tuple[int, str | None]], rounds: int
) -> dict[int, list[tuple[int, ServerState]]]:
    """By broker that some fault concerns: (round, its state from then on), from round 0 on; neighbours differ."""
    own = {broker: list(rows) for broker, rows in faults_by_bookie(faults, brokers).items()}
    for fault in faults:
        if fault.kind == "link_cut":
            for end in {fault.broker, fault.peer}:
                if end is not None:
                    own.setdefault(end, []).append(fault)
    return {broker: _follow(rows, rounds) for broker, rows in sorted(own.items())}


def _follow(own: Sequence[FaultRow], rounds: int) -> list[tuple[int, ServerState]]:
    edges = {0, *(edge for f in own for edge in (f.from_round, f.from_round + 1, f.to_round))}
    steps: list[tuple[int, ServerState]] = []
    cause = NO_FAULT
    for edge in sorted(edge for edge in edges if edge < rounds):
        held = [(f.of_broker, f) for f in own if f.from_round <= edge < f.to_round]
        cause = min(((f.rank, f.fault_id) for _, f in held), default=(0, cause))[1]
        kinds, begun = {kind for kind, _ in held}, {kind for kind, f in held if f.from_round == edge}
        isolations = [f for kind, f in held if kind == "isolation"]
        state = ServerState(
            down=not kinds.isdisjoint(DEAD_KINDS),
            paused="broker_pause" in kinds,
            isolated=bool(isolations),
            clients_cut=any(f.clients for f in isolations),
            no_power="power_loss" in kinds,
            power_lost="power_loss" in begun,
            disk_lost="disk_loss" in begun,
            cause=cause,
            island=island_of(isolations),
        )
        if not steps or steps[-1][1] != state or state.power_lost or state.disk_lost:
            steps.append((edge, state))
    return steps


def elector_steps(faults: Iterable[FaultRow], rounds: int) -> list[tuple[int, bool]]:
    """From which round on the elector is there or not, from round 0 on; neighbours differ."""
    away = [(f.from_round, f.to_round) for f in faults if f.kind == "controller_loss"]
    steps: list[tuple[int, bool]] = []
    for edge in sorted({0, *(edge for span in away for edge in span if edge < rounds)}):
        up = not any(start <= edge < end for start, end in away)
        if not steps or steps[-1][1] != up:
            steps.append((edge, up))
    return steps


def slow_links(faults: Iterable[FaultRow], place: Mapping[int, int], round_ms: int) -> list[tuple[int, int, int, int, int]]:
    """(place of who asks, of who answers, first round, end, rounds of the trip) of each direction that a slow_link delays.

    A trip is of whole rounds: what is shorter than one fits into it. Without a peer it is of all links of the broker.
    """
    slow: list[tuple[int, int, int, int, int]] = []
    for fault in faults:
        if fault.kind != "slow_link" or fault.broker is None or fault.round_trip_ms is None:
            continue
        own, rounds = place[fault.broker], int(fault.round_trip_ms // round_ms)
        for other in place.values() if fault.peer is None else (place[fault.peer],):
            if other == own:
                continue
            if fault.direction in ("both", "out"):
                slow.append((own, other, fault.from_round, fault.to_round, rounds))
            if fault.direction in ("both", "in"):
                slow.append((other, own, fault.from_round, fault.to_round, rounds))
    return slow


def link_cuts(faults: Iterable[FaultRow], place: Mapping[int, int]) -> list[tuple[int, int, int, int]]:
    """(place of who sends, of who does not get it, first round, end) of each direction that a link_cut cuts."""
    cuts: list[tuple[int, int, int, int]] = []
    for fault in faults:
        if fault.kind != "link_cut" or fault.broker is None or fault.peer is None:
            continue
        one, other = place[fault.broker], place[fault.peer]
        if one != other:
            if fault.direction in ("both", "out"):
                cuts.append((one, other, fault.from_round, fault.to_round))
            if fault.direction in ("both", "in"):
                cuts.append((other, one, fault.from_round, fault.to_round))
    return cuts
