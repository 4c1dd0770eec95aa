"""Who is preferred at an election by what it has on its own disk (KIP-1303, as docs/tiered_rounds.md decides it).

Choices where the page is silent:

* What is reported of a replica is as of the end of the round, its local retention included.
* A broker that lost its disk is judged by its last report until it reports again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .partition import TieredPartition


@dataclass(frozen=True)
class LocalLog:
    """What a replica has on its own disk, as the controller last heard of it; `is_whole`: nothing of the log is missing."""

    span_ms: int
    size_bytes: int
    is_whole: bool


def report_all(partition: TieredPartition) -> None:
    """At the end of the round the controller, if it is up, hears of the replicas that run and are not isolated."""
    for broker in [broker for broker in partition.reported if broker not in partition.replicas]:
        del partition.reported[broker]
    if partition.controller_up:
        heard = [broker for broker in partition.replicas if not partition.status(broker).isolated]
        report(partition, [broker for broker in heard if partition.status(broker).running])


def report(partition: TieredPartition, brokers: Iterable[int]) -> None:
    """The controller hears what these brokers have."""
    for broker in brokers:
        log = partition.log_of(partition.replicas[broker])
        oldest = max(log.records[0].batch[0], 0) if log.records else partition.now
        span_ms = (partition.now - oldest) * partition.settings.round_ms
        partition.reported[broker] = LocalLog(span_ms, log.size_bytes, log.local_log_start == log.log_start)


def preferred_first(partition: TieredPartition, brokers: Sequence[int]) -> list[int]:
    """The brokers, those that have enough of the log first; among equals the order stays."""
    settings = partition.settings
    if not settings.is_tiered or max(settings.eligible_local_log_ms, settings.eligible_local_log_bytes) <= 0:
        return list(brokers)
    ordered = sorted(brokers, key=lambda broker: not is_eligible(partition, broker))
    partition.coverage["preferred_by_local_log"] += ordered != list(brokers)
    return ordered


def is_eligible(partition: TieredPartition, broker: int) -> bool:
    """Tell whether what the broker last reported spans one of the thresholds, or is all that there is."""
    settings, local = partition.settings, partition.reported.get(broker)
    if local is None:
        return False
    by_span = 0 < settings.eligible_local_log_ms <= local.span_ms
    return by_span or 0 < settings.eligible_local_log_bytes <= local.size_bytes or local.is_whole
