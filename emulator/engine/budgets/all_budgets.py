"""Everything that is shared out at a quota edge: what is asked for, summed up, and what comes of it.

Followers' fetches, and what clients and copies draw on the same network and disks; copies of one broker, and remote reads, take
turns besides (turns.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from emulator.engine.budgets.client_demands import (
    ClientDemands,
    ClientFlows,
    client_demands,
    client_flows_of,
    joined_client_flows,
    places_of,
)
from emulator.engine.budgets.client_shares import ClientShares
from emulator.engine.budgets.copy_demands import copy_demands
from emulator.engine.budgets.demands import Demands, Flows, Layout, demands, flows_of, joined_flows
from emulator.engine.budgets.read_demands import read_demands
from emulator.engine.budgets.shares import FlowShares, shares_of
from emulator.inputs.arrays.shared import SharedBudgets
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.state import State


@dataclass(frozen=True, eq=False)
class AllDemands:
    """Of the partitions of a block. `brokers`: how many the scenario has; `places`: of ClientFlows."""

    fetches: Demands
    clients: ClientDemands
    brokers: int
    places: int


@dataclass(frozen=True, eq=False)
class AllFlows:
    """Sums of demands."""

    fetches: Flows
    clients: ClientFlows


@dataclass(frozen=True, eq=False)
class AllShares:
    """What they get up to the next edge."""

    fetches: FlowShares
    clients: ClientShares


def all_demands(
    state: State, inputs: Inputs, layout: Layout, shared: SharedBudgets, listed: np.ndarray, round_: int
) -> AllDemands:
    """What is asked for at an edge; `listed`: as of `demands`."""
    copies = copy_demands(state, inputs, layout, shared.window_rounds, round_)
    reads = read_demands(state, inputs, layout, shared.window_rounds, round_) if len(state.reading) else None
    of_followers = demands(state, inputs, layout, shared, listed, round_)
    of_clients = client_demands(state, inputs, layout, of_followers.appends, copies, reads, shared, round_)
    return AllDemands(of_followers, of_clients, len(shared.brokers), places_of(shared))


def all_flows_of(asked: AllDemands) -> AllFlows:
    """The sums of a block's demands."""
    return AllFlows(flows_of(asked.fetches), client_flows_of(asked.clients, asked.places, asked.brokers))


def all_joined_flows(parts: Sequence[AllFlows]) -> AllFlows:
    """The sums of all blocks."""
    return AllFlows(joined_flows([part.fetches for part in parts]), joined_client_flows([part.clients for part in parts]))


def all_shares_of(flows: AllFlows, shared: SharedBudgets, round_: int) -> AllShares:
    """Share out what brokers have in a round."""
    return AllShares(*shares_of(flows.fetches, flows.clients, shared, round_))
