"""The Kafka round under broker crashes as dense NumPy arrays, on one core.

They are indexed [slot, partition], or [partition] for what a partition has one of; the epoch caches [slot, partition, epoch].

It does all that changes LEO, HW and ISR there (docs/kafka_rounds.md, whose steps are named below): append, fetch, divergence and
truncation, ISR, high watermark, fencing, elections, preferred leaders, restarts, HW checkpoints. Crashes alone never lead to what
is left out. A broker that runs is told everything and hears everybody, so there are no pending ISR changes and no late news; who
is elected while it is down is fenced before it is back; a partition's logs begin alike and go on in whole batches of one size.
Nothing is counted either: no acknowledged or lost records, no events, no outcomes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.kernels import KernelRun
from benchmarks.kernels.crashes import Brokers, Crash

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

NEVER, UNKNOWN, NOBODY = -(1 << 40), -1, -1
NONE = 1 << 60
"""No such start offset; also an offset that nothing reaches."""


@dataclass(frozen=True)
class Settings:
    """Kafka's defaults in rounds of 500 ms, but for min_insync_replicas."""

    # Of each partition, or of all
    records_per_round: Ints | int
    max_fetch_records: Ints | int
    log_ends: Ints | int = 0
    min_insync_replicas: int = 2
    unclean_election: bool = False
    session_timeout_rounds: int = 18
    lag_rounds: int = 60
    isr_check_rounds: int = 30
    checkpoint_rounds: int = 10
    rebalance_rounds: int = 600


def run_rounds(
    assignment: Ints, broker_ids: Sequence[int], crashes: Sequence[Crash], rounds: int, settings: Settings
) -> KernelRun:
    """Runs so many rounds. `assignment`: broker ids [partition, slot], the preferred leader first."""
    brokers = Brokers(broker_ids, crashes, settings.session_timeout_rounds)
    kernel = _Kernel(np.searchsorted(np.asarray(broker_ids), assignment.T), settings)
    began = time.perf_counter()
    for now in range(rounds):
        kernel.play_round(now, brokers)
    return KernelRun(time.perf_counter() - began, kernel.leo.T, kernel.hw.T, kernel.isr.T)


