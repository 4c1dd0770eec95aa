"""What the remote reads of a block ask of their brokers at a quota edge (docs/kafka_rounds.md, Shared bandwidth)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emulator.engine.budgets.demands import Layout, due_bytes, in_force
from emulator.rounds.kafka.batches import bytes_below
from emulator.rounds.kafka.constants import NOBODY, UNKNOWN
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.list_records import Run
from emulator.rounds.kafka.reading.records import EARLIEST, NO_CAUSE, NO_POSITION, Reader
from emulator.rounds.kafka.state import State
from emulator.rounds.packed import Packed, entries_of
from emulator.rounds.records import fields_at


@dataclass(frozen=True, eq=False)
class ReadDemands:
    """By reader: places of the `replica` that it asks and of its `broker`; `demand`: bytes per round that it asks for."""

    replica: np.ndarray
    broker: np.ndarray
    demand: np.ndarray


def read_demands(state: State, inputs: Inputs, layout: Layout, window_rounds: int, round_: int) -> ReadDemands:
    """What is asked for at an edge, before its round is played; inputs are those of the round.

    A reader asks for what lies below the local log start of the replica that it asked last, in even parts over the window, and
    what will be appended. Whether the store is there does not matter.
    """
    readers, of = readers_of(state)
    parts, tier = fields_at(state.partitions, of), fields_at(state.tier, of)
    slot = np.where(readers["asked"] == NOBODY, np.maximum(parts("client_leader"), 0), readers["asked"])
    replica = parts("first_replica") + slot
    log_start, local_start = map(fields_at(state.replicas, replica), ("log_start", "local_start"))
    settings, wants, store = (np.asarray(rows) for rows in (inputs.settings, inputs.wants, inputs.store))
    want = fields_at(wants, in_force(wants["from_round"], readers["want"], round_))
    tiered = settings["tiered"][in_force(settings["from_round"], parts("settings"), round_)] == 1
    rate = store["read_bytes"][in_force(store["from_round"], tier("store"), round_)]
    appends = due_bytes(inputs, parts("workload"), round_)
    begins_at = want("begins_at")
    start = np.where(begins_at == EARLIEST, log_start, begins_at)
    position = np.where(readers["position"] == NO_POSITION, start, readers["position"])
    asks = tiered & (want("in_force") == 1) & (readers["stopped"] == NO_CAUSE) & (position >= 0)
    position = np.maximum(position, log_start)
    asking = np.flatnonzero(asks & (position < local_start))

    def bytes_to(end: np.ndarray) -> np.ndarray:
        at = replica[asking]
        return bytes_at(state, inputs, at, end[asking]) - bytes_at(state, inputs, at, position[asking])

    records = want("records_per_round")
    by_count = np.where(records == UNKNOWN, local_start, position + records)
    most = np.minimum(want("remote_bytes"), want("remote_fetches") * want("request_bytes"))
    most = np.minimum(most, np.where(rate == UNKNOWN, most, rate))
    most[asking] = np.minimum(most[asking], bytes_to(np.minimum(local_start, by_count)))
    demand = np.zeros(len(readers), np.int64)
    demand[asking] = np.minimum(most[asking], -(-bytes_to(local_start) // window_rounds) + appends[asking])
    return ReadDemands(replica, layout.broker[replica], demand)


def readers_of(state: State) -> tuple[np.ndarray, np.ndarray]:
    """(records of a block's readers, places of their partitions)."""
    partition = np.repeat(np.arange(len(state.readers.offsets) - 1), np.diff(state.readers.offsets))
    return np.asarray(entries_of(Reader, state.readers)), partition


def bytes_at(state: State, inputs: Inputs, replica: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Bytes of replicas' logs below offsets from their log starts to their ends, as of log.bytes_at."""
    leo, log_bytes = map(fields_at(state.replicas, replica), ("leo", "log_bytes"))
    patterns = np.asarray(inputs.patterns)
    runs = entries_of(Run, state.runs)
    found = np.where(offset >= leo, log_bytes, 0)
    at = _runs_with(state.runs, np.asarray(runs), replica, offset)
    inside = np.flatnonzero((offset < leo) & (at >= state.runs.offsets[2 * replica]))
    run, within = np.asarray(runs)[at[inside]], offset[inside]
    found[inside] = run["start_bytes"] + (within - run["start_offset"]) * patterns["record_bytes"][run["pattern"]]
    for one in inside[patterns["record_bytes"][run["pattern"]] == UNKNOWN].tolist():  # unlike batches
        found[one] = bytes_below(inputs, runs[at[one]], int(offset[one]))
    return found


def _runs_with(lists: Packed, runs: np.ndarray, replica: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """The runs of replicas that hold offsets: the last that begins at or below one; one place too low if there is none."""
    low, high = lists.offsets[2 * replica].copy(), lists.offsets[2 * replica + 1] - 1
    low = np.minimum(low, high)
    while (low < high).any():
        middle = (low + high + 1) // 2
        begins = runs["start_offset"][middle] <= offset
        low, high = np.where(begins, middle, low), np.where(begins, high, np.minimum(middle - 1, high))
        high = np.maximum(low, high)
    return low
