"""Closed ledgers of a topic are copied to a remote store, and then go from bookies (docs/bookkeeper_rounds.md, "Offloading")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.reference.broker_status import covers

from .readers import read
from .repair import holders

if TYPE_CHECKING:
    from .topics import Part, Topic

DEFAULTS: dict[str, Any] = {
    "managedLedgerOffloadAutoTriggerSizeThresholdBytes": -1,
    "managedLedgerOffloadThresholdInSeconds": -1,
    "managedLedgerOffloadDeletionLagMs": 14_400_000,
}


def offload(topic: Topic, looks_at_retention: bool) -> None:
    """Go on with the copy under way, begin others that are due; bookies delete what is copied when retention is looked at."""
    closed = [part.ledger.metadata for part in topic.parts if part.closed_round == topic.now]
    topic.looks_for_due |= any(metadata.closed_by == "writer" for metadata in closed)
    _copy(topic)
    while topic.offloading is None and (topic.due or topic.looks_for_due):
        if not topic.due:
            topic.due, topic.looks_for_due = [part for part in topic.listed if _is_due(topic, part)], False
            continue
        part = topic.due.pop(0)
        if part not in topic.listed:
            continue
        if in_outage(topic):
            part.copy_errors += 1
        else:
            topic.offloading = part
            topic.event("offload_started", part)
    if looks_at_retention:
        lag = topic.rounds("managedLedgerOffloadDeletionLagMs", 1)
        for part in topic.listed:
            copied = part.offloaded_round
            if copied is not None and part.freed_round is None and topic.now - copied > lag:
                part.freed_round = topic.now
                topic.event("bookies_freed", part)


def in_outage(topic: Topic) -> bool:
    """The remote store is away."""
    return bool(_faults(topic, "remote_storage_outage"))


def _copy(topic: Topic) -> None:
    part = topic.offloading
    if part is None:
        return
    if part.deleted_round is not None or in_outage(topic):
        part.given_up_bytes += part.copied_bytes
        part.copied_bytes, topic.offloading = 0, None  # nothing of it stays
        if part.deleted_round is None:
            part.copy_errors += 1
            topic.event("offload_failed", part, _faults(topic, "remote_storage_outage")[0]["fault_id"])
        return
    if not _is_readable(part):
        return
    before, size = part.copied_bytes, topic.bytes_of(part)
    part.copied_bytes = min(topic.bytes_of(part), part.copied_bytes + _bytes_a_round(topic, part))
    first, end = (part.entries if moved == size else moved * part.entries // size for moved in (before, part.copied_bytes))
    part.ledger.offload_read_bytes += read(part.ledger, range(first, end))
    if part.copied_bytes == topic.bytes_of(part):
        part.offloaded_round, topic.offloading = topic.now, None
        part.ledger.offloaded = True
        topic.event("offloaded", part)


def _bytes_a_round(topic: Topic, part: Part) -> int:
    rates = [fault["bytes_per_second"] for fault in _faults(topic, "slow_remote_storage")]
    if topic.case.get("copy_bytes_per_second") is not None:
        rates.append(topic.case["copy_bytes_per_second"])
    return int(min(rates) * topic.case["round_ms"] // 1000) if rates else topic.bytes_of(part)


def _faults(topic: Topic, kind: str) -> list[Any]:
    return [fault for fault in topic.faults if fault["kind"] == kind and covers(fault, topic.now)]


def _is_readable(part: Part) -> bool:
    """Every entry is on some bookie that should have it and is heard."""
    ledger = part.ledger
    return all(any(ledger.is_heard(one) for one in holders(ledger, entry)) for entry in range(part.entries))


def _is_due(topic: Topic, part: Part) -> bool:
    """Closed, not empty, not copied yet; too much is closed from it on, or it was closed long enough ago."""
    if part.closed_round is None or part.offloaded_round is not None or part.entries == 0:
        return False
    most, seconds = (topic.given[f"managedLedgerOffload{key}"] for key in ("AutoTriggerSizeThresholdBytes", "ThresholdInSeconds"))
    behind = [one for one in topic.listed if one.number >= part.number and one.closed_round is not None]
    closed = sum(topic.bytes_of(one) for one in behind if one.offloaded_round is None)
    age = topic.now - part.closed_round
    return (most >= 0 and closed > most) or (seconds >= 0 and age >= topic.rounds("managedLedgerOffloadThresholdInSeconds", 1000))
