"""What is looked at of a block's copies, and what is set in its states, where copies go in turn (copy_turns.py)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from emulator.engine.budgets.copy_forecast import Course
from emulator.engine.budgets.copy_queue import CopyTask, Turn
from emulator.engine.budgets.demands import in_force, is_replica
from emulator.engine.budgets.shared_block import SharedBlock
from emulator.rounds.kafka.constants import FOREVER, NOT_RUNNING, UNKNOWN
from emulator.rounds.kafka.list_records import Segment
from emulator.rounds.kafka.state import State
from emulator.rounds.kafka.tier.records import LEADER_DUTY, NO_DUTY, NO_SEGMENT, NOT_LOOKED_UP, Pin, RemoteSegment
from emulator.rounds.packed import entries_of

ANY_STARTS = 1 << 40


class CopiesOfBlock:
    """A block's copies. `first`: place of its first partition among those of all blocks."""

    def __init__(self, block: SharedBlock, first: int) -> None:
        self._block, self._first = block, first
        self.partition, self.slot, self.broker, *_ = block.layout
        self._round_ms = int(block.block.inputs.settings[0].round_ms)

    @property
    def state(self) -> State:
        """The block's state as it stands."""
        return self._block.stretches.state

    @property
    def begin(self) -> State:
        """Its state where the block was marked last."""
        return self._block.begin

    @property
    def tiers(self) -> np.ndarray:
        """Records of its replicas, to be written to."""
        return np.asarray(self.state.tiers)

    def per_broker(self, brokers: int) -> np.ndarray:
        """Replicas by broker of partitions that copy in some round."""
        settings = np.asarray(self._block.block.inputs.settings)
        first, of_partition = np.unique(np.asarray(self.state.partitions)["settings"], return_inverse=True)
        ever = np.array([_ever_copies(settings, at) for at in first.tolist()], bool)
        return np.bincount(self.broker[ever[of_partition.reshape(-1)][self.partition]], minlength=brokers)

    def store_bytes(self, round_: int) -> np.ndarray:
        """By replica what its copy moves in a round, as the store and its broker's network leave it; UNKNOWN: any."""
        store, network = np.asarray(self._block.block.inputs.store), self.tiers["network_bytes"]
        of_partition = store["copy_bytes"][in_force(store["from_round"], np.asarray(self.state.tier)["store"], round_)]
        rate = of_partition[self.partition]
        found: np.ndarray = np.where(
            (rate == UNKNOWN) | (network == UNKNOWN), np.maximum(rate, network), np.minimum(rate, network)
        )
        return found

    def takes_thread(self, round_: int) -> np.ndarray:
        """Places of replicas whose copy is under way, and takes time."""
        return np.flatnonzero(self._copies(self.state) & (self.store_bytes(round_) != UNKNOWN))

    def is_copying(self, place: int) -> bool:
        """Whether a replica has a copy under way."""
        return bool(self._copies(self.state)[place])

    def duties(self, state: State) -> np.ndarray:
        """By replica its duty in a state of this block."""
        return np.where(is_replica(state, self._block.layout), np.asarray(state.tiers)["duty"], NO_DUTY)

    def let_go(self) -> None:
        """Nobody waits for others."""
        tiers = self.tiers
        for name in ("copy_starts", "copy_from", "copy_from_bytes", "copy_share_bytes"):
            tiers[name] = UNKNOWN

    def let_all_begin(self) -> None:
        """Nobody waits for the quota either."""
        self.tiers["copy_starts"] = ANY_STARTS

    def hold_back(self, brokers: np.ndarray) -> None:
        """Nobody begins a segment on these brokers, given as flags."""
        self.tiers["copy_starts"][brokers[self.broker]] = 0

    def let_begin(self, place: int, course: Course) -> None:
        """A replica may do what was forecast."""
        tier = self.tiers[place]
        tier["copy_starts"], tier["copy_from"], tier["copy_from_bytes"] = course.starts, course.from_round, course.from_bytes

    def let_turn(self, place: int, turn: Turn) -> None:
        """A replica may do what was settled for the next round."""
        tier = self.tiers[place]
        tier["copy_starts"], tier["copy_share_bytes"] = turn.starts, turn.bytes

    def lines(self, round_: int, brokers: np.ndarray) -> dict[int, list[tuple[int, CopyTask]]]:
        """By broker, of those given as flags: (place of the replica, its task) of its copies under way, and of tasks that are due
        and have a candidate, before a round is played; `sizes`: of all that they could copy as it stands.
        """
        found: dict[int, list[tuple[int, CopyTask]]] = defaultdict(list)
        if not brokers.any():
            return found
        tiers, rates = self.tiers, self.store_bytes(round_)
        copies = self._copies(self.state)
        is_due = (tiers["duty"] == LEADER_DUTY) & (_rounds_due(tiers, self._round_ms) <= round_)
        places = np.flatnonzero(brokers[self.broker] & (copies | is_due) & self._run(self.state, round_))
        last = self._last_begun(round_)
        for place in places.tolist():
            sizes = self._candidates(place, round_)
            if sizes or copies[place]:
                due = int(_rounds_due(tiers[place], self._round_ms))
                numbers = (self._first + int(self.partition[place]), due, int(last[place]))
                rate, left = int(rates[place]), int(tiers["left_bytes"][place])
                task = CopyTask(*numbers, rate, bool(copies[place]), left, sizes, False)
                found[int(self.broker[place])].append((place, task))
        return found

    def begun(self, brokers: np.ndarray, after: int, before: int) -> Iterator[tuple[int, int, int]]:
        """(broker, round, bytes) of segments whose copies these brokers, given as flags, began in the rounds between two; none of
        those before the run.
        """
        segments, replica, _ = self._segments(max(after + 1, 0))
        broker = self.broker[replica]
        is_meant = (segments["started_round"] < before) & brokers[broker]
        columns = broker, segments["started_round"], segments["size_bytes"]
        return zip(*(column[is_meant].tolist() for column in columns), strict=True)

    def copied_since(self, from_round: int) -> dict[int, list[tuple[int, int]]]:
        """By replica: of segments that began or ended since a round when they did; FOREVER: before that, or not yet."""
        segments, replica, _ = self._segments(None)
        begin, end = segments["started_round"], np.where(segments["was_finished"] == 1, segments["copied_round"], -1)
        found: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for at in np.flatnonzero((begin >= from_round) | (end >= from_round)).tolist():
            began = int(begin[at]) if begin[at] >= from_round else FOREVER
            found[int(replica[at])].append((began, int(end[at]) if end[at] >= from_round else FOREVER))
        return found

    def spans(
        self, before: State, from_round: int, to_round: int, crowded: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(broker, first round, last round) of what took a thread in rounds that were played, disjoint for each replica."""
        segments, replica, number = self._segments(None)
        old, now = np.asarray(before.tiers)["copying"][replica], self.tiers["copying"][replica]
        is_meant = (segments["started_round"] >= from_round) | ((old == number) & (old != NO_SEGMENT))
        is_meant &= crowded[self.broker[replica]]
        segments, replica, number, now = segments[is_meant], replica[is_meant], number[is_meant], now[is_meant]
        begin = np.maximum(segments["started_round"], from_round)
        store = np.asarray(self._block.block.inputs.store)
        first = np.asarray(before.tier)["store"][self.partition[replica]]
        span, last = (in_force(store["from_round"], first, at) for at in (begin, to_round - 1))
        takes_no_time = (store["copy_bytes"][span] == UNKNOWN) & (self.tiers["network_bytes"][replica] == UNKNOWN)
        # Of one that came to nothing it is not known when: one that moved anything, or could not, may have taken all rounds.
        stands = np.append(0, np.cumsum(store["copy_bytes"] == 0))
        may_have_stood = (segments["moved_bytes"] > 0) | (stands[last + 1] > stands[span])
        end = np.where((now == number) | may_have_stood, to_round - 1, begin - 1)
        end = np.where(segments["was_finished"] == 1, segments["copied_round"], end)
        end = np.where(takes_no_time, begin - 1, end)
        order = np.lexsort((number, replica))
        replica, begin, end = replica[order], begin[order], end[order]
        follows = np.append(False, replica[1:] == replica[:-1])[: len(replica)]
        begin = np.where(follows, np.maximum(begin, np.append(0, end[:-1])[: len(end)] + 1), begin)
        is_one = begin <= end
        return self.broker[replica[is_one]], begin[is_one], end[is_one]

    def failed_at_once(self, from_round: int, crowded: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(broker, round) of copies that began since a round and came to nothing before they moved anything."""
        segments, replica, number = self._segments(from_round)
        has_failed = (segments["was_finished"] == 0) & (segments["moved_bytes"] == 0) & (self.tiers["copying"][replica] != number)
        has_failed &= crowded[self.broker[replica]]
        return self.broker[replica[has_failed]], segments["started_round"][has_failed]

    def done(self, before: State, round_: int) -> Iterator[tuple[int, CopyTask, int]]:
        """(place of the replica, its task, bytes moved) of who copied, in a round that was played as if nobody had to wait."""
        old, new = np.asarray(before.tiers), self.tiers
        due = np.where(old["duty"] == LEADER_DUTY, _rounds_due(old, self._round_ms), round_)
        copies = self._copies(before) & ~self._gave_up(before)
        runs, rates = self._run(before, round_), self.store_bytes(round_)
        segments, replica, number = self._segments(round_)
        begun: dict[int, list[tuple[int, int, bool]]] = defaultdict(list)
        for at, place in enumerate(replica.tolist()):
            is_under_way = int(new["copying"][place]) == int(number[at])
            is_good = _is_whole(segments[at]) or is_under_way
            moved = int(segments["size_bytes"][at]) - (int(new["left_bytes"][place]) if is_under_way else 0)
            begun[place].append((int(segments["size_bytes"][at]), moved if is_good else 0, is_good))
        entries, offsets = np.asarray(entries_of(RemoteSegment, self.state.remote)), self.state.remote.offsets
        last = self._last_begun(round_)
        for place in sorted({*np.flatnonzero(runs & copies).tolist(), *begun}):
            left, moved, fails = 0, 0, False
            if copies[place]:
                one, left = int(old["copying"][place]), int(old["left_bytes"][place])
                if int(new["copying"][place]) == one:
                    moved = left - int(new["left_bytes"][place])
                elif _is_whole(entries[offsets[self.partition[place]] + one]):
                    moved = left
                else:
                    fails = True
            sizes = [size for size, _, _ in begun[place]]
            fails |= not all(is_good for *_, is_good in begun[place])
            numbers = (self._first + int(self.partition[place]), int(due[place]), int(last[place]), int(rates[place]))
            yield place, CopyTask(*numbers, bool(copies[place]), left, sizes, fails), moved + sum(m for _, m, _ in begun[place])

    def _copies(self, state: State) -> np.ndarray:
        """By replica, whether it has a copy under way in a state, and is still a replica."""
        found: np.ndarray = (np.asarray(state.tiers)["copying"] != NO_SEGMENT) & is_replica(self.state, self._block.layout)
        return found

    def _gave_up(self, before: State) -> np.ndarray:
        """By replica, whether it let go of its copy before the tasks of a round that was played, as it has another duty now."""
        duty, scenario = self.duties(self.state), np.asarray(self.state.partitions)["scenario"][self.partition]
        finishes = np.asarray(self._block.block.inputs.scenarios)["finishes"][scenario] == 1
        found: np.ndarray = (duty != self.duties(before)) & (~finishes | (duty == NO_DUTY))
        return found

    def _run(self, state: State, round_: int) -> np.ndarray:
        """By replica, whether its broker runs in a round."""
        spans = np.asarray(self._block.block.inputs.spans)
        at = in_force(spans["from_round"], np.asarray(state.replicas)["span"], round_)
        found: np.ndarray = spans["status"][at] & NOT_RUNNING == 0
        return found

    def _candidates(self, place: int, round_: int) -> list[int]:
        """Bytes of the closed segments that a replica's task could copy as it stands, behind the one that it copies."""
        inputs, partition = self._block.block.inputs, int(self.partition[place])
        parts, replica, tier = np.asarray(self.state.partitions), np.asarray(self.state.replicas)[place], self.tiers[place]
        topics = np.asarray(inputs.settings)
        settings = topics[in_force(topics["from_round"], parts["settings"][partition : partition + 1], round_)[0]]
        if tier["duty"] != LEADER_DUTY or not settings["copies"]:
            return []
        copied = replica["highest_remote"] if tier["copied"] == NOT_LOOKED_UP else tier["copied"]
        if tier["copying"] != NO_SEGMENT:
            at = self.state.remote.offsets[partition] + tier["copying"]
            copied = entries_of(RemoteSegment, self.state.remote)[at].end_offset
        pins = self.state.pins
        open_from = entries_of(Pin, pins)["offset"][pins.offsets[partition] : pins.offsets[partition + 1]]
        stable = min([int(replica["hw"]), *open_from.tolist()])
        first, last = self.state.segments.offsets[place], self.state.segments.offsets[place + 1]
        segments = entries_of(Segment, self.state.segments)[first:last]
        ends = [*segments["base_offset"][1:].tolist(), int(replica["active_base"])] if len(segments) else []
        behind = int(segments["size_bytes"].sum()) + int(replica["active_bytes"])
        lag_rounds, lag_bytes = settings["copy_lag_rounds"], settings["copy_lag_bytes"]
        found = []
        for segment, end in zip(segments, ends, strict=True):
            behind -= int(segment["size_bytes"])
            if end <= max(copied + 1, replica["log_start"]):
                continue
            has_waited = lag_rounds == 0 or lag_bytes == 0 or 0 < lag_bytes <= behind
            if end > stable or not (has_waited or 0 < lag_rounds <= round_ - segment["newest_round"]):
                break
            found.append(int(segment["size_bytes"]))
        return found

    def _last_begun(self, round_: int) -> np.ndarray:
        """By replica the round in which its last segment began, before a round; UNKNOWN: none did."""
        segments, replica, _ = self._segments(0)
        is_meant = segments["started_round"] < round_
        last = np.full(len(self.partition), UNKNOWN)
        np.maximum.at(last, replica[is_meant], segments["started_round"][is_meant])
        return last

    def _segments(self, from_round: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(remote segments whose copies began in a round or later, places of who began them, their numbers)."""
        remote = self.state.remote
        entries = np.asarray(entries_of(RemoteSegment, remote))
        at = np.arange(len(entries)) if from_round is None else np.flatnonzero(entries["started_round"] >= from_round)
        partition = np.searchsorted(remote.offsets, at, "right") - 1
        entries = entries[at]
        replica = np.asarray(self.state.partitions)["first_replica"][partition] + entries["slot"]
        return entries, replica, at - remote.offsets[partition]


def under_way(
    broker: np.ndarray, begin: np.ndarray, end: np.ndarray, from_round: int, to_round: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(broker, round, copies): where spans within these rounds begin, or are over, how many a broker has from there on; by both.

    Spans as of `CopiesOfBlock.spans`.
    """
    width = to_round - from_round + 2
    keys, of_key = np.unique(
        np.concatenate([broker * width + begin - from_round, broker * width + end + 1 - from_round]), return_inverse=True
    )
    copies = np.zeros(len(keys), np.int64)
    np.add.at(copies, of_key.reshape(-1), np.repeat([1, -1], len(begin)))
    return keys // width, from_round + keys % width, np.cumsum(copies)


def _is_whole(segment: np.void) -> bool:
    """Whether a copy that is not under way came to its end, be it that another leader deleted it meanwhile: it was not told."""
    return bool(segment["moved_bytes"] == segment["size_bytes"])


def _rounds_due(tiers: Any, round_ms: int) -> Any:
    """The rounds in which copy tasks are due, of one record or of many."""
    return -(-tiers["copy_next_ms"] // round_ms)


def _ever_copies(settings: np.ndarray, first: int) -> bool:
    """Whether settings from a place on, up to a partition's last ones, are ever those of a topic that copies."""
    last = first
    while settings["from_round"][last] < FOREVER:
        last += 1
    return bool(settings["copies"][first : last + 1].any())
