"""Copies of a broker's partitions in turn: who may begin when, and whether what was played with that was right (copy_queue.py).

Where nobody waits, partitions are played as if they were alone, and it is looked afterwards whether one would have had to wait;
where a broker's tasks stand in line, it is forecast how the line will move on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from emulator.engine.budgets.copies_of_block import CopiesOfBlock, under_way
from emulator.engine.budgets.copy_forecast import Course, forecast
from emulator.engine.budgets.copy_queue import CopyTask, Turn, turns_of
from emulator.engine.budgets.shared_block import SharedBlock, with_first_places
from emulator.inputs.arrays.copy_budgets import UNLIMITED, CopyBudgets
from emulator.rounds.kafka.constants import FOREVER
from emulator.rounds.kafka.state import State


class CopyTurns:
    """The copies of blocks that share brokers. `window_rounds`: of the quota; `changes`: rounds in which inputs change."""

    def __init__(self, blocks: Sequence[SharedBlock], budgets: CopyBudgets, window_rounds: int, changes: np.ndarray) -> None:
        self._budgets, self._window, self._changes = budgets, window_rounds, changes
        placed = with_first_places(blocks)
        self._blocks = [CopiesOfBlock(block, first) for block, first in placed if len(block.stretches.state.tiers)]
        brokers = budgets.threads.shape[1]
        self._replicas = sum((one.per_broker(brokers) for one in self._blocks), np.zeros(brokers, np.int64))
        self._queued = np.zeros(brokers, bool)
        self._courses: list[tuple[CopiesOfBlock, int, CopyTask, Course]] = []
        self._before: list[State] = []
        self._turns: list[tuple[CopiesOfBlock, int, Turn]] = []

    def stand(self, round_: int, to_round: int) -> int:
        """Set what everybody may do from a round on. Returns up to which round that may hold, `to_round` at most."""
        budgets = self._budgets
        threads, most = np.array(budgets.threads_at(round_)), budgets.window_bytes_at(round_)
        later = budgets.from_round[budgets.from_round > round_]
        until = min(to_round, int(later[0])) if len(later) else to_round
        copying = np.zeros(len(threads), np.int64)
        for block in self._blocks:
            copying += np.bincount(block.broker[block.takes_thread(round_)], minlength=len(threads))
        self._queued, self._courses = np.zeros(len(threads), bool), []
        for block in self._blocks:
            block.let_go()
        begun = self._begun(self._replicas > 1, most, round_ - self._window, round_)
        is_over = np.array([sum(size for _, size in begun[broker]) > most[broker] for broker in range(len(threads))])
        is_full = (self._replicas > threads) & (copying >= threads)
        may_wait = (self._replicas > 1) & (is_full | is_over)
        lines = self._lines(may_wait, round_)
        for broker in np.flatnonzero(may_wait).tolist():
            tasks = lines[broker]
            nobody_waits = not any(task.sizes and not task.copies for *_, task in tasks) and copying[broker] <= threads[broker]
            if nobody_waits and not is_over[broker]:
                continue
            if not self._queued.any():  # of a broker that stops it cannot be seen afterwards what its tasks waited for
                until = min([until, *self._changes[self._changes > round_][:1].tolist()])
            self._queued[broker] = True
            rest = (int(threads[broker]), begun[broker], self._window, most[broker], round_, until)
            courses, end = forecast([task for *_, task in tasks], *rest)
            until = min(until, end)
            self._courses += [(*one, course) for one, course in zip(tasks, courses, strict=True)]
        for block in self._blocks:
            block.hold_back(self._queued)
        for block, place, _, course in self._courses:
            block.let_begin(place, course)
        self._before = [block.state for block in self._blocks]
        return until

    def first_conflict(self, from_round: int, to_round: int) -> int:
        """Of rounds that were played with what `stand` set the first that was otherwise, or an earlier one; else `to_round`."""
        budgets, found = self._budgets, to_round
        threads, most = np.array(budgets.threads_at(from_round)), budgets.window_bytes_at(from_round)
        half = from_round + (to_round - from_round) // 2
        of_blocks = {id(block): block.copied_since(from_round) for block in self._blocks}
        if self._has_other_duties():
            found = half if to_round > from_round + 1 else found
        last: dict[int, tuple[int, int]] = {}
        for block, place, task, course in self._courses:
            found = min(
                found, _first_other(course, of_blocks[id(block)].get(place, []), task, block.is_copying(place), to_round, half)
            )
            if course.begins and not task.copies and course.from_round < to_round:
                broker = int(block.broker[place])
                last[broker] = max(last.get(broker, (0, 0)), task.place_in_line)
        known = {(id(block), place): (task, course) for block, place, task, course in self._courses}
        for broker, tasks in self._lines(self._queued, to_round - 1).items():
            for block, place, task in tasks:
                found = min(found, self._came(known.get((id(block), place)), task, last.get(broker), to_round, half))
        crowded = (self._replicas > threads) & ~self._queued
        if crowded.any():
            found = min(found, self._first_crowded(from_round, to_round, threads, crowded))
        begun = self._begun((self._replicas > 1) & ~self._queued, most, from_round - self._window, to_round)
        for broker, begins in begun.items():
            found = min(found, self._first_over(begins, from_round, to_round, most[broker], bool(crowded[broker])))
        return max(found, from_round)

    def ask(self) -> None:
        """Let everybody do what he likes in the next round."""
        for block in self._blocks:
            block.let_go()
            block.let_all_begin()
        self._before = [block.state for block in self._blocks]

    def settle(self, round_: int) -> bool:
        """Settle whose turn it is in a round that was played as of `ask`; whether somebody gets less."""
        threads, most = self._budgets.threads_at(round_), self._budgets.window_bytes_at(round_)
        of_brokers: dict[int, list[tuple[CopiesOfBlock, int, CopyTask, int]]] = defaultdict(list)
        is_less = False
        for block, before in zip(self._blocks, self._before, strict=True):
            for place, task, moved in block.done(before, round_):
                of_brokers[int(block.broker[place])].append((block, place, task, moved))
        self._turns = []
        begun = self._begun(np.ones(len(threads), bool), most, round_ - self._window, round_)
        for broker, tasks in of_brokers.items():
            used = sum(size for _, size in begun[broker])
            turns = turns_of([task for _, _, task, _ in tasks], threads[broker], used, most[broker])
            for (block, place, task, moved), turn in zip(tasks, turns, strict=True):
                self._turns.append((block, place, turn))
                is_less |= turn.starts < len(task.sizes) or turn.moved < moved
        return is_less

    def give(self) -> None:
        """Set what was settled, in states of before the round."""
        for block, place, turn in self._turns:
            block.let_turn(place, turn)

    def _has_other_duties(self) -> bool:
        """Whether one of those of whom there is a forecast has another duty than when it was made."""
        places: dict[int, list[int]] = defaultdict(list)
        for block, place, *_ in self._courses:
            places[id(block)].append(place)
        return any(
            (block.duties(old) != block.duties(block.state))[places[id(block)]].any()
            for block, old in zip(self._blocks, self._before, strict=True)
            if id(block) in places
        )

    @staticmethod
    def _came(
        known: tuple[CopyTask, Course] | None, task: CopyTask, last: tuple[int, int] | None, to_round: int, half: int
    ) -> int:
        """Who stands in line at the end of a forecast: a round at which this shows that it was wrong, `to_round`: it does not."""
        if known is not None and task.due == known[0].due and not task.copies:
            _, course = known
            if course.is_under_way or not course.has_begun_all or not course.ends:
                return to_round
            return min(course.ends[-1], to_round)  # its run goes on, with a segment that was closed meanwhile
        if known is None and not task.copies and last is not None and task.place_in_line < last:
            return half
        return to_round

    def _lines(self, brokers: np.ndarray, round_: int) -> dict[int, list[tuple[CopiesOfBlock, int, CopyTask]]]:
        """By broker, of those given as flags, the tasks that stand in its line (CopiesOfBlock.lines)."""
        found: dict[int, list[tuple[CopiesOfBlock, int, CopyTask]]] = defaultdict(list)
        for block in self._blocks:
            for broker, tasks in block.lines(round_, brokers).items():
                found[broker] += [(block, *task) for task in tasks]
        return found

    def _begun(self, brokers: np.ndarray, most: Sequence[int], after: int, before: int) -> dict[int, list[tuple[int, int]]]:
        """By broker, of those given as flags that have a quota (`most`: window_bytes): (round, bytes) of segments whose copies
        began between two rounds, in order.
        """
        found: dict[int, list[tuple[int, int]]] = defaultdict(list)
        with_quota = brokers & (np.array(most) != UNLIMITED)
        if with_quota.any():
            for block in self._blocks:
                for broker, at_round, size_bytes in block.begun(with_quota, after, before):
                    found[broker].append((at_round, size_bytes))
        for begins in found.values():
            begins.sort()
        return found

    def _first_crowded(self, from_round: int, to_round: int, threads: np.ndarray, crowded: np.ndarray) -> int:
        """The first round in which a broker had more copies than threads; one that fails at once needs a thread, too."""
        spans = [block.spans(old, from_round, to_round, crowded) for block, old in zip(self._blocks, self._before, strict=True)]
        broker, begin, end = (np.concatenate(columns) for columns in zip(*spans, strict=True))
        at_broker, at_round, copies = under_way(broker, begin, end, from_round, to_round)
        over = at_round[copies > threads[at_broker]]
        place = at_broker * (to_round + 1) + at_round
        for block in self._blocks:
            of_broker, began = block.failed_at_once(from_round, crowded)
            last = np.searchsorted(place, of_broker * (to_round + 1) + began, side="right") - 1
            of_broker, began, last = (column[last >= 0] for column in (of_broker, began, last))
            has_none = (at_broker[last] == of_broker) & (copies[last] >= threads[of_broker])
            over = np.append(over, began[has_none])
        return to_round if not len(over) else int(over.min())

    def _first_over(self, begun: Sequence[tuple[int, int]], from_round: int, to_round: int, most: int, crowded: bool) -> int:
        """The first round in which copies began that a broker's quota perhaps did not let begin. `begun`: as of `_begun`, with
        those of the window before.
        """
        used, first, at = 0, 0, 0
        while at < len(begun):
            round_, least = begun[at]
            while at < len(begun) and begun[at][0] == round_:
                used += begun[at][1]
                at += 1
            while begun[first][0] <= round_ - self._window:
                used -= begun[first][1]
                first += 1
            if round_ >= from_round and (used - least > most or (crowded and used > most)):
                return round_
        return to_round


def _first_other(
    course: Course, copied: Sequence[tuple[int, int]], task: CopyTask, is_copying: bool, to_round: int, half: int
) -> int:
    """The first round before `to_round` in which copies began or ended otherwise than forecast. `copied`: of segments that began,
    or ended, since then (round in which it began, in which it ended, FOREVER: not yet).
    """
    begins = sorted(begin for begin, _ in copied if begin != FOREVER)
    ends = sorted(end for _, end in copied if end != FOREVER)
    found = to_round
    for wanted, seen in ((course.begins, begins), (course.ends, ends)):
        wanted = [at for at in wanted if at < to_round]
        for one, other in zip([*wanted, FOREVER], [*seen, FOREVER], strict=False):
            if one != other:
                found = min(found, one, other)
                break
    under_way = task.copies + sum(at < to_round for at in course.begins) - sum(at < to_round for at in course.ends)
    return half if found == to_round and is_copying != bool(under_way) else found
