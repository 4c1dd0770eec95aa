"""Everything that is shared out at a quota edge: what is asked for, summed up, and what comes of it.

Fields are None where a scenario does not limit that.
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
from emulator.engine.budgets.copy_demands import CopyDemands, CopyFlows, copy_demands, copy_flows_of, joined_copy_flows
from emulator.engine.budgets.copy_shares import CopyShares, copy_shares_of
from emulator.engine.budgets.demands import Demands, Flows, Layout, demands, flows_of, joined_flows
from emulator.engine.budgets.read_demands import ReadDemands, ReadFlows, joined_read_flows, read_demands, read_flows_of
from emulator.engine.budgets.read_shares import ReadShares, read_shares_of
from emulator.engine.budgets.shares import FlowShares, shares_of
from emulator.inputs.arrays.shared import SharedBudgets
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.state import State


@dataclass(frozen=True, eq=False)
class AllDemands:
    """Of the partitions of a block. `brokers`: how many the scenario has; `places`: of ClientFlows."""

    fetches: Demands | None
    copies: CopyDemands | None
    reads: ReadDemands | None
    clients: ClientDemands | None
    brokers: int
    places: int


@dataclass(frozen=True, eq=False)
class AllFlows:
    """Sums of demands."""

    fetches: Flows | None
    copies: CopyFlows | None
    reads: ReadFlows | None
    clients: ClientFlows | None


@dataclass(frozen=True, eq=False)
class AllShares:
    """What they get up to the next edge."""

    fetches: FlowShares | None
    copies: CopyShares | None
    reads: ReadShares | None
    clients: ClientShares | None

    @property
    def is_short(self) -> bool:
        """Whether something was used up."""
        return any(shares is not None and shares.is_short for shares in (self.fetches, self.copies, self.reads))

    @property
    def used_up(self) -> np.ndarray:
        """Numbers of the budgets that held fetches back."""
        return np.zeros(0, np.int64) if self.fetches is None else self.fetches.used_up


def all_demands(
    state: State, inputs: Inputs, layout: Layout, shared: SharedBudgets, listed: np.ndarray, round_: int
) -> AllDemands:
    """What is asked for at an edge; `listed`: as of `demands`."""
    copies = copy_demands(state, inputs, layout, shared, round_)
    reads, window = None, shared.window_rounds
    if shared.reads is not None or len(state.reading):
        fetches = {} if shared.reads is None else shared.reads.fetches
        reads = read_demands(state, inputs, layout, fetches, window, round_)
    of_followers, of_clients = None, None
    if shared.limits_fetches:
        of_followers = demands(state, inputs, layout, shared, listed, round_)
        of_clients = client_demands(state, inputs, layout, of_followers.appends, copies, reads, shared, round_)
    return AllDemands(
        of_followers,
        copies if shared.copies is not None else None,
        reads if shared.reads is not None else None,
        of_clients,
        len(shared.brokers),
        places_of(shared),
    )


def all_flows_of(asked: AllDemands) -> AllFlows:
    """The sums of a block's demands."""
    return AllFlows(
        None if asked.fetches is None else flows_of(asked.fetches),
        None if asked.copies is None else copy_flows_of(asked.copies),
        None if asked.reads is None else read_flows_of(asked.reads),
        None if asked.clients is None else client_flows_of(asked.clients, asked.places, asked.brokers),
    )


def all_joined_flows(parts: Sequence[AllFlows]) -> AllFlows:
    """The sums of all blocks."""
    fetches = [part.fetches for part in parts if part.fetches is not None]
    copies = [part.copies for part in parts if part.copies is not None]
    reads = [part.reads for part in parts if part.reads is not None]
    clients = [part.clients for part in parts if part.clients is not None]
    return AllFlows(
        joined_flows(fetches) if fetches else None,
        joined_copy_flows(copies) if copies else None,
        joined_read_flows(reads) if reads else None,
        joined_client_flows(clients) if clients else None,
    )


def all_shares_of(flows: AllFlows, shared: SharedBudgets, round_: int) -> AllShares:
    """Share out what brokers have in a round."""
    copies, reads = None, None
    if flows.copies is not None and shared.copies is not None:
        copies = copy_shares_of(flows.copies, shared.copies, round_)
    if flows.reads is not None and shared.reads is not None:
        reads = read_shares_of(flows.reads, shared.reads, round_)
    if flows.fetches is None or flows.clients is None:
        return AllShares(None, copies, reads, None)
    fetches, clients = shares_of(flows.fetches, flows.clients, shared, round_)
    return AllShares(fetches, copies, reads, clients)