class _Kernel:
    """The state of all partitions. T is a partition's client leader: the replica elected last."""

    def __init__(self, broker_index: Ints, settings: Settings) -> None:
        self._settings, self._broker_index = settings, broker_index
        shape = replicas, count = broker_index.shape
        self._slots, self._partitions = np.arange(replicas)[:, None], np.arange(count)

        def filled(value: int) -> Ints:
            return np.full(shape, value, np.int64)

        self.leo, self.isr = filled(0) + settings.log_ends, np.ones(shape, bool)
        self.hw, self._checkpoint, self._leading_epoch = self.leo.copy(), self.leo.copy(), filled(UNKNOWN)
        self._leading_epoch[0] = 0
        self._believed_leader, self._believed_epoch = filled(0), filled(0)
        # an epoch cache: the start offset of every epoch, NONE where it is not in the cache
        self._starts = np.full((*shape, 1), NONE, np.int64)
        self._last_epoch = np.where(self.leo > 0, 0, self._leading_epoch)
        self._starts[self._last_epoch == 0] = 0
        # what T knows of each slot
        self._remote_leo, self._caught_up = self.leo.copy(), filled(0)
        self._noted_round, self._noted_leader_leo = filled(-1), self.leo.copy()
        # what is one value a partition
        self._leader, self._epoch = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self._leader_t, self._epoch_t, self._start_t = (np.zeros(count, np.int64) for _ in range(3))

    def play_round(self, now: int, brokers: Brokers) -> None:
        """One round of every partition."""
        if brokers.advance(now) or now == 0:
            at = self._broker_index
            self._running, self._fenced = ~brokers.offline[at], brokers.fenced[at]
            self._returning, self._restarted = brokers.returning[at], brokers.restarted[at]
        if self._restarted.any():
            self._restart()
        hw_at_start = self.hw
        rebalances = now > 0 and now % self._settings.rebalance_rounds == 0
        if rebalances or (self._fenced | self._restarted).any():
            self._fence_and_elect(now, rebalances)
        self._at_t = self._leader_t * len(self._partitions) + self._partitions
        self._is_t = self._slots == self._leader_t
        ready = self._leading_epoch.take(self._at_t) == self._epoch_t
        self._works = ready & self._running.take(self._at_t)
        self._append()
        asked_leo = self.leo
        at_leader, data, diverging = self._fetch()
        noted = data & (at_leader == self._at_t) & self._works
        self._note(now, noted, self.leo.take(at_leader))
        self._change_isr(now, noted & (asked_leo >= np.maximum(hw_at_start.take(self._at_t), self._start_t)))
        self._respond(at_leader, data, hw_at_start)
        self._truncate(*np.nonzero(diverging))
        self._learn()
        if now % self._settings.checkpoint_rounds == 0:
            self._checkpoint = np.where(self._running, self.hw, self._checkpoint)

    def _restart(self) -> None:
        """Step 1: who comes back follows, from its checkpointed high watermark."""
        back = self._restarted
        self.hw = np.where(back, np.minimum(self._checkpoint, self.leo), self.hw)
        self._leading_epoch = np.where(back, UNKNOWN, self._leading_epoch)
        self._believed_leader = np.where(back, self._leader, self._believed_leader)
        self._believed_epoch = np.where(back, self._epoch, self._believed_epoch)

    def _fence_and_elect(self, now: int, rebalances: bool) -> None:
        """Step 2."""
        epoch_before, everywhere = self._epoch, np.ones(len(self._epoch), bool)
        blocked = self._fenced | self._returning
        remaining = self.isr & ~blocked
        leader_is_member = self.isr[self._leader, self._partitions] & (self._leader != NOBODY)
        last_one = np.where(leader_is_member, self._leader, self.isr.argmax(axis=0))
        self.isr = np.where(remaining.any(axis=0), remaining, self._slots == last_one)
        self._elect(blocked, everywhere)
        self._elect(self._fenced, (self._leader == NOBODY) & self._returning.any(axis=0))
        if rebalances:
            prefers = (self._leader > 0) & self.isr[0] & ~self._fenced[0]
            self._leader, self._epoch = np.where(prefers, 0, self._leader), self._epoch + prefers
        self._begin_leaderships(now, np.nonzero((self._epoch != epoch_before) & (self._leader != NOBODY))[0])

    def _elect(self, blocked: Flags, where: Flags) -> None:
        """The first of the ISR that is not blocked, else uncleanly the first of all, else nobody."""
        needed = where & ((self._leader == NOBODY) | blocked[self._leader, self._partitions])
        clean, alive = self.isr & ~blocked, ~blocked
        is_clean = clean.any(axis=0)
        is_unclean = ~is_clean & alive.any(axis=0) & self._settings.unclean_election
        chosen = np.where(is_clean, clean.argmax(axis=0), np.where(is_unclean, alive.argmax(axis=0), NOBODY))
        self.isr = np.where(needed & is_unclean, self._slots == chosen, self.isr)
        self._epoch = self._epoch + (needed & (chosen != self._leader))
        self._leader = np.where(needed, chosen, self._leader)

    def _begin_leaderships(self, now: int, partitions: Ints) -> None:
        """T begins anew with what it knows of the others; it takes its epoch into its cache, if it runs."""
        slot, epoch = self._leader[partitions], self._epoch[partitions]
        self._leader_t[partitions], self._epoch_t[partitions], self._start_t[partitions] = slot, epoch, self.leo[slot, partitions]
        self._remote_leo[:, partitions], self._noted_leader_leo[:, partitions] = UNKNOWN, NONE
        self._caught_up[:, partitions] = np.where(self.isr[:, partitions], now, NEVER)
        told = self._running[slot, partitions]
        partitions, slot, epoch = partitions[told], slot[told], epoch[told]
        if not len(partitions):
            return
        missing = int(epoch.max()) + 1 - self._starts.shape[2]
        if missing > 0:
            self._starts = np.pad(self._starts, ((0, 0), (0, 0), (0, missing)), constant_values=NONE)
        starts = self._starts[slot, partitions]
        starts[starts >= self.leo[slot, partitions][:, None]] = NONE
        starts[np.arange(len(partitions)), epoch] = self.leo[slot, partitions]
        self._starts[slot, partitions] = starts
        for epochs in (self._leading_epoch, self._believed_epoch, self._last_epoch):
            epochs[slot, partitions] = epoch
        self._believed_leader[slot, partitions] = slot

    def _append(self) -> None:
        """Step 3: acks=all."""
        takes = self._works & (self.isr.sum(axis=0) >= self._settings.min_insync_replicas)
        self.leo = self.leo + self._settings.records_per_round * (self._is_t & takes)

    def _fetch(self) -> tuple[Ints, Flags, Flags]:
        """Step 4: where each follower's leader is in a flattened array, who is answered with data, and who diverges."""
        believed = self._believed_leader
        sends = self._running & (believed != NOBODY) & (believed != self._slots) & (self._slots != self._leader)
        at_leader = np.maximum(believed, 0) * len(self._partitions) + self._partitions
        answered = sends & self._running.take(at_leader) & (self._leading_epoch.take(at_leader) == self._believed_epoch)
        same_epoch = self._last_epoch == self._last_epoch.take(at_leader)
        doubtful = answered & (self._last_epoch != UNKNOWN) & (~same_epoch | (self.leo > self.leo.take(at_leader)))
        diverging = np.zeros_like(answered)
        slots, partitions = np.nonzero(doubtful)
        if len(partitions):
            asked = self._last_epoch[slots, partitions]
            epoch, end = self._end_of(believed[slots, partitions], partitions, asked)
            diverging[slots, partitions] = (epoch < asked) | (end < self.leo[slots, partitions])
        return at_leader, answered & ~diverging, diverging

    def _end_of(self, slots: Ints, partitions: Ints, asked: Ints) -> tuple[Ints, Ints]:
        """The largest epoch <= `asked` in each cache (`asked` if there is none), and where it ends."""
        starts, epochs = self._starts[slots, partitions], np.arange(self._starts.shape[2])
        known = starts != NONE
        epoch = np.where(known & (epochs <= asked[:, None]), epochs, UNKNOWN).max(axis=1)
        later = np.where(epochs > asked[:, None], starts, NONE).min(axis=1)
        return np.where(epoch == UNKNOWN, asked, epoch), np.where(later == NONE, self.leo[slots, partitions], later)

    def _note(self, now: int, noted: Flags, leader_leo: Ints) -> None:
        """T takes note of what followers have."""
        reached = noted & (self.leo >= leader_leo)
        reached_before = noted & ~reached & (self.leo >= self._noted_leader_leo)
        before = np.maximum(self._noted_round, self._caught_up)
        self._caught_up = np.where(reached, now, np.where(reached_before, before, self._caught_up))
        self._remote_leo = np.where(noted, self.leo, self._remote_leo)
        self._noted_round = np.where(noted, now, self._noted_round)
        self._noted_leader_leo = np.where(noted, leader_leo, self._noted_leader_leo)

    def _change_isr(self, now: int, reached: Flags) -> None:
        """Steps 5 and 6: joins, shrinks, the high watermark over the ISR with the joins, and again without who left."""
        in_time = self._caught_up >= now - self._settings.lag_rounds
        in_time |= self._remote_leo == self.leo.take(self._at_t)
        self.isr = self.isr | (reached & ~self._fenced & self._works)
        catching_up = ~self._fenced & in_time
        self._advance_hw(self.isr | catching_up)
        if now % self._settings.isr_check_rounds == 0:
            shrinks = self.isr & ~in_time & ~self._is_t & self._works
            if shrinks.any():
                self.isr = self.isr & ~shrinks
                self._advance_hw(self.isr | catching_up)

    def _advance_hw(self, awaited: Flags) -> None:
        rises = self._works & (self.isr.sum(axis=0) >= self._settings.min_insync_replicas)
        leo = np.where(self._is_t, self.leo, np.maximum(self._remote_leo, 0))
        reached = np.where(awaited | self._is_t, leo, NONE).min(axis=0)
        self.hw = np.where(self._is_t & rises, np.maximum(self.hw, reached), self.hw)

    def _respond(self, at_leader: Ints, data: Flags, hw_at_start: Ints) -> None:
        """Step 7: whole batches, the epochs they are of, and a high watermark that may also fall."""
        end = np.where(data, np.minimum(self.leo.take(at_leader), self.leo + self._settings.max_fetch_records), self.leo)
        chunk = end > self.leo
        leader_hw = np.where(chunk, hw_at_start.take(at_leader), self.hw.take(at_leader))
        self.leo, self.hw = end, np.where(data, np.minimum(end, leader_hw), self.hw)
        slots, partitions = np.nonzero(chunk & (self._last_epoch != self._last_epoch.take(at_leader)))
        if len(partitions):  # what a follower had is its leader's, record by record: so is its cache then
            starts = self._starts[self._believed_leader[slots, partitions], partitions]
            self._set_starts(slots, partitions, np.where(starts < end[slots, partitions][:, None], starts, NONE))

    def _truncate(self, slots: Ints, partitions: Ints) -> None:
        """Step 7: who diverges cuts its log to where both logs end the epoch."""
        if not len(partitions):
            return
        epoch, end = self._end_of(self._believed_leader[slots, partitions], partitions, self._last_epoch[slots, partitions])
        _, own_end = self._end_of(slots, partitions, epoch)
        end = np.minimum(np.minimum(end, own_end), self.leo[slots, partitions])
        starts = self._starts[slots, partitions]
        self._set_starts(slots, partitions, np.where(starts < end[:, None], starts, NONE))
        self.leo[slots, partitions] = end
        self.hw[slots, partitions] = np.minimum(self.hw[slots, partitions], end)

    def _set_starts(self, slots: Ints, partitions: Ints, starts: Ints) -> None:
        self._starts[slots, partitions] = starts
        self._last_epoch[slots, partitions] = np.where(starts != NONE, np.arange(starts.shape[1]), UNKNOWN).max(axis=1)

    def _learn(self) -> None:
        """Step 8: whoever runs believes the controller; who leads no more follows."""
        self._believed_leader = np.where(self._running, self._leader, self._believed_leader)
        self._believed_epoch = np.where(self._running, self._epoch, self._believed_epoch)
        self._leading_epoch = np.where(self._running & (self._slots != self._leader), UNKNOWN, self._leading_epoch)
