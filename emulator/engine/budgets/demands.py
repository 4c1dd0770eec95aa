"""What the followers of a block ask of shared budgets at a quota edge (docs/kafka_rounds.md, Shared bandwidth)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from emulator.inputs.arrays.shared import SharedBudgets
from emulator.rounds.kafka.constants import CLIENTS_CUT, NOBODY, NOT_RUNNING, OFFLINE, UNKNOWN
from emulator.rounds.kafka.fetches_of_round import US_PER_SECOND
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.state import State
from emulator.rounds.records import fields_at

NO_FLOW = -1
MOST_BYTES = 1 << 60
"""More in a round is never met."""


@dataclass(frozen=True, eq=False)
class Demands:
    """By replica: its `flow`, NO_FLOW for none, and what it asks for, in bytes per round; `follows`: 1, of a leader 0;
    `in_fetch`: what a fetch brings it, `whole`: in whole batches. By partition: what its clients append in the round.

    A flow is what one fetcher brings from leaders on one broker to followers on another, under the same throttles, in the ISR or
    not, from memory or not: see `flow_of`.
    """

    flow: np.ndarray
    demand: np.ndarray
    follows: np.ndarray
    in_fetch: np.ndarray
    whole: np.ndarray
    appends: np.ndarray


@dataclass(frozen=True, eq=False)
class Flows:
    """By flow, ascending: sums of Demands over its replicas. `asking`: followers that ask for something."""

    flow: np.ndarray
    demand: np.ndarray
    followers: np.ndarray
    asking: np.ndarray
    in_fetch: np.ndarray
    whole: np.ndarray


FLOW_COLUMNS = ("flow", "demand", "followers", "asking", "in_fetch", "whole")
"""Of Flows."""

IN_SYNC, BY_LEADER, BY_FOLLOWER, FROM_DISK = 8, 4, 2, 1
"""What a flow may have: it counts on the leader's or the follower's throttle, which holds it unless it is in sync; the leader's
broker reads it from its disk.
"""
SIZE, SIZES = 16, 64
"""And how much its followers ask for each: a power of two, where they share fetchers."""
OF_FETCHER = SIZE * SIZES


def flow_of(fetcher: np.ndarray, flags: np.ndarray, demand: np.ndarray, shared: SharedBudgets) -> np.ndarray:
    """The number of a flow: of its fetcher (`fetcher_of`), and what it has."""
    size = 0 if shared.fetchers is None else np.frexp(demand)[1].astype(np.int64)
    return fetcher * OF_FETCHER + size * SIZE + flags


def fetcher_of(source: np.ndarray, broker: np.ndarray, own: np.ndarray, shared: SharedBudgets) -> np.ndarray:
    """The number of a fetcher: places of the leader's and the follower's broker, and which of these two brokers' it is (`own`);
    where partitions do not share them there is one of two brokers.
    """
    pair = source * len(shared.brokers) + broker
    return pair if shared.fetchers is None else pair * shared.fetchers_per_pair + own


def brokers_of(fetcher: np.ndarray, shared: SharedBudgets) -> tuple[np.ndarray, np.ndarray]:
    """The places of (the leader's, the follower's) broker of a fetcher."""
    pair = fetcher if shared.fetchers is None else fetcher // shared.fetchers_per_pair
    source, broker = np.divmod(pair, len(shared.brokers))
    return source, broker


class Layout(NamedTuple):
    """By replica of a block: its partition's place, its slot, the place of its broker, its share of the broker's page cache in
    bytes, UNKNOWN for any number, and which of the fetchers of two brokers its partition's followers have; by partition the
    place of its first workload.
    """

    partition: np.ndarray
    slot: np.ndarray
    broker: np.ndarray
    page_cache: np.ndarray
    fetcher: np.ndarray
    first_workload: np.ndarray


def layout_of(state: State, shared: SharedBudgets, page_cache: np.ndarray, fetcher: np.ndarray) -> Layout:
    """The layout of a block, which no round changes; `fetcher`: by partition."""
    parts = np.asarray(state.partitions)
    of = np.repeat(np.arange(len(parts)), parts["slots"])
    broker = np.searchsorted(shared.brokers, np.asarray(state.replicas)["broker"])
    slot = np.arange(len(of)) - parts["first_replica"][of]
    return Layout(of, slot, broker, page_cache, fetcher[of], parts["workload"].copy())


def is_replica(state: State, layout: Layout) -> np.ndarray:
    """By replica of a block, whether it is one in a state: records of who left stay, with its duty and its copy for a round."""
    found: np.ndarray = np.asarray(state.partitions)["assigned"][layout.partition] >> layout.slot & 1 == 1
    return found


def demands(state: State, inputs: Inputs, layout: Layout, shared: SharedBudgets, listed: np.ndarray, round_: int) -> Demands:
    """What is asked for at an edge, before its round is played; inputs are those of the round.

    `listed`: by list of throttled replicas and replica, whether it is named in this round.
    """
    parts, replicas, (of, slot, broker, page_cache, own, first) = np.asarray(state.partitions), np.asarray(state.replicas), layout
    spans, topics = np.asarray(inputs.spans), np.asarray(inputs.settings)
    span = in_force(spans["from_round"], replicas["span"], round_)
    setting = in_force(topics["from_round"], parts["settings"], round_)

    def limit(name: str) -> np.ndarray:
        return np.where(spans[name][span] == UNKNOWN, topics[name][setting][of], spans[name][span])

    runs = spans["status"][span] & NOT_RUNNING == 0
    client_leader, log_bytes = parts["client_leader"], replicas["log_bytes"]
    has_leader = client_leader != NOBODY
    leader = parts["first_replica"] + np.maximum(client_leader, 0)
    serves = leader_serves(state, inputs, round_)
    is_cut = spans["status"][span][leader] & CLIENTS_CUT != 0
    appends = np.where(serves & ~is_cut, due_bytes(inputs, parts["workload"], round_), 0)
    follows = has_leader[of] & (slot != client_leader[of])
    lacks = np.maximum(log_bytes[leader][of] - log_bytes, 0)
    limit_bytes = np.minimum(limit("fetch_max_bytes"), limit("response_max_bytes"))
    batch_bytes = largest_batches(inputs)[pattern_in_force(inputs, parts["workload"], round_)]
    most = most_fetched(inputs, parts["scenario"][of], np.maximum(limit_bytes, batch_bytes[of]))
    wanted = np.minimum(-(-lacks // shared.window_rounds) + appends[of], most)
    asks = follows & is_replica(state, layout) & runs & serves[of]
    of_leaders, of_followers = listed[0][leader][of], listed[1]
    # A T that restarts has read what the controller holds; any other knows what it knew.
    restarts = runs[leader] & (replicas["status"][leader] & OFFLINE != 0)
    in_sync = np.where(restarts, parts["isr"], parts["known_isr"])[of] >> slot & 1 == 1
    in_memory = page_cache[leader][of]
    flags = np.where(follows & of_leaders, BY_LEADER, 0) + np.where(follows & of_followers, BY_FOLLOWER, 0)
    flags += np.where(follows & in_sync, IN_SYNC, 0)
    flags += np.where((in_memory != UNKNOWN) & (lacks > in_memory), FROM_DISK, 0)
    sent = largest_sent(first, inputs, round_)[of] if shared.fetchers is not None else np.zeros(len(of), np.int64)
    demand = np.where(asks, wanted, 0)
    flow = flow_of(fetcher_of(broker[leader][of], broker, own, shared), flags, demand, shared)
    return Demands(
        np.where(has_leader[of], flow, NO_FLOW),
        demand,
        follows.astype(np.int64),
        np.where(follows, limit_bytes, 0),
        np.where(follows, whole_bytes(limit_bytes, sent), 0),
        appends,
    )


def leader_serves(state: State, inputs: Inputs, round_: int) -> np.ndarray:
    """By partition, whether T runs and knows that it leads; inputs are those of the round."""
    parts, replicas, spans = np.asarray(state.partitions), np.asarray(state.replicas), np.asarray(inputs.spans)
    leader = parts["first_replica"] + np.maximum(parts["client_leader"], 0)
    runs = spans["status"][in_force(spans["from_round"], replicas["span"][leader], round_)] & NOT_RUNNING == 0
    # Who was down until now has forgotten that it leads.
    knows = (replicas["leading_epoch"][leader] == parts["client_epoch"]) & (replicas["status"][leader] & OFFLINE == 0)
    found: np.ndarray = (parts["client_leader"] != NOBODY) & runs & knows
    return found


def due_bytes(inputs: Inputs, workload: np.ndarray, round_: int) -> np.ndarray:
    """What clients bring in a round, in bytes, by places of workloads that were in force before it."""
    return bytes_of_patterns(inputs, pattern_in_force(inputs, workload, round_))


def pattern_in_force(inputs: Inputs, workload: np.ndarray, round_: int) -> np.ndarray:
    """The places of what clients bring in a round, -1 for nothing, by places of workloads that were in force before it."""
    rows = np.asarray(inputs.workload)
    found: np.ndarray = rows["pattern"][in_force(rows["from_round"], workload, round_)]
    return found


def bytes_of_workload(inputs: Inputs, workload: np.ndarray) -> np.ndarray:
    """What workloads, by their places, bring in a round."""
    return bytes_of_patterns(inputs, np.asarray(inputs.workload)["pattern"][workload])


def bytes_of_patterns(inputs: Inputs, pattern: np.ndarray) -> np.ndarray:
    """The bytes of patterns, by their places."""
    found: np.ndarray = np.append(np.asarray(inputs.patterns)["size_bytes"], 0)[pattern]  # without a pattern it is the last
    return found


def largest_batches(inputs: Inputs) -> np.ndarray:
    """By pattern the bytes of its largest batch; behind them 0, of none."""
    first, ends = np.asarray(inputs.patterns)["first_batch"], np.asarray(inputs.batches)["end_bytes"]
    batches = np.diff(ends, prepend=0)
    batches[first] = ends[first]
    return np.append(np.maximum.reduceat(batches, first) if len(first) else first, 0)


def largest_sent(first: np.ndarray, inputs: Inputs, round_: int) -> np.ndarray:
    """By partition the bytes of the largest batch that its clients have sent up to a round. `first`: as of Layout."""
    rows, batches = np.asarray(inputs.workload), largest_batches(inputs)
    return most_of_rows(first, np.where(rows["from_round"] <= round_, batches[rows["pattern"]], 0))


def most_of_rows(first: np.ndarray, of_row: np.ndarray) -> np.ndarray:
    """By partition the most of what is known of each row of its workload. `first`: as of Layout."""
    lists, of_partition = np.unique(first, return_inverse=True)
    found: np.ndarray = np.maximum.reduceat(of_row, lists)[of_partition.reshape(-1)]
    return found


def whole_bytes(limit_bytes: np.ndarray, batch_bytes: np.ndarray) -> np.ndarray:
    """Bytes of a fetch up to a limit that are whole batches of one size; of larger batches all, as the first one comes whole."""
    found: np.ndarray = limit_bytes - limit_bytes % np.where((batch_bytes > 0) & (batch_bytes <= limit_bytes), batch_bytes, 1)
    return found


def most_fetched(inputs: Inputs, scenario: np.ndarray | int, limit_bytes: np.ndarray) -> np.ndarray:
    """Bytes that the fetches of a round bring at most, each up to so many (rounds/kafka/fetches_of_round.py)."""
    of = fields_at(inputs.scenarios, scenario)
    fetch_us = of("round_trip_us") + limit_bytes * US_PER_SECOND // of("fetch_bytes_per_second")
    given = of("fetches_per_round")
    fetches = np.where(given > 0, given, np.maximum(1, of("round_us") // fetch_us))
    most: np.ndarray = np.minimum(fetches, MOST_BYTES // np.maximum(limit_bytes, 1)) * limit_bytes
    return most


def in_force(from_round: np.ndarray, at: np.ndarray, round_: int) -> np.ndarray:
    """The places of spans in force in a round, of spans that were before it."""
    begins, at = np.asarray(from_round), np.asarray(at).copy()
    is_late = begins[at + 1] <= round_
    while is_late.any():
        at += is_late
        is_late = begins[at + 1] <= round_
    return at


def flows_of(asked: Demands) -> Flows:
    """The sums by flow."""
    has_flow = np.flatnonzero(asked.flow != NO_FLOW)
    columns = (asked.flow, asked.demand, asked.follows, np.sign(asked.demand), asked.in_fetch, asked.whole)
    return _summed(*(of_replica[has_flow] for of_replica in columns))


def joined_flows(parts: Sequence[Flows]) -> Flows:
    """The flows of all blocks."""
    return _summed(*(np.concatenate([getattr(part, name) for part in parts]) for name in FLOW_COLUMNS))


def _summed(number: np.ndarray, *columns: np.ndarray) -> Flows:
    flow, of_flow = np.unique(number, return_inverse=True)
    return Flows(flow, *(sums_of(of_flow, column, len(flow)) for column in columns))


def sums_of(group: np.ndarray, values: np.ndarray, groups: int) -> np.ndarray:
    """The sums of values by group; `groups`: how many there are."""
    sums = np.zeros(groups, np.int64)
    np.add.at(sums, group.reshape(-1), values)
    return sums
