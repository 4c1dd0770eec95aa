"""The first play of copies that share brokers' threads: as if nobody waited. Whether that was so is judged broker by broker.

Of each block it is known how many copies a broker had at once at most, in each window of the run. Where these, of all blocks
together, are no more than its threads, no copy would have waited: the rounds are as they would have been.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from emulator.engine.budgets.copies_of_block import CopiesOfBlock, under_way
from emulator.engine.budgets.shared_block import SharedBlock
from emulator.engine.rows import COPIES_SCHEMA
from emulator.inputs.arrays.copy_budgets import UNLIMITED
from emulator.inputs.arrays.shared import SharedBudgets

WINDOWS = 32
"""Windows of a run."""


def can_play_first(shared: SharedBudgets) -> bool:
    """Whether threads of copies are all that is shared."""
    if shared.copies is None or shared.reads is not None or shared.limits_fetches:
        return False
    return bool((shared.copies.window_bytes == UNLIMITED).all())


def copies_at_once(block: SharedBlock, rounds: int) -> pa.Table:
    """Rows of COPIES_SCHEMA of a block that was played from round 0 to the run's end, windows without copies left out."""
    if not len(block.stretches.state.tiers):
        return COPIES_SCHEMA.empty_table()
    begins, brokers = _windows(rounds), len(block.shared.brokers)
    of_block, everywhere = CopiesOfBlock(block, 0), np.ones(brokers, bool)
    broker, begin, end = of_block.spans(block.begin, 0, rounds, everywhere)
    # One that fails at once needs a thread, too, and gives it back: however many do in a round, they need one more.
    failed_on, failed_in = np.unique(of_block.failed_at_once(0, everywhere), axis=1)
    broker, begin, end = (np.append(*columns) for columns in ((broker, failed_on), (begin, failed_in), (end, failed_in)))
    at_broker, at_round, copies = under_way(broker, begin, end, 0, rounds)
    # A window begins with the copies that are under way.
    places, starts = at_broker * (rounds + 1) + at_round, np.arange(brokers)[:, None] * (rounds + 1) + begins
    most = np.append(0, copies)[np.searchsorted(places, starts, "right")]
    within = at_round < rounds
    np.maximum.at(most, (at_broker[within], np.searchsorted(begins, at_round[within], "right") - 1), copies[within])
    broker, window = np.nonzero(most)
    return pa.table([pa.array(column) for column in (window, broker, most[broker, window])], schema=COPIES_SCHEMA)


def may_have_waited(copies: pa.Table, shared: SharedBudgets) -> bool:
    """Whether a copy may have waited for a thread. `copies`: of all blocks."""
    assert shared.copies is not None
    begins, brokers = _windows(shared.rounds), len(shared.brokers)
    ends = np.append(begins[1:], shared.rounds)
    window, broker, most = (copies.column(name).to_numpy() for name in COPIES_SCHEMA.names)
    at_once = np.bincount(window * brokers + broker, weights=most, minlength=len(begins) * brokers).reshape(-1, brokers)
    from_round = shared.copies.from_round
    until = np.append(from_round[1:], shared.rounds)
    for row, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        in_force = (from_round < end) & (until > begin)
        if (at_once[row] > shared.copies.threads[in_force].min(axis=0)).any():
            return True
    return False


def _windows(rounds: int) -> np.ndarray:
    """The rounds in which windows begin."""
    return np.unique(np.arange(WINDOWS) * rounds // WINDOWS)
