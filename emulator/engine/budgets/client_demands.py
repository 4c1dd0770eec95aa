"""What producers, consumers and copies of a block ask of brokers' network and disks (docs/kafka_rounds.md, Shared bandwidth)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from emulator.bandwidth.client_quotas import NO_CLIENT, ClientQuotas
from emulator.engine.budgets.demands import Layout, bytes_of_workload, due_bytes, in_force, is_replica, sums_of
from emulator.engine.budgets.read_demands import ReadDemands, bytes_at, readers_of
from emulator.inputs.arrays.shared import SharedBudgets
from emulator.rounds.kafka.constants import NOBODY, UNKNOWN
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.reading.records import EARLIEST, LATEST, NO_CAUSE, NO_POSITION
from emulator.rounds.kafka.state import State
from emulator.rounds.kafka.tier.records import NO_SEGMENT
from emulator.rounds.records import fields_at

PARTIES = ("producers", "consumers", "uploads", "downloads", "disk_reads")
"""Who sends to a broker, or has it send, beside followers; `downloads`, `disk_reads`: what it reads of remote storage, and of its
disk, for consumers.
"""

OF_GROUPS = ("consumers", "downloads", "disk_reads")
"""Those that groups are behind."""

DRAWS: Mapping[str, tuple[str, ...]] = {
    "producers": ("network_in", "disk"),
    "consumers": ("network_out",),
    "uploads": ("network_out",),
    "downloads": ("network_in",),
    "disk_reads": ("disk",),
}
"""Party -> the budgets of the broker that it draws on."""


@dataclass(frozen=True, eq=False)
class PartyRows:
    """Those that a broker's budgets are divided between, in rows: the parties, each without the clients of it that have a quota,
    and these clients: producers, then groups, then groups as those for whom remote storage is read, and disks.

    By row `party`, a place in PARTIES, and `client`, a number of ClientQuotas, NO_CLIENT for none.
    """

    party: np.ndarray
    client: np.ndarray

    def of(self, party: str, client: np.ndarray) -> np.ndarray:
        """The rows of clients of a party, given by their numbers."""
        at = PARTIES.index(party)
        row = np.full(len(self.client) + 1, at)  # behind all clients is NO_CLIENT
        own = np.flatnonzero((self.party == at) & (self.client != NO_CLIENT))
        row[self.client[own]] = own
        return row[client]


def party_rows(clients: ClientQuotas) -> PartyRows:
    """The rows of a scenario."""
    return _rows_of(clients.producers, clients.groups)


@cache
def _rows_of(producers: int, groups: int) -> PartyRows:
    """Of so many clients; they are asked for at every edge."""
    readers = producers + np.arange(groups)
    parts = (("producers", np.arange(producers)), *((name, readers) for name in OF_GROUPS))
    party = [np.arange(len(PARTIES)), *(np.full(len(own), PARTIES.index(name)) for name, own in parts)]
    client = [np.full(len(PARTIES), NO_CLIENT), *(own for _, own in parts)]
    return PartyRows(np.concatenate(party), np.concatenate(client))


@dataclass(frozen=True, eq=False)
class PartyDemand:
    """Of one party, by partition, reader or replica: its row of PartyRows; place of its broker; bytes per round that it asks for;
    connections.
    """

    row: np.ndarray
    broker: np.ndarray
    demand: np.ndarray
    connections: np.ndarray


ClientDemands = Mapping[str, PartyDemand]
"""By party."""


@dataclass(frozen=True, eq=False)
class ClientFlows:
    """By row and broker (place: row x brokers + place of the broker), all of them: what is asked for, in bytes per round, and
    over how many connections.
    """

    demand: np.ndarray
    connections: np.ndarray

    @property
    def place(self) -> np.ndarray:
        """0, 1, ..."""
        return np.arange(len(self.demand))


def client_demands(
    state: State,
    inputs: Inputs,
    layout: Layout,
    appends: np.ndarray,
    copies: np.ndarray,
    reads: ReadDemands | None,
    shared: SharedBudgets,
    round_: int,
) -> ClientDemands:
    """What is asked for at an edge, before its round is played; inputs are those of the round.

    Producers: what the workload appends (`appends`, by partition), and what waits, in even parts over the window; on the broker
    of T. Consumers: what lies before them, likewise, at most what their fetches bring. `copies`, and `reads`, None if nobody
    reads: what those ask for of remote storage.
    """
    rows = party_rows(shared.clients)
    return {
        "producers": _of_producers(state, inputs, layout, appends, shared, rows, round_),
        **_of_consumers(state, inputs, reads, shared, rows, round_),
        "uploads": _of_copies(state, layout, copies),
    }


def _of_producers(
    state: State,
    inputs: Inputs,
    layout: Layout,
    appends: np.ndarray,
    shared: SharedBudgets,
    rows: PartyRows,
    round_: int,
) -> PartyDemand:
    parts = np.asarray(state.partitions)
    waits = bytes_waiting(inputs, parts["waiting_workload"], parts["waiting_rounds"], round_)
    due = due_bytes(inputs, parts["workload"], round_)
    # Whoever has something waiting goes on when T serves again.
    wanted = np.where(parts["waiting_rounds"] > 0, due + -(-waits // shared.window_rounds), appends)
    leader = parts["first_replica"] + np.maximum(parts["client_leader"], 0)
    return _each_by_itself(rows.of("producers", shared.clients.writer), layout.broker[leader], wanted)


def bytes_waiting(inputs: Inputs, workload: np.ndarray, rounds: np.ndarray, round_: int) -> np.ndarray:
    """By partition what the last so many rounds before this one brought. `workload`: the place of the oldest one's, or before."""
    begins = np.asarray(inputs.workload)["from_round"]
    since = round_ - rounds
    at, total = in_force(begins, workload, round_ - 1), np.zeros(len(rounds), np.int64)
    until = np.full(len(rounds), round_)
    while (since < until).any():
        waits = since < until
        first = np.where(waits, np.maximum(begins[at], since), until)
        total += (until - first) * bytes_of_workload(inputs, at)
        at, until = at - (waits & (first > since)), first
    return total


