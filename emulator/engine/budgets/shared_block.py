"""One of the blocks whose partitions share budgets."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from emulator.engine.budgets.all_budgets import AllDemands, AllShares, all_demands
from emulator.engine.budgets.client_shares import limit_clients
from emulator.engine.budgets.demands import layout_of
from emulator.engine.budgets.first_play import Use, forget_use, most_appended, use_of
from emulator.engine.budgets.shares import quotas_of
from emulator.engine.budgets.steady import stayed_steady, steady_until
from emulator.engine.stretches import Stretches
from emulator.inputs.arrays import Prepared, read_block
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.state import State


def block_payloads(prepared: Prepared, scenario: int, blocks: Sequence[np.ndarray]) -> list[bytes]:
    """What each of these blocks of places needs, all of a scenario, given by its place."""
    shared, listed = prepared.shared_of(scenario)
    first_place = prepared.first_place[scenario]
    first_slot = prepared.slots_of(prepared.first_place[scenario : scenario + 1])[0]
    found = []
    for block in blocks:
        places = block - first_place
        reads = None if shared.reads is None else shared.reads.of(places)
        own_shared = replace(shared, reads=reads, clients=shared.clients.of(places))
        slots = prepared.slots_of(block)
        own = (prepared.block(block), listed.of(slots - first_slot), own_shared, prepared.page_cache_share[slots])
        found.append(pickle.dumps(own, protocol=5))
    return found


class SharedBlock:
    """One of the blocks whose partitions share budgets; `payload`: one of `block_payloads`."""

    def __init__(self, payload: Any, state_at: Sequence[int]) -> None:
        packed, self._listed, self.shared, page_cache = pickle.loads(payload)
        self.block = read_block(packed)
        self.layout = layout_of(self.block.state, self.shared, page_cache, self.block.fetcher)
        self.stretches = Stretches(self.block, state_at)
        self._begin = self.stretches.mark()
        self._may_stay: np.ndarray | None = None

    def play_to(self, round_: int) -> None:
        """Play the rounds before this one. Partitions that the last edge gave what they had do not stop while they are quiet."""
        self.stretches.play_to(round_, self._may_stay)

    def demands(self, round_: int) -> AllDemands:
        """What its partitions ask for at an edge."""
        return all_demands(self.stretches.state, self.block.inputs, self.layout, self.shared, self._listed.at(round_), round_)

    def begin_window(self) -> None:
        """A window of the first play begins: what is used is counted anew, and the window may be taken back."""
        self._may_stay = None
        forget_use(self.stretches.state)
        self._begin = self.stretches.mark()

    @property
    def begin(self) -> State:
        """Its state where the window, or what may be taken back, began."""
        return self._begin.state

    def use(self, from_round: int, to_round: int) -> Use:
        """What the window used, of these rounds."""
        before, after, inputs = self._begin.state, self.stretches.state, self.block.inputs
        most = most_appended(self.layout.first_workload, inputs, from_round, to_round)
        return use_of(before, after, inputs, self.layout, self.shared, self._listed, most)

    def take_back(self) -> None:
        """Forget the window."""
        self.stretches.go_back(self._begin)

    def steady_until(self, asked: AllDemands, round_: int) -> int:
        """The last round before which its partitions ask for what they ask for at an edge, `round_` where that is not known; see
        steady.py. Limits of the edge are set.
        """
        if self._may_stay is None:
            return round_
        until = steady_until(self.stretches.state, self.block.inputs, self.layout, asked.fetches, self.shared, round_)
        quiet = np.where(self._may_stay, np.asarray(self.stretches.state.partitions)["quiet_until"], round_)
        return int(np.maximum(until, quiet).min())

    def mark(self) -> None:
        """Rounds begin that may be taken back."""
        self._begin = self.stretches.mark()

    def begin_steady(self) -> None:
        """Rounds begin in which its partitions may be steady; they may be taken back."""
        self.mark()
        np.asarray(self.stretches.state.replicas)["lacked_bytes"] = UNKNOWN

    def was_steady(self, last_edge: int, to_round: int) -> bool:
        """Whether its partitions were steady up to an edge that was passed over, after rounds up to a later one."""
        before, after = self._begin.state, self.stretches.state
        stayed = stayed_steady(before, after, self.block.inputs, self.layout, to_round - 1)
        if self._may_stay is not None:
            stayed |= self._may_stay & (np.asarray(before.partitions)["quiet_until"] >= last_edge)
        return bool(stayed.all())

    def limit(self, asked: AllDemands, shares: AllShares) -> None:
        """Set what its followers may fetch, its leaders take and upload, and its readers get, from now on."""
        before = self._limits()
        self._set_limits(asked, shares)
        state = self.stretches.state
        if len(state.tiers) or len(state.reading):
            return
        (of_followers, of_producers), after = before, self._limits()
        changed = of_producers != after[1]
        changed[self.layout.partition[of_followers != after[0]]] = True
        self._may_stay = ~changed
        if self.stretches.are_behind(changed):
            self._put_limits(before)
            self.stretches.catch_up(changed)
            self._put_limits(after)

    def _limits(self) -> tuple[np.ndarray, np.ndarray]:
        """By replica what it may fetch in a round, by partition what producers may append."""
        state = self.stretches.state
        return np.asarray(state.replicas)["quota_bytes"].copy(), np.asarray(state.partitions)["produce_quota_bytes"].copy()

    def _put_limits(self, limits: tuple[np.ndarray, np.ndarray]) -> None:
        state = self.stretches.state
        np.asarray(state.replicas)["quota_bytes"], np.asarray(state.partitions)["produce_quota_bytes"] = limits

    def _set_limits(self, asked: AllDemands, shares: AllShares) -> None:
        state = self.stretches.state
        np.asarray(state.replicas)["quota_bytes"] = quotas_of(asked.fetches, shares.fetches)
        limit_clients(state, asked.clients, shares.clients)


def with_first_places(blocks: Sequence[SharedBlock]) -> Iterator[tuple[SharedBlock, int]]:
    """Blocks, each with the place of its first partition among those of all."""
    first = 0
    for block in blocks:
        yield block, first
        first += len(np.asarray(block.stretches.state.partitions))
