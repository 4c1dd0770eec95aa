"""Remote reads of a broker's partitions in turn: who is dealt how many requests, then what the quota leaves (read_queue.py)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from emulator.engine.budgets.read_queue import ReadTask, parts_of, requests_of
from emulator.engine.budgets.reads_of_block import TURN, TURN_BYTES, TURN_PLACE, TURN_REQUESTS, Asking, ReadsOfBlock
from emulator.engine.budgets.shared_block import SharedBlock, with_first_places
from emulator.inputs.arrays.shared_reads import BY_ITSELF, ReadLimits
from emulator.rounds.kafka.reading.records import ALONE, IS_MADE
from emulator.rounds.kafka.state import State


class ReadTurns:
    """The requests of remote reads of blocks whose partitions share brokers."""

    def __init__(self, blocks: Sequence[SharedBlock], limits: ReadLimits) -> None:
        self._limits = limits
        self._blocks = _reads_of(blocks)
        self._before: list[State] = []
        self._turns: list[tuple[ReadsOfBlock, int, tuple[int, int, int]]] = []

    def stand(self, round_: int, to_round: int) -> int:
        """Set what everybody may do from a round on. Returns up to which round that may hold, `to_round` at most."""
        later = self._limits.from_round[self._limits.from_round > round_]
        until = min(to_round, int(later[0])) if len(later) else to_round
        for block in self._blocks:
            block.set(ALONE)
        self._before = [block.state for block in self._blocks]
        asking = [block.asking(round_) for block in self._blocks]
        return round_ if self._compete(round_, round_, asking, None) else until

    def first_conflict(self, from_round: int, to_round: int) -> int:
        """Of rounds that were played with what `stand` set one before which all was right; `to_round`: all was."""
        asked = [block.has_asked(old) for block, old in zip(self._blocks, self._before, strict=True)]
        moved = any(block.has_moved(old, which) for block, old, which in zip(self._blocks, self._before, asked, strict=True))
        needed = [block.needed() for block in self._blocks]
        if (moved and to_round > from_round + 1) or self._compete(from_round, to_round - 1, asked, needed):
            return from_round + (to_round - from_round) // 2
        return to_round

    def ask(self) -> None:
        """Let everybody read what he likes in the next round."""
        for block in self._blocks:
            block.set(IS_MADE)
        self._before = [block.state for block in self._blocks]

    def settle(self, round_: int) -> bool:
        """Settle whose turn it is in a round that was played as of `ask`; whether somebody gets less."""
        _, reads = self._limits.at(round_)
        queues = self._limits.queues_at(round_)
        self._turns, is_less = [], False
        for broker, tasks in _by_broker(self._blocks, self._before).items():
            found = requests_of([task for _, _, task, _ in tasks], float(reads[broker]), queues[broker])
            for (block, place, task, _), turn in zip(tasks, found, strict=True):
                self._turns.append((block, place, turn))
                is_less |= turn[1] < task.needs
        return is_less

    def give(self) -> None:
        """Set what was settled, in states of before the round."""
        for block, place, turn in self._turns:
            block.state.readers.words[place, [TURN, TURN_REQUESTS, TURN_PLACE]] = turn

    def _compete(self, first: int, last: int, asking: Sequence[np.ndarray], needed: Sequence[np.ndarray] | None) -> bool:
        """Whether these readers may need or want too much of a broker, or of a fetch that they share, in some round.

        `needed`: requests that they did need in one at the most, where that is known.
        """
        quotas, reads = self._limits.at(first)
        found = [
            block.asked_for(old, which, first, last) for block, old, which in zip(self._blocks, self._before, asking, strict=True)
        ]
        if not found:
            return False
        asked = Asking(*(np.concatenate(one) for one in zip(*found, strict=True)))
        if needed is not None:
            needs = [requests[which] for requests, which in zip(needed, asking, strict=True)]
            asked = asked._replace(requests=np.concatenate(needs))
        brokers = len(quotas)
        shared = np.bincount(np.unique(np.column_stack([asked.broker, asked.partition]), axis=0)[:, 0], minlength=brokers) > 1
        of_fetches = asked.fetch != BY_ITSELF
        pairs, of_pair = np.unique(np.column_stack([asked.broker, asked.fetch])[of_fetches], axis=0, return_inverse=True)
        of_pair, fetches = of_pair.reshape(-1), np.zeros(len(pairs))
        np.maximum.at(fetches, of_pair, asked.fetches[of_fetches])
        in_fetch = np.zeros(brokers, bool)
        in_fetch[pairs[np.bincount(of_pair, asked.requests[of_fetches], minlength=len(pairs)) > fetches, 0]] = True
        too_many = np.bincount(asked.broker, asked.requests, minlength=brokers) > reads
        too_much = np.bincount(asked.broker, asked.size_bytes, minlength=brokers) > quotas
        return bool((shared & (in_fetch | too_many | too_much)).any())


class QuotaTurns:
    """What brokers' quotas leave the reads of blocks, once it is settled who is dealt how many requests (ReadTurns)."""

    def __init__(self, blocks: Sequence[SharedBlock], limits: ReadLimits) -> None:
        self._limits = limits
        self._blocks = _reads_of(blocks)
        self._before: list[State] = []
        self._turns: list[tuple[ReadsOfBlock, int, int]] = []

    def stand(self, round_: int, to_round: int) -> int:
        """ReadTurns looks at quotas, too."""
        return to_round

    def first_conflict(self, from_round: int, to_round: int) -> int:
        """ReadTurns looks at quotas, too."""
        return to_round

    def ask(self) -> None:
        """ReadTurns lets everybody read what he likes."""
        self._before = [block.state for block in self._blocks]

    def settle(self, round_: int) -> bool:
        """Settle what each read gets in a round that was played with the requests that were dealt; whether somebody gets less."""
        quotas, _ = self._limits.at(round_)
        self._turns, is_less = [], False
        for broker, tasks in _by_broker(self._blocks, self._before).items():
            if quotas[broker] == np.inf:
                continue
            wanted = [size_bytes for *_, size_bytes in tasks]
            for (block, place, *_), size_bytes, part in zip(tasks, wanted, parts_of(wanted, int(quotas[broker])), strict=True):
                self._turns.append((block, place, part))
                is_less |= part < size_bytes
        return is_less

    def give(self) -> None:
        """Set what was settled, in states of before the round."""
        for block, place, part in self._turns:
            block.state.readers.words[place, TURN_BYTES] = part


def _reads_of(blocks: Sequence[SharedBlock]) -> list[ReadsOfBlock]:
    """Of those in which groups read."""
    return [ReadsOfBlock(block, first) for block, first in with_first_places(blocks) if len(block.stretches.state.reading)]


def _by_broker(
    blocks: Sequence[ReadsOfBlock], befores: Sequence[State]
) -> dict[int, list[tuple[ReadsOfBlock, int, ReadTask, int]]]:
    """By broker its reads since then: (block, place of the reader, what it needed, bytes that it read)."""
    found: dict[int, list[tuple[ReadsOfBlock, int, ReadTask, int]]] = defaultdict(list)
    for block, before in zip(blocks, befores, strict=True):
        for place, broker, task, size_bytes in block.done(before):
            found[broker].append((block, place, task, size_bytes))
    return found
