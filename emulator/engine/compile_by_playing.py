"""Rounds are compiled by playing none of a block: whatever a system's rounds are, types are those of its blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emulator.rounds import compiled


def compile_by_playing(
    entry_point: Callable[..., object], play: Callable[[Any], object], state: Any, records: str, **told: Callable[[], None]
) -> bool:
    """Have an entry point compiled, where the cache does not have it yet, by `play` of a state whose rounds are over.

    `records`: field of the state whose records have the round at which to stop, `end`. One process of a machine does it, the
    others wait for it: `told`, and what is returned, are as of compiled.compile_once.
    """

    def play_nothing() -> None:
        over = getattr(state, records).copy()
        over["end"] = 0
        play(state._replace(**{records: over}))

    return compiled.compile_once(entry_point, play_nothing, **told)
