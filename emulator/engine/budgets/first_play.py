"""The first play of partitions that share budgets: as if none bound. Whether that was so is judged window by window.

A window is some rounds from a quota edge to a later one. Of each follower it is known how far it was behind at most and which
quota its fetches would have needed (rounds/kafka/shared_budgets.py); so the demands of any edge in the window have a bound, and
what they leave of a budget to each follower. Where that is enough for every follower, all edges of the window would have held
nobody back: the rounds are as they would have been.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from emulator.bandwidth.budgets import KINDS
from emulator.engine.budgets.demands import Layout, largest_batches, most_fetched
from emulator.engine.budgets.edges import Edge, first_edge
from emulator.inputs.arrays.shared import SharedBudgets
from emulator.inputs.arrays.throttled import ThrottledReplicas
from emulator.rounds.kafka.constants import NOBODY, UNKNOWN
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.state import State

WINDOWS = 8
"""Windows of a run, about: between two of them every partition stops once."""


@dataclass(frozen=True, eq=False)
class Use:
    """What a window may have used of budgets, at most. By number of the budget: what clients append and read, copies move and
    followers ask for, in bytes per round; how many followers draw on it; the largest quota that one of them needed. `is_unsure`:
    a follower's credit at the window's end would be another one under a quota.
    """

    asked: np.ndarray
    followers: np.ndarray
    needed: np.ndarray
    is_unsure: bool


def calm_edges(shared: SharedBudgets) -> list[Edge]:
    """All edges of a run in which nothing is ever short."""
    edges, edge = [], first_edge(shared)
    while True:
        edges.append(edge)
        following = edge.following(shared, False)
        if following is None:
            return edges
        edge = following


def windows_of(shared: SharedBudgets) -> list[tuple[Edge, int]]:
    """The edges at which windows of the first play begin, and where each ends; the last one ends with the run."""
    edges = calm_edges(shared)
    rounds = np.array([edge.round for edge in edges])
    wanted = np.arange(WINDOWS) * shared.rounds // WINDOWS
    begins = [edges[at] for at in np.unique(np.searchsorted(rounds, wanted)).tolist() if at < len(edges)]
    return list(zip(begins, [*(edge.round for edge in begins[1:]), shared.rounds], strict=True))


def forget_use(state: State) -> None:
    """A window begins."""
    replicas = np.asarray(state.replicas)
    replicas["lacked_bytes"], replicas["needed_bytes"] = UNKNOWN, 0
    for name in ("most_sent_bytes", "most_downloaded_bytes") if len(state.served) else ():
        np.asarray(state.served)[name] = 0
    if len(state.tiers):
        np.asarray(state.tiers)["most_uploaded_bytes"] = 0


def use_of(
    before: State,
    after: State,
    inputs: Inputs,
    layout: Layout,
    shared: SharedBudgets,
    listed: ThrottledReplicas,
    most: np.ndarray,
) -> Use:
    """What the partitions of a block may have used in a window, from its states at the window's ends.

    `most`: by partition, what its clients append in a round at most (`most_appended`).
    """
    brokers, (of, slot, broker, page_cache) = len(shared.brokers), layout
    parts, then = np.asarray(before.partitions), np.asarray(after.partitions)
    replicas = np.asarray(after.replicas)
    most_in_round = _most_in_round(inputs, int(parts["scenario"][0]))
    lacked = replicas["lacked_bytes"]
    asked = np.minimum(lacked // shared.window_rounds + 1 + most[of], most_in_round)
    asked = np.where(lacked == UNKNOWN, 0, asked)
    stays = (parts["client_epoch"] == then["client_epoch"]) & (parts["client_leader"] == then["client_leader"])
    leads = np.where(stays[of], slot == parts["client_leader"][of], True)
    follows = np.where(stays[of], (slot != parts["client_leader"][of]) & (parts["client_leader"][of] != NOBODY), True)
    keeps_isr = stays & (parts["isr_shrinks"] == then["isr_shrinks"]) & (parts["known_isr"] == parts["isr"])
    is_inside = keeps_isr[of] & (parts["known_isr"][of] >> slot & 1 == 1)
    use = Use(np.zeros(len(KINDS) * brokers), np.zeros(len(KINDS) * brokers), np.zeros(len(KINDS) * brokers), False)

    def draw(kind: str, at: np.ndarray, follower: np.ndarray) -> None:
        number = KINDS.index(kind) * brokers + at
        np.add.at(use.asked, number, asked[follower])
        np.add.at(use.followers, number, 1)
        np.maximum.at(use.needed, number, replicas["needed_bytes"][follower])

    for kind in ("network_in", "disk"):
        np.add.at(use.asked, KINDS.index(kind) * brokers + broker[leads], most[of[leads]])
        draw(kind, broker[follows], np.flatnonzero(follows))
    for kind, most_bytes in _most_of_clients(after):
        np.add.at(use.asked, KINDS.index(kind) * brokers + broker, most_bytes)
    of_leaders, of_followers = np.logical_or.reduce(listed.listed)
    held = np.flatnonzero(follows & ~is_inside & of_followers)
    draw("follower_throttle", broker[held], held)
    leader, follower = _pairs(parts, leads, follows, of)
    draw("network_out", broker[leader], follower)
    is_limited = page_cache[leader] != UNKNOWN
    draw("disk", broker[leader[is_limited]], follower[is_limited])
    held = np.flatnonzero(of_leaders[leader] & ~is_inside[follower])
    draw("leader_throttle", broker[leader[held]], follower[held])
    return Use(use.asked, use.followers, use.needed, bool(replicas["credit_unsure"].any()))


def _most_of_clients(state: State) -> Iterator[tuple[str, np.ndarray]]:
    """(kind of budget, by replica the most that was drawn on it in a round) by consumers and copies."""
    if len(state.served):
        served = np.asarray(state.served)
        yield "network_out", served["most_sent_bytes"]
        yield "network_in", served["most_downloaded_bytes"]
        yield "disk", np.where((served["share_bytes"] == UNKNOWN) & (served["cold_below"] == 0), 0, served["most_sent_bytes"])
    if len(state.tiers):
        yield "network_out", np.asarray(state.tiers)["most_uploaded_bytes"]


def _most_in_round(inputs: Inputs, scenario: int) -> int:
    """Bytes that a follower fetches in a round at most, whatever limits its broker has, and whatever batches there are."""
    rows = (np.asarray(inputs.settings), np.asarray(inputs.spans))
    limits = np.concatenate([of[name] for of in rows for name in ("fetch_max_bytes", "response_max_bytes")])
    return int(most_fetched(inputs, scenario, np.maximum(np.unique(limits), largest_batches(inputs).max())).max())


def _pairs(parts: np.ndarray, leads: np.ndarray, follows: np.ndarray, of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(replicas that may have led, others of their partitions that may have followed them): every such pair once."""
    leaders = np.flatnonzero(leads)
    slots = parts["slots"][of[leaders]]
    leader = np.repeat(leaders, slots)
    within = np.arange(len(leader)) - np.repeat(np.cumsum(slots) - slots, slots)
    other = parts["first_replica"][of[leader]] + within
    are_two = (other != leader) & follows[other]
    return leader[are_two], other[are_two]


