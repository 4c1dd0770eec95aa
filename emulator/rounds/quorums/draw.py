"""Numbers that are drawn by seed: timers of elections, rounds of links."""

from __future__ import annotations

from emulator.rounds.compiled import compiled


@compiled
def draw(seed: int, group: int, slot: int, stood: int, most: int) -> int:
    """A number from 0 to `most`, the same in every run: docs/quorum_rounds.md, "The draw"."""
    x = seed
    x = (1103515245 * (x ^ group) + 12345) % 2147483648
    x = (1103515245 * (x ^ slot) + 12345) % 2147483648
    x = (1103515245 * (x ^ stood) + 12345) % 2147483648
    return x // 65536 % (most + 1)
