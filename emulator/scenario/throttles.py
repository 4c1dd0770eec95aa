"""Kafka's replication throttles: which replicas they cover, and at what rate (KIP-73)."""

from __future__ import annotations

import re
from functools import lru_cache

THROTTLED_LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")

_LIST = re.compile(r"\*|(\d+:\d+(,\d+:\d+)*)?")


def is_throttled_list(text: str) -> bool:
    """Whether it is a value of `leader.replication.throttled.replicas`: "*", or "partition:broker,..." (maybe empty)."""
    return _LIST.fullmatch(text.replace(" ", "")) is not None


@lru_cache(maxsize=256)
def brokers_by_partition(text: str) -> dict[int, tuple[int, ...]]:
    """The brokers of each partition that the list names."""
    brokers: dict[int, tuple[int, ...]] = {}
    if text.strip() != "*":
        for pair in filter(None, text.replace(" ", "").split(",")):
            partition, _, broker = pair.partition(":")
            brokers[int(partition)] = (*brokers.get(int(partition), ()), int(broker))
    return brokers
