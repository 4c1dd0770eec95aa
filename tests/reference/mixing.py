"""Keys of draws, as docs/bookkeeper_rounds.md has them under "Draws", and docs/quorum_rounds.md under "The draw"."""

from __future__ import annotations

PRIME = 2**31 - 1


def mixed(seed: int, *values: int) -> int:
    """A seed and what a draw is of, mixed one after the other."""
    key = 0
    for value in (seed % PRIME, seed // PRIME, *values):
        key = pow(key + value + 1, 5, PRIME)
    return key
