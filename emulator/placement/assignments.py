"""Where the replicas of a topic's partitions go, as Kafka's placers put them, and one simpler rule.

Every function returns int32 (partitions, replication_factor): a row per partition, its preferred leader first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import numpy.typing as npt

Assignment = npt.NDArray[np.int32]


def admin_utils(
    broker_ids: Sequence[int],
    partitions: int,
    replication_factor: int,
    start_index: int = 0,
    shift: int = 0,
    racks: Mapping[int, str] | None = None,
) -> Assignment:
    """Places leaders round robin and followers at a shift from them that grows each time round.

    `start_index`: position of partition 0's leader in the sorted (with racks: rack-alternated) brokers. `shift`: the
    followers' shift at partition 0. `racks`: rack of every broker; each partition then spans as many racks as it
    can. Raises ValueError when there are no partitions or replicas, fewer brokers than replicas, or brokers without a
    rack among some with one. Source: AdminUtils.assignReplicasToBrokers (Kafka 3), KIP-36.
    """
    _check_counts(len(broker_ids), partitions, replication_factor)
    if racks is None:
        return _without_racks(np.sort(np.asarray(broker_ids, np.int32)), partitions, replication_factor, start_index, shift)
    without = [broker for broker in broker_ids if broker not in racks]
    if without:
        raise ValueError(f"broker {without[0]} has no rack while others have one")
    return _with_racks({broker: racks[broker] for broker in broker_ids}, partitions, replication_factor, start_index, shift)


def modulo(broker_ids: Sequence[int], partitions: int, replication_factor: int) -> Assignment:
    """Places replica j of partition i on broker (i + j) mod n of the sorted brokers.

    Raises ValueError when there are no partitions or replicas, or fewer brokers than replicas.
    """
    _check_counts(len(broker_ids), partitions, replication_factor)
    ordered = np.sort(np.asarray(broker_ids, np.int32))
    first = np.arange(partitions)[:, None]
    return ordered[(first + np.arange(replication_factor)) % len(ordered)]


def striped(
    broker_ids: Sequence[int],
    partitions: int,
    replication_factor: int,
    racks: Mapping[int, str] | None = None,
    fenced: Collection[int] = (),
) -> Assignment:
    """Places partitions as a KRaft controller does: racks in turn, brokers of a rack in turn, fenced brokers last.

    `racks`: rack by broker, where it has one. `fenced`: never leaders. Random draws are MockRandom's, always the same.
    Raises ValueError when there are no partitions or replicas, fewer brokers than replicas, or only fenced brokers.
    Source: StripedReplicaPlacer.
    """
    placer = StripedPlacer(broker_ids, racks, fenced)
    _check_counts(len(broker_ids), partitions, replication_factor)
    return np.array([placer.place(replication_factor) for _ in range(partitions)], np.int32)


def rack_alternated(racks: Mapping[int, str]) -> list[int]:
    """Orders brokers so that neighbours are in different racks: the first of each rack, then the second, ...

    `racks`: rack by broker. Source: AdminUtils.getRackAlternatedBrokerList.
    """
    by_rack: dict[str, list[int]] = {}
    for broker in sorted(racks):
        by_rack.setdefault(racks[broker], []).append(broker)
    members = [by_rack[rack] for rack in sorted(by_rack)]
    longest = max(len(brokers) for brokers in members)
    return [brokers[i] for i in range(longest) for brokers in members if i < len(brokers)]


def _check_counts(brokers: int, partitions: int, replication_factor: int) -> None:
    if partitions < 1:
        raise ValueError("Number of partitions must be larger than 0.")
    if replication_factor < 1:
        raise ValueError("Replication factor must be larger than 0.")
    if replication_factor > brokers:
        raise ValueError(f"Replication factor: {replication_factor} larger than available brokers: {brokers}.")


def _without_racks(
    ordered: npt.NDArray[np.int32], partitions: int, replication_factor: int, start_index: int, shift: int
) -> Assignment:
    brokers = len(ordered)
    partition = np.arange(partitions)
    leader = (partition + start_index) % brokers
    placed = np.empty((partitions, replication_factor), np.int32)
    placed[:, 0] = ordered[leader]
    for replica in range(1, replication_factor):
        distance = 1 + (shift + partition // brokers + replica - 1) % (brokers - 1)
        placed[:, replica] = ordered[(leader + distance) % brokers]
    return placed


def _with_racks(racks: Mapping[int, str], partitions: int, replication_factor: int, start_index: int, shift: int) -> Assignment:
    ordered = rack_alternated(racks)
    brokers = len(ordered)
    rack_count = len(set(racks.values()))
    # The leader repeats after `brokers` partitions, the followers' shift after brokers - 1 times round.
    period = brokers * max(1, brokers - 1)
    partition = np.arange(min(partitions, period))
    leaders = (partition + start_index) % brokers
    numbers = {rack: number for number, rack in enumerate(set(racks.values()))}
    rack_of = np.array([numbers[racks[broker]] for broker in ordered])
    places = _spread_over_racks(rack_of, leaders, (shift + partition // brokers) * rack_count, replication_factor)
    return np.array(ordered, np.int32)[places][np.arange(partitions) % period]


def _spread_over_racks(
    rack_of: npt.NDArray[np.int64], leaders: npt.NDArray[np.int64], shifts: npt.NDArray[np.int64], replication_factor: int
) -> npt.NDArray[np.int64]:
    """Takes the brokers after each leader in turn: no rack twice while another has none, no broker twice.

    Brokers are their places in the alternated order, `rack_of` their racks' numbers. A step is one of all partitions together.
    """
    brokers, rack_count = len(rack_of), len(set(rack_of.tolist()))
    places = np.full((len(leaders), replication_factor), -1)
    used_racks = places.copy()
    places[:, 0], used_racks[:, 0] = leaders, rack_of[leaders]
    taken, racks_taken = np.ones(len(leaders), np.int64), np.ones(len(leaders), np.int64)
    step = 0
    short = np.flatnonzero(taken < replication_factor)
    while len(short):
        place = (leaders[short] + 1 + (shifts[short] + step) % (brokers - 1)) % brokers
        is_used = (used_racks[short] == rack_of[place][:, None]).any(axis=1)
        takes = (~is_used | (racks_taken[short] == rack_count)) & (places[short] != place[:, None]).all(axis=1)
        at, place = short[takes], place[takes]
        places[at, taken[at]], used_racks[at, taken[at]] = place, rack_of[place]
        taken[at] += 1
        racks_taken[at] += ~is_used[takes]
        short = short[taken[short] < replication_factor]
        step += 1
    return places


class MockRandom:
    """The deterministic generator of the KRaft controller's tests: a linear congruential one with seed 17.

    Draws as java.util.Random does from 31 of its bits. Source: org.apache.kafka.server.util.MockRandom.
    """

    def __init__(self) -> None:
        self._state = 17

    def below(self, bound: int) -> int:
        """Draws an integer of [0, bound), uniformly. Source: java.util.Random.nextInt(bound)."""
        while True:
            bits = self._next_31_bits()
            if bound & (bound - 1) == 0:
                return (bound * bits) >> 31
            value = bits % bound
            if bits - value + bound - 1 < 2**31:  # else the last, incomplete run of values: draw again
                return value

    def shuffle(self, items: list[int]) -> None:
        """Shuffles the list in place. Source: java.util.Collections.shuffle."""
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]

    def _next_31_bits(self) -> int:
        self._state = (self._state * 2862933555777941757 + 3037000493) % 2**64
        return self._state >> 33


class _Turns:
    """Brokers that are taken in turn, from a start that moves by one with every partition."""

    def __init__(self, brokers: list[int], random: MockRandom) -> None:
        self.brokers = sorted(brokers)
        self.start = random.below(len(brokers)) if brokers else 0
        self.taken = 0
        self.partition = 0

    def next(self, partition: int) -> int | None:
        """The next broker for this partition, None when all were taken."""
        if not self.brokers:
            return None
        if partition != self.partition:
            self.partition, self.taken, self.start = partition, 0, (self.start + 1) % len(self.brokers)
        if self.taken == len(self.brokers):
            return None
        self.taken += 1
        return self.brokers[(self.start + self.taken - 1) % len(self.brokers)]


class StripedPlacer:
    """Places one partition after another over racks and brokers in turn; see `striped`.

    `broker_ids`, `racks`, `fenced` as there. The first rack, and the first broker of each, are drawn; after as many
    partitions as there are unfenced brokers, racks and brokers are shuffled. Racks draw in order of their names.
    """

    def __init__(self, broker_ids: Sequence[int], racks: Mapping[int, str] | None = None, fenced: Collection[int] = ()) -> None:
        self._random = MockRandom()
        rack_of = {broker: (racks or {}).get(broker, "") for broker in broker_ids}
        names = sorted(set(rack_of.values()))
        self._fenced: list[_Turns] = []
        self._unfenced: list[_Turns] = []
        for name in names:
            members = [broker for broker in broker_ids if rack_of[broker] == name]
            self._fenced.append(_Turns([broker for broker in members if broker in fenced], self._random))
            self._unfenced.append(_Turns([broker for broker in members if broker not in fenced], self._random))
        self._rack_order = list(range(len(names)))
        self._first = self._random.below(len(names)) if names else 0
        self._partition = 0
        self._brokers = len(broker_ids)
        self._unfenced_brokers = sum(broker not in fenced for broker in broker_ids)

    def place(self, replication_factor: int) -> list[int]:
        """Places the next partition; returns its replicas. Raises ValueError as `striped` does."""
        self._check(replication_factor)
        if self._partition == self._unfenced_brokers and self._unfenced_brokers > 1:
            self._shuffle()
            self._partition = 0
        racks = len(self._rack_order)
        self._first %= racks
        leader_turn, leader = self._first_unfenced()
        replicas = [leader]
        turn = self._first
        passed_leader = False  # the leader's rack has had its replica in the first turn
        while len(replicas) < replication_factor:
            if turn == leader_turn and not passed_leader:
                passed_leader = True
            else:
                broker = self._next(self._rack_order[turn])
                if broker is not None:
                    replicas.append(broker)
            turn = (turn + 1) % racks
        self._partition += 1
        self._first += 1
        return replicas

    def _first_unfenced(self) -> tuple[int, int]:
        turn = self._first
        while True:
            broker = self._unfenced[self._rack_order[turn]].next(self._partition)
            if broker is not None:
                return turn, broker
            turn = (turn + 1) % len(self._rack_order)

    def _next(self, rack: int) -> int | None:
        broker = self._unfenced[rack].next(self._partition)
        return self._fenced[rack].next(self._partition) if broker is None else broker

    def _shuffle(self) -> None:
        self._random.shuffle(self._rack_order)
        for fenced, unfenced in zip(self._fenced, self._unfenced, strict=True):
            self._random.shuffle(fenced.brokers)
            self._random.shuffle(unfenced.brokers)

    def _check(self, replication_factor: int) -> None:
        if replication_factor < 1:
            raise ValueError(f"Invalid replication factor {replication_factor}: the replication factor must be positive.")
        if replication_factor > self._brokers:
            raise ValueError(
                f"The target replication factor of {replication_factor} cannot be reached because only "
                f"{self._brokers} broker(s) are registered."
            )
        if self._unfenced_brokers == 0:
            raise ValueError("All brokers are currently fenced.")
