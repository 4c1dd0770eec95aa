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
from emulator.engine.budgets.demands import Layout, fetcher_of, largest_batches, most_fetched, most_of_rows, whole_bytes
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
    """What a window may have used of budgets, at most. By number of the budget, ascending, fetchers' behind those of brokers:
    what clients append and read, copies move and followers ask for, in bytes per round; how many followers draw on it; the
    largest quota that one of them needed; what a fetch brings all of them at least, if they are behind, and in whole batches.
    `is_unsure`: a follower's credit at the window's end would be another one under a quota.
    """

    budget: np.ndarray
    asked: np.ndarray
    followers: np.ndarray
    needed: np.ndarray
    in_fetch: np.ndarray
    whole: np.ndarray
    is_unsure: bool


USE_COLUMNS = ("budget", "asked", "followers", "needed", "in_fetch", "whole")
"""Of Use, one number a budget each."""


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
    brokers, (of, slot, broker, page_cache, own, _) = len(shared.brokers), layout
    parts, then = np.asarray(before.partitions), np.asarray(after.partitions)
    replicas = np.asarray(after.replicas)
    most_in_round = _most_in_round(inputs, int(parts["scenario"][0]))
    lacked = replicas["lacked_bytes"]
    asked = np.minimum(lacked // shared.window_rounds + 1 + most[of], most_in_round)
    asked = np.where(lacked == UNKNOWN, 0, asked)
    leads, follows = who_led(before, after, of)
    keeps_isr = _stays(before, after) & (parts["isr_shrinks"] == then["isr_shrinks"]) & (parts["known_isr"] == parts["isr"])
    is_inside = keeps_isr[of] & (parts["known_isr"][of] >> slot & 1 == 1)
    drawn, (in_fetch, whole) = list[tuple[np.ndarray, ...]](), least_in_fetch(inputs)

    def draw(number: np.ndarray, follower: np.ndarray) -> None:
        one = np.ones(len(follower), np.int64)
        drawn.append((number, asked[follower], one, replicas["needed_bytes"][follower], in_fetch * one, whole * one))

    def of_clients(number: np.ndarray, most_bytes: np.ndarray) -> None:
        nothing = np.zeros(len(number), np.int64)
        drawn.append((number, most_bytes, nothing, nothing, nothing, nothing))

    def numbers(kind: str, at: np.ndarray) -> np.ndarray:
        return KINDS.index(kind) * brokers + at

    for kind in ("network_in", "disk"):
        of_clients(numbers(kind, broker[leads]), most[of[leads]])
        draw(numbers(kind, broker[follows]), np.flatnonzero(follows))
    for kind, most_bytes in _most_of_clients(after):
        of_clients(numbers(kind, broker), most_bytes)
    of_leaders, of_followers = np.logical_or.reduce(listed.listed)

    def throttled(kind: str, at: np.ndarray, follower: np.ndarray) -> None:
        """A throttle counts all, and holds who may be outside the ISR. `at`: the broker of each follower's throttle."""
        inside = is_inside[follower]
        draw(numbers(kind, at[~inside]), follower[~inside])
        of_clients(numbers(kind, at[inside]), asked[follower[inside]])

    own_throttle = np.flatnonzero(follows & of_followers)
    throttled("follower_throttle", broker[own_throttle], own_throttle)
    leader, follower = pairs_of(parts, leads, follows, of)
    draw(numbers("network_out", broker[leader]), follower)
    is_limited = page_cache[leader] != UNKNOWN
    draw(numbers("disk", broker[leader[is_limited]]), follower[is_limited])
    leaders_throttle = np.flatnonzero(of_leaders[leader])
    throttled("leader_throttle", broker[leader[leaders_throttle]], follower[leaders_throttle])
    if shared.fetchers is not None:
        draw(len(KINDS) * brokers + fetcher_of(broker[leader], broker[follower], own[follower], shared), follower)
    return summed_use([np.concatenate(column) for column in zip(*drawn, strict=True)], bool(replicas["credit_unsure"].any()))


def summed_use(columns: Sequence[np.ndarray], is_unsure: bool) -> Use:
    """The use of the columns of Use, in any order and each budget as often as may be."""
    number, asked, followers, needed, in_fetch, whole = columns
    budget, place = np.unique(number, return_inverse=True)
    place, most = place.reshape(-1), np.zeros(len(budget))
    np.maximum.at(most, place, needed)
    sums = [np.bincount(place, values, len(budget)) for values in (asked, followers, in_fetch, whole)]
    return Use(budget, sums[0], sums[1], most, sums[2], sums[3], is_unsure)


def joined_use(parts: Sequence[Use]) -> Use:
    """The use of all blocks."""
    columns = [np.concatenate([getattr(part, name) for part in parts]) for name in USE_COLUMNS]
    return summed_use(columns, any(part.is_unsure for part in parts))


def _most_of_clients(state: State) -> Iterator[tuple[str, np.ndarray]]:
    """(kind of budget, by replica the most that was drawn on it in a round) by consumers and copies."""
    if len(state.served):
        served = np.asarray(state.served)
        yield "network_out", served["most_sent_bytes"]
        yield "network_in", served["most_downloaded_bytes"]
        yield "disk", np.where((served["share_bytes"] == UNKNOWN) & (served["cold_below"] == 0), 0, served["most_sent_bytes"])
    if len(state.tiers):
        yield "network_out", np.asarray(state.tiers)["most_uploaded_bytes"]


def least_in_fetch(inputs: Inputs) -> tuple[int, int]:
    """Bytes that a fetch brings at least of a partition that is behind, whatever limits its broker has; in whole batches."""
    limits = np.unique(_fetch_limits(inputs))
    limits = limits[limits != UNKNOWN]
    batches = np.unique(largest_batches(inputs))
    least, part = int(limits[0]), (whole_bytes(limits[:, None], batches) / limits[:, None]).min()
    return least, int(least * part)


def _fetch_limits(inputs: Inputs) -> np.ndarray:
    """All values of replica.fetch.max.bytes and replica.fetch.response.max.bytes; UNKNOWN of brokers without own ones."""
    rows = (np.asarray(inputs.settings), np.asarray(inputs.spans))
    return np.concatenate([of[name] for of in rows for name in ("fetch_max_bytes", "response_max_bytes")])


def _most_in_round(inputs: Inputs, scenario: int) -> int:
    """Bytes that a follower fetches in a round at most, whatever limits its broker has, and whatever batches there are."""
    limits = np.unique(_fetch_limits(inputs))
    return int(most_fetched(inputs, scenario, np.maximum(limits, largest_batches(inputs).max())).max())


def _stays(before: State, after: State) -> np.ndarray:
    """By partition, whether nobody else was elected in between."""
    parts, then = np.asarray(before.partitions), np.asarray(after.partitions)
    found: np.ndarray = (parts["client_epoch"] == then["client_epoch"]) & (parts["client_leader"] == then["client_leader"])
    return found


def who_led(before: State, after: State, of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """By replica, whether it may have led between two states, and whether it may have followed. `of`: places of partitions."""
    parts, stays = np.asarray(before.partitions), _stays(before, after)
    slot = np.arange(len(of)) - parts["first_replica"][of]
    leader = parts["client_leader"][of]
    leads = np.where(stays[of], slot == leader, True)
    follows = np.where(stays[of], (slot != leader) & (leader != NOBODY), True)
    return leads, follows


def pairs_of(parts: np.ndarray, leads: np.ndarray, follows: np.ndarray, of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
    return most_of_rows(first, np.where(is_meant, sizes, 0))


def is_exceeded(parts: Sequence[Use], shared: SharedBudgets, from_round: int, to_round: int) -> bool:
    """Whether a budget may have held somebody back in the window. `parts`: of all blocks."""
    use = joined_use(parts)
    if use.is_unsure and to_round < shared.rounds:
        return True
    in_force = (shared.from_round < to_round) & (np.append(shared.from_round[1:], shared.rounds) > from_round)
    of_brokers = shared.budgets[in_force].min(axis=0)
    is_fetcher = use.budget >= len(of_brokers)
    budget = of_brokers[np.where(is_fetcher, 0, use.budget)]
    if shared.fetchers is not None:
        budget = np.where(is_fetcher, shared.fetchers.most_bytes(use.followers, use.in_fetch, use.whole), budget)
    # A throttle that nobody is held by may be asked for any amount.
    is_idle = ~is_fetcher & (use.budget >= KINDS.index("leader_throttle") * len(shared.brokers)) & (use.followers == 0)
    left = np.where(is_idle, np.inf, budget - use.asked)
    each = np.floor(np.divide(left, use.followers, out=np.full(len(left), np.inf), where=use.followers > 0))
    return bool((((use.asked > 0) & (left < 0)) | ((use.followers > 0) & (each < use.needed))).any())
