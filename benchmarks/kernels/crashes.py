"""What broker crashes say of every broker, one round after the other (docs/kafka_rounds.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Crash(NamedTuple):
    """A broker is dead in the rounds [from_round, to_round)."""

    broker: int
    from_round: int
    to_round: int


class Brokers:
    """Which brokers are offline, fenced, restarted, returning in the round that `advance` was called for."""

    def __init__(self, broker_ids: Sequence[int], crashes: Sequence[Crash], session_timeout_rounds: int) -> None:
        self._index = {broker: index for index, broker in enumerate(broker_ids)}
        self._crashes = crashes
        self._session_timeout_rounds = session_timeout_rounds
        count = len(broker_ids)
        self.offline, self.fenced, self.restarted, self.returning = (np.zeros(count, bool) for _ in range(4))
        self._silent_since = np.zeros(count, np.int64)

    def advance(self, now: int) -> bool:
        """Go to the next round; tells whether any flag is another than in the round before."""
        before = (self.offline, self.fenced, self.restarted, self.returning)
        dead = np.zeros(len(self.offline), bool)
        for crash in self._crashes:
            if crash.from_round <= now < crash.to_round:
                dead[self._index[crash.broker]] = True
        session_ended = self.offline & (now >= self._silent_since + self._session_timeout_rounds)
        self.restarted = self.offline & ~dead & (self.fenced | session_ended)
        self.returning = self.restarted & ~self.fenced
        self._silent_since = np.where(self.offline, self._silent_since, now)
        self.offline = dead | (self.offline & ~self.restarted)
        self.fenced = self.offline & (self.fenced | (now >= self._silent_since + self._session_timeout_rounds))
        after = (self.offline, self.fenced, self.restarted, self.returning)
        return any(not np.array_equal(old, new) for old, new in zip(before, after, strict=True))
