"""Remote reads of one block: what is looked at of its readers, and set in them, where several partitions' take turns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emulator.engine.budgets.demands import in_force
from emulator.engine.budgets.read_demands import ReadDemands, read_demands, readers_of
from emulator.engine.budgets.read_queue import ReadTask
from emulator.engine.budgets.shared_block import SharedBlock
from emulator.inputs.arrays.shared_reads import BY_ITSELF, ReadLimits
from emulator.inputs.consumers import MOST_RECORDS, most_of_a_round
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.reading.records import Reader
from emulator.rounds.kafka.state import State
from emulator.rounds.records import word_of

SETTLED = ("turn", "turn_requests", "turn_place", "turn_bytes")
TURN, TURN_REQUESTS, TURN_PLACE, TURN_BYTES = (word_of(Reader, name) for name in SETTLED)
MOST_REQUESTS = word_of(Reader, "most_requests")


class Asking(NamedTuple):
    """By reader: place of the broker that it asks, of the partition, what brings its records, and what it may ask for in a round
    at the most: fetches that a round holds, requests that it needs, bytes.
    """

    broker: np.ndarray
    partition: np.ndarray
    fetch: np.ndarray
    fetches: np.ndarray
    requests: np.ndarray
    size_bytes: np.ndarray


class ReadsOfBlock:
    """What one block's readers are about. `first`: place of its first partition among those of all blocks."""

    def __init__(self, block: SharedBlock, first: int) -> None:
        self._block, self._first = block, first

    @property
    def state(self) -> State:
        """The block's state as it stands."""
        return self._block.stretches.state

    def set(self, turn: int) -> None:
        """All readers have this turn, and no limit; what they need is looked at anew."""
        words = self.state.readers.words
        words[:, [TURN, TURN_REQUESTS, TURN_PLACE, TURN_BYTES, MOST_REQUESTS]] = (turn, UNKNOWN, 0, UNKNOWN, 0)

    def asking(self, round_: int) -> np.ndarray:
        """Flags of readers that will read remotely as it stands."""
        return self._demands(round_).demand > 0

    def has_asked(self, before: State) -> np.ndarray:
        """Flags of readers that read remotely since then, or were refused: who waits for a thread does so beside as many."""
        (old, _), (new, _) = readers_of(before), readers_of(self.state)
        return (old["remote_round"] != new["remote_round"]) | (old["remote_errors"] != new["remote_errors"])

    def needed(self) -> np.ndarray:
        """By reader the most requests that it needed in a round since `set`."""
        found: np.ndarray = self.state.readers.words[:, MOST_REQUESTS].astype(float)
        return found

    def has_moved(self, before: State, which: np.ndarray) -> bool:
        """Whether one of these readers asked another replica since then, for some rounds at least: a new leader is checked."""
        (old, _), (new, _) = readers_of(before), readers_of(self.state)
        return any((old[name] != new[name])[which].any() for name in ("asked", "leader_epoch", "replica_until"))

    def asked_for(self, before: State, which: np.ndarray, first: int, last: int) -> Asking:
        """What these readers may ask for, from a round to another; requests as of reads of one piece, others may need more."""
        wants, places = np.asarray(self._block.block.inputs.wants), np.flatnonzero(which)
        readers, of = readers_of(before)
        begin = in_force(wants["from_round"], readers["want"][places], first)
        end = in_force(wants["from_round"], begin, last)
        records = np.where(wants["records_per_round"] == UNKNOWN, MOST_RECORDS, wants["records_per_round"])
        limits = (np.maximum(1, wants["request_bytes"]), wants["remote_bytes"], records, self._reads.record_bytes)
        columns = [wants["remote_fetches"], *most_of_a_round(wants["remote_fetches"], *limits)]
        fetches, requests, size_bytes = (
            np.array([column[low : high + 1].max() for low, high in zip(begin.tolist(), end.tolist(), strict=True)], float)
            for column in columns
        )
        broker = self._demands(first).broker[places]
        return Asking(broker, self._first + of[places], self._fetch(begin, of[places]), fetches, requests, size_bytes)

    def done(self, before: State) -> list[tuple[int, int, ReadTask, int]]:
        """(place of the reader, of the broker, what it needed, bytes that it read) of who read remotely in a round."""
        (old, of), (new, _) = readers_of(before), readers_of(self.state)
        read = np.flatnonzero(old["remote_round"] != new["remote_round"])
        slots = new["asked"]
        replica = np.asarray(before.partitions)["first_replica"][of] + slots
        brokers, fetch = self._block.layout.broker, self._fetch(new["want"], of)
        fetches = np.asarray(self._block.block.inputs.wants)["remote_fetches"][new["want"]]
        return [
            (
                place,
                int(brokers[replica[place]]),
                ReadTask(
                    (self._first + int(of[place]), int(new["number"][place])),
                    int(fetch[place]),
                    int(fetches[place]),
                    int(old["dealt_round"][place]),
                    int(old["dealt_place"][place]),
                    int(new["remote_requests"][place] - old["remote_requests"][place]),
                ),
                int(new["remote_bytes"][place] - old["remote_bytes"][place]),
            )
            for place in read.tolist()
        ]

    @property
    def _reads(self) -> ReadLimits:
        reads = self._block.shared.reads
        assert reads is not None
        return reads

    def _demands(self, round_: int) -> ReadDemands:
        block = self._block
        return read_demands(self.state, block.block.inputs, block.layout, block.shared.window_rounds, round_)

    def _fetch(self, want: np.ndarray, of: np.ndarray) -> np.ndarray:
        """What brings readers their records; `want`: places of their wants, `of`: of their partitions."""
        group = np.asarray(self._block.block.inputs.wants)["group"][want]
        fetch = np.full(len(of), BY_ITSELF, np.int64)
        for number, of_partition in self._reads.fetches.items():
            fetch = np.where(group == number, of_partition[of], fetch)
        return fetch
