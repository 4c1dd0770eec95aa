"""Which bookies a new ensemble takes, and by which a failed one is replaced.

`lowest_free_id`: the lowest ids. `rack_aware`: every write set shall lie in `minNumRacksPerWriteQuorum` racks (at most Qw);
with `enforceMinNumRacksPerWriteQuorum` a bookie that breaks this is no choice at all, else it is one if there is no other.
Among equals: the rack of the bookie that is replaced, then racks that the ensemble hasn't, then the lowest id. A new ensemble may
be taken from a later bookie on, as if ids began there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .drawn_placement import DrawnPlacement, NoBookie
from .quorums import Quorums

LOWEST_FREE_ID, RACK_AWARE = "lowest_free_id", "rack_aware"


class NotEnoughBookies(Exception):
    """There are too few bookies for a new ensemble."""


def stays(ensemble: Sequence[int], failed: Mapping[int, int]) -> bool:
    """Tell whether a failed bookie is still at its index."""
    return any(ensemble[index] == bookie for index, bookie in failed.items())


Draw = Callable[[int, int], int]
"""The draw of a bookie for an index, now."""


def no_draw(index: int, bookie: int) -> int:
    """For policies that draw nobody."""
    raise AssertionError


@dataclass(frozen=True)
class Placement:
    """A policy with what it has to know."""

    policy: str
    quorums: Quorums
    racks: Mapping[int, Any]
    min_racks: int
    enforce_min_racks: bool
    draw: Draw = no_draw

    @property
    def _drawn(self) -> DrawnPlacement | None:
        """The policy, if it is one of BookKeeper's own."""
        if self.policy in (LOWEST_FREE_ID, RACK_AWARE):
            return None
        return DrawnPlacement(self.policy, self.quorums, self.racks, self.min_racks, self.enforce_min_racks, self.draw)

    def replace(self, ensemble: Sequence[int], failed: Mapping[int, int], registered: Iterable[int]) -> list[int]:
        """The ensemble with the failed bookies (by index) replaced one after another, in the order of the indices.

        A bookie that isn't at its index any more is passed over. Where there is no bookie left the failed one stays.
        """
        new = list(ensemble)
        registered = sorted(registered)
        for index in sorted(failed):
            if new[index] != failed[index]:
                continue
            candidates = [one for one in registered if one not in new and one not in failed.values()]
            chosen = self._choose(new, index, candidates)
            if chosen is None:
                break
            new[index] = chosen
        return new

    def new_ensemble(self, registered: Iterable[int], first: int = 0) -> list[int]:
        """An ensemble for a new ledger, from number `first` of the registered bookies on, round and round, or drawn."""
        if self._drawn is not None:
            try:
                return self._drawn.new_ensemble(registered, first)
            except NoBookie:
                raise NotEnoughBookies from None
        ids = sorted(registered)
        turned = [ids[(first + place) % len(ids)] for place in range(len(ids))]
        ensemble: list[int] = []
        for index in range(self.quorums.ensemble):
            candidates = [one for one in turned if one not in ensemble]
            chosen = self._choose([*ensemble, -1], index, candidates)
            if chosen is None:
                raise NotEnoughBookies
            ensemble.append(chosen)
        return ensemble

    def _choose(self, ensemble: Sequence[int], index: int, candidates: Sequence[int]) -> int | None:
        """Among equals the first of the candidates."""
        if self._drawn is not None:
            return self._drawn.replacement(ensemble, index, candidates)
        if self.policy == LOWEST_FREE_ID:
            return candidates[0] if candidates else None
        others = {self.racks.get(one) for place, one in enumerate(ensemble) if place != index}
        old_rack = self.racks.get(ensemble[index])

        def rank(candidate: int) -> tuple[bool, int, int]:
            rack = self.racks.get(candidate)
            nearness = 0 if rack == old_rack and old_rack is not None else 1 if rack not in others else 2
            return not self._spreads(ensemble, index, candidate), nearness, candidates.index(candidate)

        best = min(candidates, key=rank, default=None)
        if best is None or (self.enforce_min_racks and not self._spreads(ensemble, index, best)):
            return None
        return best

    def _spreads(self, ensemble: Sequence[int], index: int, candidate: int) -> bool:
        """Every write set around `index` has enough racks, or may still have when the ensemble is full."""
        least = min(self.min_racks, self.quorums.write)
        placed = [*ensemble[:index], candidate, *ensemble[index + 1 :]]
        size = self.quorums.ensemble
        for start in range(size):
            places = [(start + i) % size for i in range(self.quorums.write)]
            known = [self.racks.get(placed[place]) for place in places if place < len(placed)]
            if index in places and len(set(known)) + (len(places) - len(known)) < least:
                return False
        return True
