"""The first play of copies that share brokers' threads: as if nobody waited. Whether that was so is judged broker by broker.

Of each block it is known how many copies a broker had at once at most, in each window of the run. Where these, of all blocks
together, are no more than its threads, no copy would have waited: the rounds are as they would have been.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from emulator.engine.budgets.copies_of_block import CopiesOfBlock
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
    begins = _windows(rounds)
    if not len(block.stretches.state.tiers):
        return COPIES_SCHEMA.empty_table()
    every = np.ones(len(block.shared.brokers), bool)
    broker, first, last = CopiesOfBlock(block, 0).spans(block.begin, 0, rounds, every)
    known = np.unique(broker)
    # A window begins with the copies that are under way.
    at_broker = np.concatenate([broker, broker, np.repeat(known, len(begins))])
    at_round = np.concatenate([first, last + 1, np.tile(begins, len(known))])
    more = np.concatenate([np.ones(len(broker)), -np.ones(len(broker)), np.zeros(len(known) * len(begins))]).astype(np.int64)
    order = np.lexsort((more, at_round, at_broker))  # who ends before a round, before who begins in it
    at_once = np.cumsum(more[order])
    at_broker, at_round = at_broker[order], at_round[order]
    is_within = at_round < rounds
    own, at_once = (at_broker * len(begins) + np.searchsorted(begins, at_round, "right") - 1)[is_within], at_once[is_within]
    windows, starts = np.unique(own, return_index=True)
    most = np.maximum.reduceat(at_once, starts) if len(starts) else at_once
    columns = (windows % len(begins), windows // len(begins), most)
    return pa.table([pa.array(column[most > 0]) for column in columns], schema=COPIES_SCHEMA)


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
