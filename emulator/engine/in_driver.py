"""A run that the driver plays: its blocks by threads, as many as there are cores; compiled rounds hold no lock of Python's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pyarrow as pa

from emulator.engine.blocks import Plan
from emulator.engine.jobs import Advance
from emulator.engine.play_blocks import Payload, Player


def play_in_driver(
    plan: Plan,
    payload_of: Callable[[int, int], Payload],
    players: Sequence[Player],
    weights: np.ndarray,
    cores: int,
    advance: Advance,
) -> list[dict[str, pa.Table]]:
    """Play all blocks of a plan; what each has told, in their order.

    `payload_of`: of the places [first, end); `weights`: by place, how much there is to do.
    """
    blocks = list(pairwise(plan.bounds))

    def played(places: tuple[int, int]) -> dict[str, pa.Table]:
        payload, player = payload_of(*places)
        return players[player](0, payload)

    parts: list[dict[str, pa.Table]] = []
    with ThreadPoolExecutor(cores) as pool:
        for (_, end), part in zip(blocks, pool.map(played, blocks) if len(blocks) > 1 else map(played, blocks), strict=True):
            parts.append(part)
            advance(1, float(weights[:end].sum() / weights.sum()))
    return parts
