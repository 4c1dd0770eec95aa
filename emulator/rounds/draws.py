"""What is drawn at random by a scenario's seed, whatever is leapt over: numbers that follow from a key alone.

A key is made of what a draw is of, value by value (docs/bookkeeper_rounds.md, "Draws"; docs/quorum_rounds.md, "The draw").
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled_into_callers

PRIME = 2147483647
"""Fifth powers modulo it are all different."""


@compiled_into_callers
def mixed(key: int, value: int) -> int:
    """A key made of a key and one more value."""
    base = (key + value + 1) % PRIME
    square = base * base % PRIME
    return square * square % PRIME * base % PRIME


def key_of_seed(seed: int) -> int:
    """What a seed comes to as a key of draws; it may be larger than the numbers that are drawn."""
    return mixed(mixed(0, seed % PRIME), seed // PRIME)
