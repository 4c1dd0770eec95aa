"""A run that the driver plays: its blocks by threads, as many as there are cores; compiled rounds hold no lock of Python's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Lock

import numpy as np
import pyarrow as pa

from emulator.engine.blocks import Plan
from emulator.engine.play_blocks import Payload, Player


class Parts:
    """How far a run is that the driver plays: what part of each block is, told by the threads that play them.

    `weights`: by place, how much there is to do; `advance`: as of jobs.Advance.
    """

    def __init__(self, plan: Plan, weights: np.ndarray, advance: Callable[[int, float], None] = lambda *_: None) -> None:
        of_blocks = plan.sums(weights)
        self._shares = of_blocks / of_blocks.sum()
        self._played = np.zeros(plan.block_count)
        self._advance = advance
        self._lock = Lock()

    def tell(self, block: int, part: float) -> None:
        """So much of a block is played."""
        with self._lock:
            self._played[block] = part
            self._advance(1, float(self._played @ self._shares))


def play_in_driver(
    plan: Plan, payload_of: Callable[[int, int], Payload], players: Sequence[Player], cores: int, parts: Parts
) -> dict[str, pa.Table]:
    """Play all blocks of a plan; what they told, by table, in their order. A table that only some blocks tell is of these.

    `payload_of`: of the places [first, end).
    """
    blocks = list(pairwise(plan.bounds))

    def played(number: int) -> dict[str, pa.Table]:
        payload, player = payload_of(*blocks[number])
        tables = players[player](number, payload)
        parts.tell(number, 1)
        return tables

    numbers = range(len(blocks))
    with ThreadPoolExecutor(cores) as pool:
        told = list(pool.map(played, numbers) if len(blocks) > 1 else map(played, numbers))
    names = dict.fromkeys(name for tables in told for name in tables)
    return {name: pa.concat_tables([tables[name] for tables in told if name in tables]) for name in names}
