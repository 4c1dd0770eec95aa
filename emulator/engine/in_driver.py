"""A run that the driver plays: its blocks by threads, as many as there are cores; compiled rounds hold no lock of Python's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pyarrow as pa

from emulator.engine.blocks import Plan
from emulator.engine.play_blocks import Payload, Player


def play_in_driver(
    plan: Plan,
    payload_of: Callable[[int, int], Payload],
    players: Sequence[Player],
    weights: np.ndarray,
    cores: int,
    advance: Callable[[int, float], None] = lambda *_: None,
) -> dict[str, pa.Table]:
    """Play all blocks of a plan; what they told, by table, in their order. A table that only some blocks tell is of these.

    `payload_of`: of the places [first, end); `weights`: by place, how much there is to do; `advance`: as of jobs.Advance.
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
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: pa.concat_tables([part[name] for part in parts if name in part]) for name in names}
