"""Edges that would leave everybody what he has: what partitions ask for stays the same, so they need not stop there.

A partition asks for the same at the next edges as long as no input of it changes, T and its ISR stay, and each follower has all
of T's log whenever a round starts, or lacks so much that it asks for all that its fetches bring. For how long the latter is so
follows from its quota; the rest is looked at afterwards.
"""

from __future__ import annotations

import numpy as np

from emulator.engine.budgets.demands import Demands, Layout, in_force, is_replica, leader_serves
from emulator.inputs.arrays.shared import SharedBudgets
from emulator.rounds.kafka.constants import FOREVER, NOT_RUNNING, UNKNOWN
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.state import State

KEPT = ("client_leader", "client_epoch", "known_isr", "isr_expands", "assigned", "target")
"""What would say that T, or the ISR that it knows, was another in between: whoever leaves and comes back is counted."""


def steady_until(state: State, inputs: Inputs, layout: Layout, asked: Demands, shared: SharedBudgets, round_: int) -> np.ndarray:
    """By partition the last round before which its demands stay what they are at an edge (`asked`), `round_` where that is not
    known. What cannot be known beforehand is still to be looked at (`stayed_steady`). Limits of the edge are set already.
    """
    parts, replicas = np.asarray(state.partitions), np.asarray(state.replicas)
    of, slot, _, page_cache, *_ = layout
    leader = (parts["first_replica"] + np.maximum(parts["client_leader"], 0))[of]
    lacks, window = np.maximum(replicas["log_bytes"][leader] - replicas["log_bytes"], 0), shared.window_rounds
    in_memory = page_cache[leader]
    is_beyond = (in_memory == UNKNOWN) | (lacks > in_memory)  # and stays so as long as it does not come nearer
    takes_part = is_replica(state, layout) & _runs(state, inputs, round_)
    asks_for_all = (asked.demand > 0) & (-(-lacks // window) + asked.appends[of] > asked.demand)
    is_far = takes_part & asks_for_all & is_beyond & (replicas["quota_bytes"] != UNKNOWN)
    enough = np.maximum((asked.demand - asked.appends[of]) * window, np.where(in_memory == UNKNOWN, 0, in_memory + 1))
    rounds = (lacks - enough - replicas["credit_bytes"]) // np.maximum(replicas["quota_bytes"], 1)
    rests = (slot == parts["client_leader"][of]) | (takes_part & (lacks == 0)) | (~takes_part & is_beyond)
    found = np.where(is_far, round_ + rounds, np.where(rests, FOREVER, round_))
    is_calm = leader_serves(state, inputs, round_) & (parts["target"] == 0)
    is_calm &= (parts["waiting_rounds"] == 0) & (parts["produce_quota_bytes"] == UNKNOWN)
    until = np.where(is_calm, np.minimum(_next_change(state, inputs, round_), _next_of_all(shared, round_)) - 1, round_)
    np.minimum.at(until, of, found)
    least: np.ndarray = np.maximum(until, round_)
    return least


def stayed_steady(before: State, after: State, inputs: Inputs, layout: Layout, round_: int) -> np.ndarray:
    """By partition that was steady in a round (`before`), after which it was forgotten what its followers lack: whether it was so
    up to the end of a later one.
    """
    parts, then, replicas, replicas_then = (
        np.asarray(of) for of in (before.partitions, after.partitions, before.replicas, after.replicas)
    )
    of, slot, *_ = layout
    stayed: np.ndarray = np.logical_and.reduce([parts[name] == then[name] for name in KEPT])
    stayed &= (then["waiting_rounds"] == 0) & leader_serves(after, inputs, round_)
    leader = (parts["first_replica"] + np.maximum(parts["client_leader"], 0))[of]
    had_all = replicas["log_bytes"][leader] <= replicas["log_bytes"]
    # Whoever lacks much may have begun anew at T's log start.
    has_left = np.where(had_all, replicas_then["lacked_bytes"] > 0, replicas_then["log_start"] > replicas["leo"])
    stayed[of[has_left & (slot != parts["client_leader"][of])]] = False
    return stayed


def _runs(state: State, inputs: Inputs, round_: int) -> np.ndarray:
    """By replica, whether its broker runs in a round."""
    spans = np.asarray(inputs.spans)
    now = in_force(spans["from_round"], np.asarray(state.replicas)["span"], round_)
    runs: np.ndarray = spans["status"][now] & NOT_RUNNING == 0
    return runs


def _next_of_all(shared: SharedBudgets, round_: int) -> int:
    """The first round after this one in which an input of any partition changes."""
    after = int(np.searchsorted(shared.changes, round_, "right"))
    return int(shared.changes[after]) if after < len(shared.changes) else FOREVER


def _next_change(state: State, inputs: Inputs, round_: int) -> np.ndarray:
    """By partition the first round after this one in which other settings, another workload or other states of its brokers
    are in force.
    """
    parts, replicas = np.asarray(state.partitions), np.asarray(state.replicas)

    def following(begins: np.ndarray, at: np.ndarray) -> np.ndarray:
        found: np.ndarray = begins[in_force(begins, at, round_) + 1]
        return found

    settings, workload, spans = (np.asarray(rows)["from_round"] for rows in (inputs.settings, inputs.workload, inputs.spans))
    change: np.ndarray = np.minimum(following(settings, parts["settings"]), following(workload, parts["workload"]))
    of = np.repeat(np.arange(len(parts)), parts["slots"])
    np.minimum.at(change, of, following(spans, replicas["span"]))
    return change
