"""Numbers that are drawn by seed: timers of elections, rounds of links."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.draws import mixed


@compiled
def draw(key: int, group: int, slot: int, stood: int, most: int) -> int:
    """A number from 0 to `most`, the same in every run: docs/quorum_rounds.md, "The draw". `key`: the scenario's."""
    return mixed(mixed(mixed(key, group), slot), stood) % (most + 1)