def most_appended(first: np.ndarray, inputs: Inputs, from_round: int, to_round: int) -> np.ndarray:
    """By partition: bytes that its clients append in a round of [from_round, to_round), at most. `first`: its first workload."""
    workload = np.asarray(inputs.workload)
    begins = workload["from_round"]
    sizes = np.append(np.asarray(inputs.patterns)["size_bytes"], 0)[workload["pattern"]]  # without a pattern it is the last
    is_meant = (begins < to_round) & (
        np.append(begins[1:], 0) > from_round
    )  # behind a partition's last one, at FOREVER, is another
    lists, of_partition = np.unique(first, return_inverse=True)
    found: np.ndarray = np.maximum.reduceat(np.where(is_meant, sizes, 0), lists)[of_partition.reshape(-1)]
    return found


def is_exceeded(parts: Sequence[Use], shared: SharedBudgets, from_round: int, to_round: int) -> bool:
    """Whether a budget may have held somebody back in the window. `parts`: of all blocks."""
    if any(part.is_unsure for part in parts) and to_round < shared.rounds:
        return True
    asked, followers = sum(part.asked for part in parts), sum(part.followers for part in parts)
    needed = np.maximum.reduce([part.needed for part in parts])
    in_force = (shared.from_round < to_round) & (np.append(shared.from_round[1:], shared.rounds) > from_round)
    left = shared.budgets[in_force].min(axis=0) - asked
    each = np.floor(np.divide(left, followers, out=np.full(len(left), np.inf), where=np.asarray(followers) > 0))
    return bool((((asked > 0) & (left < 0)) | ((followers > 0) & (each < needed))).any())
