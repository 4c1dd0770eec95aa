"""Placements that choose which brokers share partitions: at random, or among few copysets, sets of brokers with all replicas.

Every placement is int32 (partitions, replication_factor), a row per partition, its preferred leader first; copysets are int32
(sets, replication_factor). `scatter_width`: brokers that shall share a copyset with each broker. Sources: Cidon, Rumble,
Stutsman, Katti, Ousterhout, Rosenblum, "Copysets: Reducing the Frequency of Data Loss in Cloud Storage", USENIX ATC 2013;
Cidon, Escriva, Katti, Rosenblum, Sirer, "Tiered Replication: A Cost-effective Alternative to Full Cluster Geo-replication",
USENIX ATC 2015.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from emulator.placement.assignments import Assignment


def place_at_random(
    broker_ids: Sequence[int], partitions: int, replication_factor: int, draws: np.random.Generator
) -> Assignment:
    """Places each partition on brokers of its own draw, every list of different brokers being as likely as another.

    Raises ValueError for fewer brokers than replicas.
    """
    if replication_factor > len(broker_ids):
        raise ValueError(f"{replication_factor} replicas need as many brokers, not {len(broker_ids)}")
    places = np.empty((partitions, replication_factor), np.int64)
    for replica in range(replication_factor):
        # Drawn among the brokers that are left: counted past those that the partition has.
        place = draws.integers(0, len(broker_ids) - replica, partitions)
        for taken in np.sort(places[:, :replica], axis=1).T:
            place += place >= taken
        places[:, replica] = place
    return np.sort(np.asarray(broker_ids, np.int32))[places]


def permuted_copysets(
    broker_ids: Sequence[int], replication_factor: int, scatter_width: int, draws: np.random.Generator
) -> Assignment:
    """The permutation phase of Copyset Replication: each of scatter_width / (R - 1) permutations is cut into sets of R brokers.

    The number of permutations is rounded up. A set that two permutations have in common is there once. Brokers that a permutation
    has over (brokers mod R) are a set with its first ones, which the paper leaves open. A broker may get less than the scatter
    width where permutations put it beside the same brokers. Raises ValueError for one replica, or fewer brokers than replicas.
    """
    brokers = len(broker_ids)
    if not 2 <= replication_factor <= brokers:
        raise ValueError(f"copysets have 2 to {brokers} brokers, not {replication_factor}")
    permutations = -(-scatter_width // (replication_factor - 1))
    sets = -(-brokers // replication_factor)
    cut = [np.resize(draws.permutation(np.sort(broker_ids)), (sets, replication_factor)) for _ in range(permutations)]
    return np.unique(np.sort(np.concatenate(cut), axis=1), axis=0).astype(np.int32)


def tiered_copysets(
    racks: Mapping[int, str], replication_factor: int, scatter_width: int, backup_racks: Collection[str] = ()
) -> Assignment:
    """The copysets of Tiered Replication with its rack constraint: made one by one for brokers short of the scatter width.

    `racks`: rack of every broker. A copyset has no two brokers of a rack; with `backup_racks`, the backup tier, exactly one of
    these. A set takes brokers in order of their scatter width so far, those who share no set with its members first; where they
    do not suffice, others. Raises ValueError when brokers are short of the scatter width and no further set is possible.
    """
    if replication_factor < 2:
        raise ValueError(f"copysets have 2 brokers or more, not {replication_factor}")
    growing = _Copysets(racks, replication_factor, frozenset(backup_racks))
    short = sorted(racks)
    while short:
        for broker in short:
            if len(growing.shared[broker]) < scatter_width and not (growing.add(broker, True) or growing.add(broker, False)):
                width = len(growing.shared[broker])
                raise ValueError(f"broker {broker} can share copysets with {width} brokers only, not {scatter_width}")
        short = [broker for broker in short if len(growing.shared[broker]) < scatter_width]
    return np.array(sorted(growing.sets), np.int32)


def place_on_copysets(
    copysets: Assignment, partitions: int, draws: np.random.Generator, never_first: Iterable[int] = ()
) -> Assignment:
    """The replication phase: a partition's leader is any broker, its other replicas are those of any copyset of the leader.

    The followers' order is drawn as well. `never_first`: brokers of a backup tier, neither leaders nor, among followers, before
    others.
    """
    sets, members = copysets.shape
    is_backup = np.isin(copysets, np.fromiter(never_first, np.int32))
    # Places of each broker in sets, side by side: a leader is a broker, then one of its places.
    places = np.flatnonzero(~is_backup.ravel())
    places = places[np.argsort(copysets.ravel()[places], kind="stable")]
    _, first, counts = np.unique(copysets.ravel()[places], return_index=True, return_counts=True)
    broker = draws.integers(0, len(first), partitions)
    leader = places[first[broker] + draws.integers(0, counts[broker])]
    chosen = leader // members
    order = draws.random((partitions, members)) + is_backup[chosen]
    order[np.arange(partitions), leader % members] = -1
    return np.take_along_axis(copysets[chosen], np.argsort(order, axis=1), axis=1)


class _Copysets:
    """Copysets that grow one by one: `sets`, sorted tuples, and `shared`: the brokers that each broker shares one with."""

    def __init__(self, racks: Mapping[int, str], members: int, backup_racks: Collection[str]) -> None:
        self._racks, self._members, self._backup_racks = racks, members, backup_racks
        self.sets: set[tuple[int, ...]] = set()
        self.shared: dict[int, set[int]] = {broker: set() for broker in sorted(racks)}
        self._by_width: dict[int, dict[int, None]] = {0: dict.fromkeys(self.shared)}  # in the order in which they got it

    def add(self, broker: int, only_strangers: bool) -> bool:
        """Adds a set of this broker and, in order of scatter width, of those that may be with it; False if there is none."""
        copyset = [broker]
        for width in sorted(self._by_width):
            for other in self._by_width[width]:
                if self._may_join(copyset, other, only_strangers):
                    copyset.append(other)
                    if len(copyset) == self._members:
                        self._keep(copyset)
                        return True
        return False

    def _may_join(self, copyset: list[int], other: int, only_strangers: bool) -> bool:
        racks = [self._racks[broker] for broker in copyset]
        if self._racks[other] in racks or (only_strangers and any(other in self.shared[broker] for broker in copyset)):
            return False
        if self._backup_racks:
            backups = sum(rack in self._backup_racks for rack in [*racks, self._racks[other]])
            if backups > 1 or (len(copyset) + 1 == self._members and backups == 0):
                return False
        return len(copyset) + 1 < self._members or tuple(sorted([*copyset, other])) not in self.sets

    def _keep(self, copyset: list[int]) -> None:
        self.sets.add(tuple(sorted(copyset)))
        for broker in copyset:
            before = len(self.shared[broker])
            self.shared[broker].update(other for other in copyset if other != broker)
            if len(self.shared[broker]) > before:
                del self._by_width[before][broker]
                self._by_width.setdefault(len(self.shared[broker]), {})[broker] = None
