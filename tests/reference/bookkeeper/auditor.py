"""Autorecovery's auditor, one for the whole cluster: which bookies it takes for lost (docs/bookkeeper_rounds.md, "Repair").

It looks at who is registered, whichever ledgers there are: what it finds follows from the faults and the commands alone.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from .settings import settings_of
from .status import BookieRound, store_outages


@dataclass
class Auditor:
    """What the auditor knows.

    `registered`: who was, when it looked last; `waits_for`: who is gone since, and since which round; `lost`: whom it waits for
    no longer.
    """

    delay_rounds: int
    registered: AbstractSet[int]
    waits_for: dict[int, int] = field(default_factory=dict)
    lost: set[int] = field(default_factory=set)

    def look(self, registered: AbstractSet[int], decommissioned: AbstractSet[int], now: int) -> None:
        """See who is registered in a round, and audit if more than one is gone, or one for long enough."""
        gone = self.registered - registered - decommissioned
        self.registered = registered
        self.lost -= registered
        waits_for = {**self.waits_for, **dict.fromkeys(gone, now)}
        self.waits_for = {one: since for one, since in waits_for.items() if one not in registered | decommissioned}
        if len(self.waits_for) > 1 or any(now - since >= self.delay_rounds for since in self.waits_for.values()):
            self._audit()

    def _audit(self) -> None:
        """All who aren't registered are lost: whom it waits for, and who was lost before."""
        self.lost |= set(self.waits_for)
        self.waits_for.clear()


def lost_by_round(case: Mapping[str, Any], statuses: Mapping[int, Sequence[BookieRound]]) -> list[frozenset[int]]:
    """The bookies that are lost in each round, but for decommissioned ones, which need no audit.

    While the store is away the auditor hears of nobody. In round 0 it expects everybody but those who join later.
    """
    outages = store_outages(case.get("faults", []), case["rounds"])
    joining = _named(case, "add_bookie", 1, sys.maxsize)  # also after the end: who never joins
    auditor = Auditor(settings_of(case).lost_bookie_delay_rounds, set(statuses) - joining)
    told, found = 0, []
    for now in range(case["rounds"]):
        told = told if now in outages else now
        decommissioned = _named(case, "decommission_bookie", 0, now)
        registered = {one for one, rounds in statuses.items() if rounds[told].registered}
        auditor.look(registered - decommissioned, decommissioned, now)
        found.append(frozenset(auditor.lost))
    return found


def _named(case: Mapping[str, Any], kind: str, from_round: int, to_round: int) -> set[int]:
    """The bookies that commands of a kind name from a round on up to another, this one included."""
    commands = [one for one in case.get("commands", []) if one["kind"] == kind]
    return {one["broker"] for one in commands if from_round <= one["round"] <= to_round}