def _of_copies(state: State, layout: Layout, copies: np.ndarray) -> PartyDemand:
    under_way = np.zeros(len(copies), bool)
    if len(state.tiers):
        under_way = is_replica(state, layout) & (np.asarray(state.tiers)["copying"] != NO_SEGMENT)
    row = np.full(len(copies), PARTIES.index("uploads"))
    return PartyDemand(row, layout.broker, copies, under_way.astype(np.int64))


def _of_consumers(
    state: State,
    inputs: Inputs,
    reads: ReadDemands | None,
    shared: SharedBudgets,
    rows: PartyRows,
    round_: int,
) -> dict[str, PartyDemand]:
    """Of consumers, and of what their brokers read of remote storage and of disks for them."""
    if reads is None:
        nothing = np.zeros(0, np.int64)
        return {party: PartyDemand(nothing, nothing, nothing, nothing) for party in OF_GROUPS}
    local, is_on_disk = _of_local_reads(state, inputs, reads, shared.window_rounds, round_)
    wants = np.asarray(inputs.wants)
    client = shared.clients.reader[wants["group"][readers_of(state)[0]["want"]]]
    demands = (reads.demand + local, reads.demand, np.where(is_on_disk, local, 0))
    return {
        party: _each_by_itself(rows.of(party, client), reads.broker, demand)
        for party, demand in zip(OF_GROUPS, demands, strict=True)
    }


def _each_by_itself(row: np.ndarray, broker: np.ndarray, demand: np.ndarray) -> PartyDemand:
    """Whoever asks for something has a connection."""
    return PartyDemand(row, broker, demand, (demand > 0).astype(np.int64))


def _of_local_reads(state: State, inputs: Inputs, reads: ReadDemands, window: int, round_: int) -> tuple[np.ndarray, np.ndarray]:
    """By reader what it asks for of a broker's own log, and whether that is not in memory (rounds/kafka/reading/read_log.py).

    Who reads remotely may get to the local log before the next edge.
    """
    readers, of = readers_of(state)
    parts, wants = fields_at(state.partitions, of), np.asarray(inputs.wants)
    of_replicas = fields_at(state.replicas, reads.replica)
    log_start, local_start, leo, log_bytes = map(of_replicas, ("log_start", "local_start", "leo", "log_bytes"))
    want = fields_at(wants, in_force(wants["from_round"], readers["want"], round_))
    appends = due_bytes(inputs, parts("workload"), round_)
    begins_at = want("begins_at")
    begins = np.where(begins_at == EARLIEST, log_start, np.where(begins_at == LATEST, leo, begins_at))
    position = np.where(readers["position"] == NO_POSITION, begins, readers["position"])
    is_remote = reads.demand > 0
    asks = (want("in_force") == 1) & (readers["stopped"] == NO_CAUSE) & (is_remote | (position >= local_start))
    asking = np.flatnonzero(asks & (parts("client_leader") != NOBODY))
    position, appends = np.where(is_remote, local_start, position), np.where(is_remote, 0, appends)
    lacks = log_bytes[asking] - bytes_at(state, inputs, reads.replica[asking], position[asking])
    served = fields_at(state.served, reads.replica[asking])
    share_bytes = served("share_bytes")
    is_beyond = (share_bytes != UNKNOWN) & (lacks > share_bytes)
    most = want("round_bytes")[asking]
    record_bytes = -(-log_bytes // np.maximum(leo, 1))[asking]
    by_count = want("records_per_round")[asking]
    most = np.where(by_count == UNKNOWN, most, np.minimum(most, by_count * record_bytes))
    demand, is_on_disk = np.zeros(len(readers), np.int64), np.zeros(len(readers), bool)
    demand[asking] = np.minimum(most, -(-np.maximum(lacks, 0) // window) + appends[asking])
    is_on_disk[asking] = is_beyond | (position[asking] < served("cold_below"))
    return demand, is_on_disk


def places_of(shared: SharedBudgets) -> int:
    """How many places ClientFlows has of a scenario."""
    return len(party_rows(shared.clients).party) * len(shared.brokers)


def client_flows_of(asked: ClientDemands, places: int, brokers: int) -> ClientFlows:
    """The sums by row and broker, of so many places."""
    place = np.concatenate([asked[party].row * brokers + asked[party].broker for party in PARTIES])
    demand = np.concatenate([asked[party].demand for party in PARTIES])
    connections = np.concatenate([asked[party].connections for party in PARTIES])
    return ClientFlows(sums_of(place, demand, places), sums_of(place, connections, places))


def joined_client_flows(parts: Sequence[ClientFlows]) -> ClientFlows:
    """The flows of all blocks. Where something is asked for there is one connection at least."""
    demand = np.sum([part.demand for part in parts], axis=0)
    connections = np.sum([part.connections for part in parts], axis=0)
    return ClientFlows(demand, np.maximum(connections, demand > 0))
