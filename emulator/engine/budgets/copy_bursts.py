"""Copies that begin between two edges, and more of them than their broker's network has room for: an edge comes at once.

No input changes when a segment is full, so that without it many copies that begin together would go unlimited to an edge that
may be far (docs/kafka_rounds.md, Shared bandwidth).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emulator.engine.budgets.copies_of_block import CopiesOfBlock
from emulator.engine.budgets.shared_block import SharedBlock
from emulator.rounds.kafka.constants import UNKNOWN


def first_burst(blocks: Sequence[SharedBlock], from_round: int, to_round: int, room: np.ndarray) -> int:
    """The first round in which a copy begins that a broker has no room for beside those under way; `to_round`: there is none.

    The blocks were played from an edge, where each has its `begin`, to a later round. `room`: by place of the broker what the
    edge left copies, in bytes a round. Copies that take no time are none of these.
    """
    copies = [CopiesOfBlock(block, 0) for block in blocks if len(block.stretches.state.tiers)]
    if not copies:
        return to_round
    everywhere = np.ones(len(room), bool)
    rates, spans = [], []
    for one in copies:
        most = np.zeros(len(room))
        np.maximum.at(most, one.broker, np.where((rate := one.store_bytes(from_round)) == UNKNOWN, 0, rate))
        rates.append(most)
        spans.append(one.spans(one.begin, from_round, to_round, everywhere))
    rate = np.maximum.reduce(rates)
    broker, begin, end = (np.concatenate(columns) for columns in zip(*spans, strict=True))
    begins = np.unique(begin[begin > from_round])
    for round_ in begins.tolist():
        is_under_way = (begin <= round_) & (round_ <= end)
        asked = np.bincount(broker[is_under_way], minlength=len(room)) * rate
        has_begun = np.bincount(broker[begin == round_], minlength=len(room)) > 0
        if (has_begun & (asked > room)).any():
            return int(round_)
    return to_round
