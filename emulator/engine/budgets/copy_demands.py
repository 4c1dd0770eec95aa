"""What the copies of a block ask of their brokers' network at a quota edge (docs/kafka_rounds.md, Shared bandwidth)."""

from __future__ import annotations

import numpy as np

from emulator.engine.budgets.demands import Layout, due_bytes, in_force, is_replica
from emulator.inputs.storage_settings import MOST_COPY_BYTES
from emulator.rounds.kafka.constants import NO_EPOCH, NOT_RUNNING, OFFLINE, UNKNOWN
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.list_records import Segment
from emulator.rounds.kafka.state import State
from emulator.rounds.kafka.tier.records import NO_SEGMENT, NOT_LOOKED_UP, Pin, RemoteSegment
from emulator.rounds.packed import entries_of
from emulator.rounds.records import fields_at


def copy_demands(state: State, inputs: Inputs, layout: Layout, window_rounds: int, round_: int) -> np.ndarray:
    """By replica what its copies ask for at an edge, in bytes per round, before its round is played; inputs are the round's.

    What could be copied at once goes in even parts over the window, and what will be appended: at most what one copy moves in a
    round. Whether the store is there does not matter.
    """
    of, slot = layout.partition, layout.slot
    if not len(state.tiers):
        return np.zeros(len(of), np.int64)
    parts, replicas, tiers = (np.asarray(records) for records in (state.partitions, state.replicas, state.tiers))
    spans, settings, store = (np.asarray(rows) for rows in (inputs.spans, inputs.settings, inputs.store))
    of_settings = in_force(settings["from_round"], parts["settings"], round_)
    copies = settings["copies"][of_settings] == 1
    rate = store["copy_bytes"][in_force(store["from_round"], np.asarray(state.tier)["store"], round_)]
    appends = due_bytes(inputs, parts["workload"], round_)
    runs = spans["status"][in_force(spans["from_round"], replicas["span"], round_)] & NOT_RUNNING == 0
    is_assigned = is_replica(state, layout)
    # Who was down until now has forgotten that it leads.
    knows = (replicas["leading_epoch"] != NO_EPOCH) & (replicas["status"] & OFFLINE == 0)
    leads = knows & runs & is_assigned & copies[of] & (parts["deleted"][of] == 0)
    copies_now = leads | (is_assigned & (tiers["copying"] != NO_SEGMENT))
    backlog = np.zeros(len(of), np.int64)
    copiers = np.flatnonzero(copies_now)
    backlog[copiers] = backlogs(state, inputs, of[copiers], copiers, of_settings, round_)
    wanted = -(-backlog // window_rounds) + np.where(leads & (slot == parts["client_leader"][of]), appends[of], 0)
    most = np.where(rate == UNKNOWN, MOST_COPY_BYTES, rate)[of]
    return np.where(copies_now, np.minimum(wanted, most), 0)


def backlogs(
    state: State, inputs: Inputs, partition: np.ndarray, replica: np.ndarray, of_settings: np.ndarray, round_: int
) -> np.ndarray:
    """Bytes that copy tasks could move at once: closed segments that have waited for their lag, less what is moved already.

    `partition`, `replica`: places of who copies; `of_settings`: by partition the place of what is in force.
    """
    replicas, tiers = fields_at(state.replicas, replica), fields_at(state.tiers, replica)
    settings = fields_at(inputs.settings, of_settings[partition])
    copied, left_bytes = tiers("copied"), tiers("left_bytes")
    copied = np.where(copied == NOT_LOOKED_UP, replicas("highest_remote"), copied)
    from_offset = np.maximum(copied + 1, replicas("log_start"))
    stable = np.minimum(replicas("hw"), _first_pins(state)[partition])
    segments = np.asarray(entries_of(Segment, state.segments))
    first, at = state.segments.offsets[replica], state.segments.offsets[replica + 1] - 1
    end, behind = replicas("active_base"), replicas("active_bytes")
    lag_rounds, lag_bytes = settings("copy_lag_rounds"), settings("copy_lag_bytes")
    waits = (lag_rounds != 0) & (lag_bytes != 0)
    found = np.zeros(len(replica), np.int64)
    left = np.flatnonzero((at >= first) & (end > from_offset))
    while len(left):  # from the newest closed segment back to the one that is copied next
        segment = segments[at[left]]
        aged = (lag_rounds[left] > 0) & (round_ - segment["newest_round"] >= lag_rounds[left])
        enough = (lag_bytes[left] > 0) & (behind[left] >= lag_bytes[left])
        has_waited = ~waits[left] | aged | enough
        # One that has to wait keeps those behind it waiting.
        found[left] = np.where(end[left] > stable[left], 0, np.where(has_waited, found[left] + segment["size_bytes"], 0))
        behind[left] += segment["size_bytes"]
        end[left] = segment["base_offset"]
        at[left] -= 1
        left = left[(at[left] >= first[left]) & (end[left] > from_offset[left])]
    moved = _size_of_copies(state, partition, tiers("copying")) - left_bytes
    return np.where(tiers("orphaned") == 1, left_bytes, np.maximum(found - moved, 0))


def _first_pins(state: State) -> np.ndarray:
    """By partition where its first open transaction begins."""
    offsets = state.pins.offsets
    found = np.full(len(offsets) - 1, np.iinfo(np.int64).max)
    np.minimum.at(found, np.repeat(np.arange(len(found)), np.diff(offsets)), np.asarray(entries_of(Pin, state.pins))["offset"])
    return found


def _size_of_copies(state: State, partition: np.ndarray, copying: np.ndarray) -> np.ndarray:
    """Bytes of the segments under way, given by number; 0 for none."""
    sizes = np.zeros(len(copying), np.int64)
    is_one = np.flatnonzero(copying != NO_SEGMENT)
    at = state.remote.offsets[partition[is_one]] + copying[is_one]
    sizes[is_one] = np.asarray(entries_of(RemoteSegment, state.remote))["size_bytes"][at]
    return sizes
