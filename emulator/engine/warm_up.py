"""Before the rounds: whether they are compiled, and what a first run says while it compiles them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from emulator.engine.compile_by_playing import compile_by_playing
from emulator.errors import EnvironmentProblem
from emulator.inputs.arrays import Block, Prepared, read_block
from emulator.progress import Progress
from emulator.rounds import compiled
from emulator.rounds.kafka.play_block import play
from emulator.rounds.kafka.play_partitions import play_partitions, play_tiered_partitions

INSTALL = "python -m pip install numba"

MOST_UNCOMPILED = 1e6
"""Replica-rounds that are played where rounds cannot be compiled: minutes."""


def warm_up(prepared: Prepared, progress: Progress, places: np.ndarray | None = None, in_one_block: bool = False) -> None:
    """Have the rounds compiled, where the cache does not have them yet, and say so; tasks then find them there.

    `places`: of the partitions that will be played, None for all; `in_one_block`: all together. Raises EnvironmentProblem for
    a large run on a machine that cannot compile them.
    """
    check_numba(float(prepared.weights[slice(None) if places is None else places].sum()), progress)
    if not compiled.is_compiling():
        return
    needs_tiers = prepared.needs_tiers if places is None else prepared.needs_tiers[places]
    ones = [place if places is None else int(places[place]) for place in _one_of_each(needs_tiers, in_one_block)]
    compile_all(progress, [partial(compile_rounds, read_block(prepared.block(np.array([at])))) for at in ones])


def check_numba(weight: float, progress: Progress) -> None:
    """Says so where rounds cannot be compiled; raises EnvironmentProblem for a run of this weight, if that takes too long."""
    if compiled.WHY_NOT is not None:
        if weight > MOST_UNCOMPILED:
            raise EnvironmentProblem(
                f"rounds of a run of this size have to be compiled, and numba cannot be used ({compiled.WHY_NOT});"
                f" install it with: {INSTALL}"
            )
        progress.note(f"numba cannot be used ({compiled.WHY_NOT}): rounds run as ordinary Python; install it with: {INSTALL}")


def compile_all(progress: Progress, compilers: Iterable[Callable[..., bool]]) -> None:
    """Have several kinds of rounds compiled, each by a function that takes what it tells and says whether it did so itself."""
    began = time.monotonic()
    is_ours = False
    for compile_one in compilers:
        is_ours |= compile_one(
            begins=lambda: progress.note("compiling the rounds, once for this version ..."),
            waits=lambda: progress.note("another process compiles the rounds: waiting for it ..."),
        )
    if is_ours:
        progress.note(f"compiled in {time.monotonic() - began:.0f} s")


def _one_of_each(tiered: np.ndarray, in_one_block: bool) -> list[int]:
    """A place of each kind of block: with remote storage or readers, and without. One such partition makes a block the first."""
    kinds = [True] if in_one_block and tiered.any() else [True, False]
    return [int(np.argmax(tiered == kind)) for kind in kinds if (tiered == kind).any()]


def compile_rounds(block: Block, **told: Callable[[], None]) -> bool:
    """Have the rounds of partitions compiled, where the cache does not have them yet; as of compile_by_playing."""
    entry_point = play_tiered_partitions if len(block.state.tier) else play_partitions
    return compile_by_playing(
        entry_point, lambda over: play(over, block.inputs, block.traffic), block.state, "partitions", **told
    )
