"""How much there is to do for ledgers and topics: about what as many replica-rounds of Kafka take (engine/blocks.py)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emulator.inputs.ledger_arrays.bookies import BookieArrays
from emulator.inputs.ledger_arrays.of_ledgers import Feed

PLAYED_AT_LEAST, PLAYED_PER_CHANGE, LEAPT_ROUNDS = 15, 7, 20_000
"""Rounds that are played of a run with leaps: so many, so many for each change of an input, and one of so many rounds."""

PLAYED_PER_LEDGER = 80
"""Rounds that are played for each ledger of a topic, from its creation until it is deleted."""

ROUND_OF_LEDGER = 3.0
"""What a round of a ledger costs for each bookie of its ensemble, in replica-rounds."""

ROUND_OF_TOPIC = 1.4
"""What a round of a topic costs, in rounds of a ledger."""

WEIGHT_OF_ROWS = 20.0
"""What the rows of a bookie at the end cost, in replica-rounds."""


def ledger_weights(
    rounds: int, leaps: bool, arrays: BookieArrays, ensembles: np.ndarray, of_ledger: np.ndarray, feeds: Sequence[Feed]
) -> np.ndarray:
    """By ledger. `ensembles`: rows of places of bookies, -1 behind the last; `of_ledger`: numbers of `feeds`."""
    of_bookies = np.append([count - 1 for *_, count in arrays.bookies], 0)
    sizes = (ensembles >= 0).sum(axis=1)
    changes = of_bookies[ensembles].sum(axis=1) + _changes(feeds)[of_ledger] + len(arrays.store)
    return _played(rounds, leaps, changes) * sizes * ROUND_OF_LEDGER + WEIGHT_OF_ROWS * sizes


def topic_weights(
    rounds: int, leaps: bool, arrays: BookieArrays, size: int, ledgers: np.ndarray, of_topic: np.ndarray, feeds: Sequence[Feed]
) -> np.ndarray:
    """By topic. `size`: bookies of an ensemble; `ledgers`: that it will have, about; `of_topic`: numbers of `feeds`."""
    of_bookies = size * np.mean([count - 1 for *_, count in arrays.bookies])
    changes = of_bookies + _changes(feeds)[of_topic] + len(arrays.store)
    played = np.minimum(rounds, _played(rounds, leaps, changes) + PLAYED_PER_LEDGER * ledgers)
    return played * (size * ROUND_OF_LEDGER * ROUND_OF_TOPIC) + WEIGHT_OF_ROWS * size * ledgers


def traced_weights(rounds: int, size: np.ndarray | int, traced: np.ndarray) -> np.ndarray:
    """By ledger or topic, what comes on top if its rounds become tables. `size`: bookies of an ensemble."""
    return np.where(traced, rounds * size * WEIGHT_OF_ROWS, 0.0)


def _changes(feeds: Sequence[Feed]) -> np.ndarray:
    """By feed, changes of what comes from outside; rounds in which adds are dropped or held up are all played."""
    held_up = [sum(to_round - from_round for _, _, from_round, to_round, *_ in feed.on_the_way) for feed in feeds]
    counts = [len(feed.workload) + len(feed.commands) + len(feed.crashes) + len(feed.of_remote_store) for feed in feeds]
    return np.array(counts, float) + np.array(held_up, float) / PLAYED_PER_CHANGE


def _played(rounds: int, leaps: bool, changes: np.ndarray) -> np.ndarray:
    """Rounds that are played."""
    played = PLAYED_AT_LEAST + PLAYED_PER_CHANGE * changes + rounds / LEAPT_ROUNDS
    return np.minimum(rounds, played) if leaps else np.full(len(changes), float(rounds))
