"""What brokers' quotas and reader threads, and consumers' fetches, leave each remote read until the next quota edge.

docs/consumer_rounds.md, Shared reading.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emulator.engine.budgets.demands import Layout
from emulator.engine.budgets.read_demands import ReadDemands, ReadFlows, readers_of
from emulator.inputs.arrays.shared_reads import BY_ITSELF, ReadLimits
from emulator.rounds.kafka.constants import NOBODY, UNKNOWN
from emulator.rounds.kafka.reading.records import Reader
from emulator.rounds.kafka.state import State
from emulator.rounds.records import word_of

SHARE_SLOT, SHARE_BYTES, SHORT_SLOTS = (word_of(Reader, name) for name in ("share_slot", "share_bytes", "short_slots"))


@dataclass(frozen=True, eq=False)
class ReadShares:
    """By broker and fetch that get less than they could take, ascending: `turn`, so large a part of the rounds their reads are
    made, and `quota`, so large a part of what is asked for they get. BY_ITSELF stands for all fetches that are not there.
    """

    broker: np.ndarray
    fetch: np.ndarray
    turn: np.ndarray
    quota: np.ndarray

    @property
    def is_short(self) -> bool:
        """Whether some reader gets less."""
        return len(self.broker) > 0


def read_shares_of(flows: ReadFlows, limits: ReadLimits, round_: int) -> ReadShares:
    """Share out what brokers have for remote reads; what one partition's readers leave each other is a matter of the round."""
    quotas, reads = limits.at(round_)
    brokers = len(quotas)
    # Of a fetch that several partitions share one read is made in a round.
    turn = np.where(flows.fetch == BY_ITSELF, 1.0, 1 / np.maximum(flows.readers, 1))
    wanted_reads = np.bincount(flows.broker, turn * flows.readers, brokers)
    served = np.minimum(1.0, np.divide(reads, wanted_reads, out=np.ones(brokers), where=wanted_reads > 0))
    turn *= served[flows.broker]
    wanted = np.bincount(flows.broker, np.minimum(flows.demand, flows.most * turn), brokers)
    of_quota = np.minimum(1.0, np.divide(quotas, wanted, out=np.ones(brokers), where=wanted > 0))
    is_shared = np.bincount(flows.broker, flows.partitions, brokers) > 1
    # Whoever shares no fetch has a turn of what the threads leave, also if nobody asks for it yet.
    alone = np.setdiff1d(flows.broker, flows.broker[flows.fetch == BY_ITSELF])
    broker, fetch = np.append(flows.broker, alone), np.append(flows.fetch, np.full(len(alone), BY_ITSELF))
    turn = np.append(turn, served[alone])
    is_less = is_shared[broker] & ((turn < 1) | (of_quota[broker] < 1))
    order = np.lexsort((fetch, broker))
    order = order[is_less[order]]
    return ReadShares(broker[order], fetch[order], turn[order], of_quota[broker[order]])


def limit_reads(state: State, layout: Layout, asked: ReadDemands, shares: ReadShares) -> None:
    """Set what readers get from now on at the replica that they ask, and what at others that they may come to ask."""
    _, of = readers_of(state)
    turn, quota = _parts(shares, asked.broker, asked.fetch)
    in_turn = asked.most * turn
    share = np.where(quota < 1, np.minimum(asked.demand, in_turn) * quota, in_turn)
    has_share = asked.may_read & ~np.isnan(turn)
    words = state.readers.words
    words[:, SHARE_SLOT] = np.where(has_share, asked.slot, NOBODY)
    words[:, SHARE_BYTES] = np.where(has_share, np.maximum(np.floor(np.where(has_share, share, 0)), 1), UNKNOWN)
    words[:, SHORT_SLOTS] = 0
    parts = np.asarray(state.partitions)[of]
    for slot in range(int(parts["slots"].max(initial=0))):
        has_slot = asked.may_read & (slot < parts["slots"])
        place = np.minimum(parts["first_replica"] + slot, len(layout.broker) - 1)
        turn, _ = _parts(shares, layout.broker[place], asked.fetch)
        words[:, SHORT_SLOTS] |= np.where(has_slot & (slot != asked.slot) & ~np.isnan(turn), 1 << slot, 0)


def _parts(shares: ReadShares, broker: np.ndarray, fetch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(turn, quota) of readers whose reads such brokers and fetches bring; not a number for who may have all."""
    fetches = np.unique(np.append(shares.fetch, BY_ITSELF))
    place = np.searchsorted(fetches, fetch)
    number = np.where(fetches[np.minimum(place, len(fetches) - 1)] == fetch, place, 0)  # BY_ITSELF is the lowest
    numbers = shares.broker * len(fetches) + np.searchsorted(fetches, shares.fetch)  # ascending

    def places(wanted: np.ndarray) -> np.ndarray:
        at = np.searchsorted(numbers, wanted)
        return np.where(np.append(numbers, -1)[at] == wanted, at, len(numbers))

    own = places(broker * len(fetches) + number)
    at = np.where(own < len(numbers), own, places(broker * len(fetches)))
    return np.append(shares.turn, np.nan)[at], np.append(shares.quota, np.nan)[at]
