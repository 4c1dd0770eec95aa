"""Remote reads of a broker's partitions in turn: what is looked at of their states, and what is set in them (read_queue.py)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from emulator.engine.budgets.demands import in_force
from emulator.engine.budgets.read_demands import ReadDemands, read_demands, readers_of
from emulator.engine.budgets.read_queue import ReadTask, reads_of
from emulator.engine.budgets.shared_block import SharedBlock, with_first_places
from emulator.inputs.arrays.shared_reads import BY_ITSELF, ReadLimits
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.reading.records import ALONE, IS_MADE, Reader
from emulator.rounds.kafka.state import State
from emulator.rounds.records import word_of

TURN, TURN_BYTES = word_of(Reader, "turn"), word_of(Reader, "turn_bytes")


class ReadTurns:
    """The remote reads of blocks whose partitions share brokers."""

    def __init__(self, blocks: Sequence[SharedBlock], limits: ReadLimits) -> None:
        self._limits = limits
        placed = with_first_places(blocks)
        self._blocks = [_Reads(block, first) for block, first in placed if len(block.stretches.state.reading)]
        self._before: list[State] = []
        self._turns: list[tuple[_Reads, int, tuple[int, int]]] = []

    def stand(self, round_: int, to_round: int) -> int:
        """Set what everybody may do from a round on. Returns up to which round that may hold, `to_round` at most."""
        later = self._limits.from_round[self._limits.from_round > round_]
        until = min(to_round, int(later[0])) if len(later) else to_round
        for block in self._blocks:
            block.set(ALONE)
        self._before = [block.state for block in self._blocks]
        asking = [block.asking(round_) for block in self._blocks]
        return round_ if self._compete(round_, round_, asking) else until

    def first_conflict(self, from_round: int, to_round: int) -> int:
        """Of rounds that were played with what `stand` set one before which all was right; `to_round`: all was."""
        asked = [block.has_asked(old) for block, old in zip(self._blocks, self._before, strict=True)]
        moved = any(block.has_moved(old, which) for block, old, which in zip(self._blocks, self._before, asked, strict=True))
        if (moved and to_round > from_round + 1) or self._compete(from_round, to_round - 1, asked):
            return from_round + (to_round - from_round) // 2
        return to_round

    def ask(self) -> None:
        """Let everybody read what he likes in the next round."""
        for block in self._blocks:
            block.set(IS_MADE)
        self._before = [block.state for block in self._blocks]

    def settle(self, round_: int) -> bool:
        """Settle whose turn it is in a round that was played as of `ask`; whether somebody gets less."""
        quotas, reads = self._limits.at(round_)
        queues = self._limits.queues_at(round_)
        of_brokers: dict[int, list[tuple[_Reads, int, ReadTask]]] = defaultdict(list)
        for block, before in zip(self._blocks, self._before, strict=True):
            for place, broker, task in block.done(before):
                of_brokers[broker].append((block, place, task))
        self._turns, is_less = [], False
        for broker, tasks in of_brokers.items():
            found = reads_of([task for *_, task in tasks], float(reads[broker]), queues[broker], float(quotas[broker]))
            for (block, place, task), turn in zip(tasks, found, strict=True):
                self._turns.append((block, place, turn))
                is_less |= turn[0] != IS_MADE or (turn[1] != UNKNOWN and turn[1] < task.wanted_bytes)
        return is_less

    def give(self) -> None:
        """Set what was settled, in states of before the round."""
        for block, place, (turn, size_bytes) in self._turns:
            words = block.state.readers.words
            words[place, TURN], words[place, TURN_BYTES] = turn, size_bytes

    def _compete(self, first: int, last: int, asking: Sequence[np.ndarray]) -> bool:
        """Whether these readers may be too many, or want too much, for a broker or for a fetch that they share, in some round."""
        quotas, reads = self._limits.at(first)
        columns = [
            block.wants(old, which, first, last) for block, old, which in zip(self._blocks, self._before, asking, strict=True)
        ]
        if not columns:
            return False
        broker, partition, fetch, most = (np.concatenate(one) for one in zip(*columns, strict=True))
        brokers = len(quotas)
        shared = np.bincount(np.unique(np.column_stack([broker, partition]), axis=0)[:, 0], minlength=brokers) > 1
        of_fetches = fetch != BY_ITSELF
        pairs, counts = np.unique(np.column_stack([broker, fetch])[of_fetches], axis=0, return_counts=True)
        in_fetch = np.zeros(brokers, bool)
        in_fetch[pairs[counts > 1, 0]] = True
        too_many = np.bincount(broker, minlength=brokers) > reads
        too_much = np.bincount(broker, most, minlength=brokers) > quotas
        return bool((shared & (in_fetch | too_many | too_much)).any())


class _Reads:
    """What one block's readers are about. `first`: place of its first partition among those of all blocks."""

    def __init__(self, block: SharedBlock, first: int) -> None:
        self._block, self._first = block, first

    @property
    def state(self) -> State:
        """The block's state as it stands."""
        return self._block.stretches.state

    def set(self, turn: int) -> None:
        """All readers have this turn, and no limit."""
        words = self.state.readers.words
        words[:, TURN], words[:, TURN_BYTES] = turn, UNKNOWN

    def asking(self, round_: int) -> np.ndarray:
        """Flags of readers that will read remotely as it stands."""
        return self._demands(round_).demand > 0

    def has_asked(self, before: State) -> np.ndarray:
        """Flags of readers that read remotely since then, or were refused: who waits for a thread does so beside as many."""
        (old, _), (new, _) = readers_of(before), readers_of(self.state)
        return (old["remote_round"] != new["remote_round"]) | (old["remote_errors"] != new["remote_errors"])

    def has_moved(self, before: State, which: np.ndarray) -> bool:
        """Whether one of these readers asks another replica than then."""
        (old, _), (new, _) = readers_of(before), readers_of(self.state)
        return bool((old["asked"] != new["asked"])[which].any())

    def wants(
        self, before: State, which: np.ndarray, first: int, last: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(broker, partition, fetch, bytes that a round brings it at the most) of these readers, from a round to another."""
        wants, places = np.asarray(self._block.block.inputs.wants), np.flatnonzero(which)
        readers, of = readers_of(before)
        begin = in_force(wants["from_round"], readers["want"][places], first)
        end = in_force(wants["from_round"], begin, last)
        most = np.array(
            [wants["remote_bytes"][low : high + 1].max() for low, high in zip(begin.tolist(), end.tolist(), strict=True)], float
        )
        broker = self._demands(first).broker[places]
        return broker, self._first + of[places], self._fetch(begin, of[places]), most

    def done(self, before: State) -> list[tuple[int, int, ReadTask]]:
        """(place of the reader, of the broker, what it read) of who read remotely in a round that was played as of `ask`."""
        (old, of), (new, _) = readers_of(before), readers_of(self.state)
        read = np.flatnonzero(old["remote_round"] != new["remote_round"])
        slots = new["asked"]
        replica = np.asarray(before.partitions)["first_replica"][of] + slots
        brokers, fetch = self._block.layout.broker, self._fetch(new["want"], of)
        return [
            (
                place,
                int(brokers[replica[place]]),
                ReadTask(
                    (self._first + int(of[place]), int(new["number"][place])),
                    int(fetch[place]),
                    int(old["remote_round"][place]),
                    int(new["remote_bytes"][place] - old["remote_bytes"][place]),
                    bool(new["remote_requests"][place] == old["remote_requests"][place]),
                ),
            )
            for place in read.tolist()
        ]

    def _demands(self, round_: int) -> ReadDemands:
        block = self._block
        return read_demands(self.state, block.block.inputs, block.layout, block.shared.window_rounds, round_)

    def _fetch(self, want: np.ndarray, of: np.ndarray) -> np.ndarray:
        """What brings readers their records; `want`: places of their wants, `of`: of their partitions."""
        reads = self._block.shared.reads
        assert reads is not None
        group = np.asarray(self._block.block.inputs.wants)["group"][want]
        fetch = np.full(len(of), BY_ITSELF, np.int64)
        for number, of_partition in reads.fetches.items():
            fetch = np.where(group == number, of_partition[of], fetch)
        return fetch
