"""First ensembles of ledgers by the policies that draw nothing: the first free bookies, or those of other racks."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.rounds.bookkeeper.constants import POLICIES
from emulator.scenario.model import Broker

LOWEST_FREE_ID, RACK_AWARE = POLICIES[:2]


def new_ensembles(
    bookies: Sequence[Broker], policy: str, size: int, write: int, least: int, enforced: bool
) -> list[list[int] | None]:
    """The ensemble of a new ledger, by the place of the bookie that is taken first; None: the policy has none there.

    `bookies`: those that are registered. `least`: racks that a write quorum shall have, and must if `enforced`.
    """
    ensembles: list[list[int] | None] = []
    for first in range(len(bookies)):
        turned = [*bookies[first:], *bookies[:first]]
        if size > len(turned):
            chosen = None
        elif policy == RACK_AWARE:
            chosen = _new_ensemble(turned, size, write, least, enforced)
        else:
            chosen = turned[:size]
        ensembles.append(None if chosen is None else [b.id for b in chosen])
    return ensembles


def _new_ensemble(order: Sequence[Broker], size: int, write: int, least: int, enforced: bool) -> list[Broker] | None:
    """Index by index: enough racks in every write set, then a rack that the ensemble hasn't, then the first in order."""
    chosen: list[Broker] = []
    for index in range(size):
        ranks = []
        for place, bookie in enumerate(order):
            if bookie not in chosen:
                racks = {b.rack for b in chosen}
                ranks.append((not _spreads([*chosen, bookie], index, size, write, least), bookie.rack in racks, place))
        crowded, _, place = min(ranks)
        if crowded and enforced:
            return None
        chosen.append(order[place])
    return chosen


def _spreads(placed: Sequence[Broker], index: int, size: int, write: int, least: int) -> bool:
    """Every write set with the index has enough racks, or may still have when the ensemble is full."""
    for start in range(size):
        places = [(start + i) % size for i in range(write)]
        known = [placed[place].rack for place in places if place < len(placed)]
        if index in places and len(set(known)) + len(places) - len(known) < least:
            return False
    return True
