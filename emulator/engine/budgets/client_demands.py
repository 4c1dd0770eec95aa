"""What producers, consumers and copies of a block ask of brokers' network and disks (docs/kafka_rounds.md, Shared bandwidth)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from emulator.engine.budgets.copy_demands import CopyDemands
from emulator.engine.budgets.demands import Layout, bytes_of_workload, due_bytes, in_force, sums_of
from emulator.engine.budgets.read_demands import ReadDemands, bytes_at
from emulator.rounds.kafka.constants import NOBODY, UNKNOWN
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.reading.records import EARLIEST, LATEST, NO_CAUSE, NO_POSITION, Reader
from emulator.rounds.kafka.state import State
from emulator.rounds.kafka.tier.records import NO_SEGMENT
from emulator.rounds.packed import entries_of

PARTIES = ("producers", "consumers", "uploads", "downloads")
"""Who sends to a broker, or has it send, beside followers; `downloads`: what it reads of remote storage for consumers."""

DRAWS: Mapping[str, tuple[str, ...]] = {
    "producers": ("network_in", "disk"),
    "consumers": ("network_out",),
    "uploads": ("network_out",),
    "downloads": ("network_in",),
}
"""Party -> the budgets of the broker that it draws on."""


@dataclass(frozen=True, eq=False)
class PartyDemand:
    """Of one party, by partition, reader or replica: place of its broker; what is asked for, bytes per round; connections."""

    broker: np.ndarray
    demand: np.ndarray
    connections: np.ndarray


ClientDemands = Mapping[str, PartyDemand]
"""By party."""


@dataclass(frozen=True, eq=False)
class ClientFlows:
    """By party and broker (place: party x brokers + place of the broker), all of them: what is asked for, in bytes per round, and
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
    copies: CopyDemands,
    reads: ReadDemands | None,
    window: int,
    round_: int,
) -> ClientDemands:
    """What is asked for at an edge, before its round is played; inputs are those of the round.

    Producers: what the workload appends (`appends`, by partition), and what waits, in even parts over the window; on the broker
    of T. Consumers: what lies before them, likewise, at most what their fetches bring. `copies`, and `reads`, None if nobody
    reads: what those ask for of remote storage.
    """
    return {
        "producers": _of_producers(state, inputs, layout, appends, window, round_),
        **_of_consumers(state, inputs, reads, window, round_),
        "uploads": _of_copies(state, layout, copies),
    }


def _of_producers(state: State, inputs: Inputs, layout: Layout, appends: np.ndarray, window: int, round_: int) -> PartyDemand:
    parts = np.asarray(state.partitions)
    waits = parts["waiting_rounds"] * bytes_of_workload(inputs, parts["waiting_workload"])
    due = due_bytes(inputs, parts["workload"], round_)
    # Whoever has something waiting goes on when T serves again.
    wanted = np.where(parts["waiting_rounds"] > 0, due + -(-waits // window), appends)
    leader = parts["first_replica"] + np.maximum(parts["client_leader"], 0)
    return _each_by_itself(layout.broker[leader], wanted)


def _of_copies(state: State, layout: Layout, copies: CopyDemands) -> PartyDemand:
    under_way = np.asarray(state.tiers)["copying"] != NO_SEGMENT if len(state.tiers) else copies.demand > 0
    return PartyDemand(layout.broker, copies.demand, under_way.astype(np.int64))


def _of_consumers(state: State, inputs: Inputs, reads: ReadDemands | None, window: int, round_: int) -> dict[str, PartyDemand]:
    """Of consumers, and of what their brokers read of remote storage for them."""
    if reads is None or not len(state.reading):
        nothing = np.zeros(0, np.int64)
        return {party: PartyDemand(nothing, nothing, nothing) for party in ("consumers", "downloads")}
    local = _of_local_reads(state, inputs, reads, window, round_)
    return {
        "consumers": _each_by_itself(reads.broker, reads.demand + local),
        "downloads": _each_by_itself(reads.broker, reads.demand),
    }


def _each_by_itself(broker: np.ndarray, demand: np.ndarray) -> PartyDemand:
    """Whoever asks for something has a connection."""
    return PartyDemand(broker, demand, (demand > 0).astype(np.int64))


def _of_local_reads(state: State, inputs: Inputs, reads: ReadDemands, window: int, round_: int) -> np.ndarray:
    """By reader what it asks for of a broker's own log; who reads remotely may get to it before the next edge."""
    readers = np.asarray(entries_of(Reader, state.readers))
    of = np.repeat(np.arange(len(state.readers.offsets) - 1), np.diff(state.readers.offsets))
    parts, replicas, wants = np.asarray(state.partitions)[of], np.asarray(state.replicas)[reads.replica], np.asarray(inputs.wants)
    want, appends = wants[in_force(wants["from_round"], readers["want"], round_)], due_bytes(inputs, parts["workload"], round_)
    begins = np.where(want["begins_at"] == EARLIEST, replicas["log_start"], want["begins_at"])
    begins = np.where(want["begins_at"] == LATEST, replicas["leo"], begins)
    position = np.where(readers["position"] == NO_POSITION, begins, readers["position"])
    is_remote = reads.demand > 0
    asks = (want["in_force"] == 1) & (readers["stopped"] == NO_CAUSE) & (is_remote | (position >= replicas["local_start"]))
    asking = np.flatnonzero(asks & (parts["client_leader"] != NOBODY))
    position, appends = np.where(is_remote, replicas["local_start"], position), np.where(is_remote, 0, appends)
    lacks = replicas["log_bytes"][asking] - bytes_at(state, inputs, reads.replica[asking], position[asking])
    most = want["round_bytes"][asking]
    record_bytes = -(-replicas["log_bytes"] // np.maximum(replicas["leo"], 1))[asking]
    by_count = want["records_per_round"][asking]
    most = np.where(by_count == UNKNOWN, most, np.minimum(most, by_count * record_bytes))
    demand = np.zeros(len(readers), np.int64)
    demand[asking] = np.minimum(most, -(-np.maximum(lacks, 0) // window) + appends[asking])
    return demand


def client_flows_of(asked: ClientDemands, brokers: int) -> ClientFlows:
    """The sums by party and broker."""
    demand = [sums_of(asked[party].broker, asked[party].demand, brokers) for party in PARTIES]
    connections = [sums_of(asked[party].broker, asked[party].connections, brokers) for party in PARTIES]
    return ClientFlows(np.concatenate(demand), np.concatenate(connections))


def joined_client_flows(parts: Sequence[ClientFlows]) -> ClientFlows:
    """The flows of all blocks. Where something is asked for there is one connection at least."""
    demand = np.sum([part.demand for part in parts], axis=0)
    connections = np.sum([part.connections for part in parts], axis=0)
    return ClientFlows(demand, np.maximum(connections, demand > 0))
