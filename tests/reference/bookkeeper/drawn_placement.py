"""BookKeeper's own placement policies, which draw bookies (docs/bookkeeper_rounds.md, Draws and Placement).

Sources: newEnsemble and replaceBookie of DefaultEnsemblePlacementPolicy, RackawareEnsemblePlacementPolicyImpl and
RegionAwareEnsemblePlacementPolicy, BookKeeper 4.17. Choices: the client is in no rack and no region; there is no
reppRegionsToWrite, so that replacing asks for no number of regions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.reference.mixing import mixed

from .quorums import Quorums

DEFAULT, RACKAWARE, REGION_AWARE = (f"{name}EnsemblePlacementPolicy" for name in ("Default", "Rackaware", "RegionAware"))


class NoBookie(Exception):
    """BKNotEnoughBookiesException."""


def draw_of(seed: int, partition: int, number: int, round_: int, index: int, bookie: int) -> int:
    """The draw of a bookie for an index of a ledger's ensemble."""
    return mixed(seed, partition, number, round_, index, bookie)


def region_of(rack: Any) -> str | None:
    """Racks are called "region/rack"."""
    return None if rack is None else str(rack).partition("/")[0]


@dataclass(frozen=True)
class DrawnPlacement:
    """A policy; `draw`: the draw of a bookie for an index, now."""

    policy: str
    quorums: Quorums
    racks: Mapping[int, Any]
    min_racks: int
    enforce: bool
    draw: Callable[[int, int], int]

    def rack(self, bookie: int) -> Any:
        """Its rack; no rack is one, too."""
        return self.racks.get(bookie)

    def _allowed(self, bookies: Iterable[int]) -> set[int]:
        """Where racks are enforced a bookie must have one."""
        must_have_one = self.enforce and self.policy != DEFAULT
        return {one for one in bookies if not must_have_one or self.rack(one) is not None}

    def _first(self, index: int, bookies: Iterable[int]) -> int:
        """As if they were shuffled."""
        best = min(bookies, key=lambda one: self.draw(index, one), default=None)
        if best is None:
            raise NoBookie
        return best

    # A bookie for one that failed -------------------------------------------------------------------------------------

    def replacement(self, ensemble: Sequence[int], index: int, candidates: Iterable[int]) -> int | None:
        """Whom an index gets of the candidates, who are not in the ensemble; None: nobody."""
        free, old = self._allowed(candidates), ensemble[index]
        others = {self.rack(one) for place, one in enumerate(ensemble) if place != index}
        same_rack = {one for one in free if self.rack(one) == self.rack(old)}
        same_region = {one for one in free if region_of(self.rack(one)) == region_of(self.rack(old))}
        apart = {one for one in free if self.rack(one) not in others}
        tries = {
            DEFAULT: [free],
            RACKAWARE: [same_rack, apart, *([] if self.enforce else [free])],
            REGION_AWARE: [same_rack, same_region, free],
        }[self.policy]
        chosen = next((one for one in tries if one), set())
        return self._first(index, chosen) if chosen else None

    # A new ensemble ---------------------------------------------------------------------------------------------------

    def new_ensemble(self, registered: Iterable[int], number: int) -> list[int]:
        """An ensemble for the ledger with this number in its topic; raises NoBookie."""
        known, size = set(registered), self.quorums.ensemble
        if self.policy == REGION_AWARE:
            return self._over_regions(known, number)
        if self.policy == DEFAULT:
            return self._anybody([], known, size)
        return self._over_racks([], known, size, self.quorums.write)

    def _anybody(self, before: Sequence[int], known: set[int], size: int) -> list[int]:
        chosen: list[int] = []
        for _ in range(size):
            seat = len(before) + len(chosen)
            chosen.append(self._first(seat, self._allowed(known) - {*before, *chosen}))
        return chosen

    def _over_racks(self, before: Sequence[int], known: set[int], size: int, write: int) -> list[int]:
        """Bookies of `known` for so many seats behind those `before`; the write quorum is that of these seats."""
        least = min(self.min_racks, write)
        if len({self.rack(one) for one in known}) < 2:
            if self.enforce and least > 1:
                raise NoBookie
            return self._anybody(before, known, size)
        chosen: list[int] = []
        avoided: set[Any] = set()
        for place in range(size):
            seat = len(before) + place
            free = self._allowed(known) - {*before, *chosen}
            fitting = {one for one in free if self._fits(before, [*chosen, one], size, write, least)}
            apart = {one for one in fitting if self.rack(one) not in avoided}
            if apart or place == 0:
                one = self._first(seat, apart)
            else:
                avoided = set()
                one = self._first(seat, fitting if fitting or self.enforce else free)
            avoided.add(self.rack(one))
            chosen.append(one)
        return chosen

    def _fits(self, before: Sequence[int], chosen: Sequence[int], size: int, write: int, least: int) -> bool:
        """Every write quorum with the last one chosen may still come to enough racks, and of the whole to enough regions."""
        if not may_spread([self.rack(one) for one in chosen], size, write, least):
            return False
        if self.policy != REGION_AWARE:
            return True
        regions = [region_of(self.rack(one)) for one in (*before, *chosen)]
        whole = self.quorums
        return may_spread(regions, whole.ensemble, whole.write, min(self.min_racks, whole.write))

    def _over_regions(self, known: set[int], number: int) -> list[int]:
        """Evenly over the regions, in turn; one that has too few gets fewer, and the rest is shared out once more."""
        size, write = self.quorums.ensemble, self.quorums.write
        names = sorted({region_of(self.rack(one)) for one in known}, key=lambda name: (name is not None, name))
        members = {name: {one for one in known if region_of(self.rack(one)) == name} for name in names}
        if not names:
            raise NoBookie
        if len(names) == 1:
            return self._over_racks([], known, size, write)
        seats, quorums = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
        full: set[Any] = set()
        turn, left, left_of_write = number * min(size, len(names)), size, write
        while True:
            at_begin, ensemble, sharing = left, [], len(names) - len(full)
            first = turn
            for at in range(first, first + len(names)):
                name = names[at % len(names)]
                added = None
                wanted = 0 if name in full else -(-left // sharing)
                while wanted > 0 and added is None:
                    share = max(1, min(left_of_write, int(write * wanted / size + 0.5)))
                    try:
                        added = self._over_racks(ensemble, members[name], seats[name] + wanted, quorums[name] + share)
                    except NoBookie:
                        wanted -= 1
                if added is not None:
                    seats[name] += wanted
                    quorums[name] += share
                    left -= wanted
                    left_of_write -= share
                    sharing -= 1
                    turn = at + 1
                else:
                    full.add(name)
                    added = self._over_racks(ensemble, members[name], seats[name], quorums[name]) if seats[name] else []
                ensemble += added
            if left in (0, at_begin) or len(full) == len(names):
                if len(ensemble) != size:
                    raise NoBookie
                return ensemble


def may_spread(kinds: Sequence[Any], size: int, write: int, least: int) -> bool:
    """Whether each write quorum with the last of those seated may still be of `least` kinds when all `size` seats are taken."""
    position = len(kinds) - 1
    for start in range(position - write + 1, position + 1):
        window = [(start + step) % size for step in range(write)]
        seated = {kinds[place] for place in window if place <= position}
        if len(seated) + sum(place > position for place in window) < least:
            return False
    return True
