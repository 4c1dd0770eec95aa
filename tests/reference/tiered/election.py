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
    from .settings import TieredSettings


@dataclass(frozen=True)
class LocalLog:
    """What a replica has on its own disk; `is_whole`: nothing of the log is missing."""

    span_ms: int
    size_bytes: int
    is_whole: bool


def report_all(partition: TieredPartition) -> None:
    """At the end of the round the controller, if it is up, hears of the replicas that run and are not isolated."""
    for broker in [broker for broker in partition.has_enough if broker not in partition.replicas]:
        del partition.has_enough[broker]
    if partition.controller_up:
        heard = [broker for broker in partition.replicas if not partition.status(broker).isolated]
        report(partition, [broker for broker in heard if partition.status(broker).running])


def report(partition: TieredPartition, brokers: Iterable[int]) -> None:
    """The controller hears whether these brokers have enough."""
    for broker in brokers:
        log = partition.log_of(partition.replicas[broker])
        oldest = max(log.records[0].batch[0], 0) if log.records else partition.now
        span_ms = (partition.now - oldest) * partition.settings.round_ms
        local = LocalLog(span_ms, log.size_bytes, log.local_log_start == log.log_start)
        partition.has_enough[broker] = is_enough(partition.settings, local)


def is_enough(settings: TieredSettings, local: LocalLog) -> bool:
    """Tell whether it spans one of the thresholds, or is all that there is; where there are none everything is."""
    by_span = 0 < settings.eligible_local_log_ms <= local.span_ms
    by_size = 0 < settings.eligible_local_log_bytes <= local.size_bytes
    return not _is_on(settings) or by_span or by_size or local.is_whole


def preferred_first(partition: TieredPartition, brokers: Sequence[int]) -> list[int]:
    """The brokers, those that had enough of the log when they were heard of last first; among equals the order stays."""
    if not _is_on(partition.settings):
        return list(brokers)
    ordered = sorted(brokers, key=lambda broker: not partition.has_enough.get(broker, False))
    partition.coverage["preferred_by_local_log"] += ordered != list(brokers)
    return ordered


def _is_on(settings: TieredSettings) -> bool:
    return settings.is_tiered and max(settings.eligible_local_log_ms, settings.eligible_local_log_bytes) > 0
