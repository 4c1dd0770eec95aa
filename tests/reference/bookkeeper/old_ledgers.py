"""When a topic's ledger is old: full, so that the next one begins, or beyond what retention keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .settings import is_due

if TYPE_CHECKING:
    from .topics import Part, Topic

MINUTE_MS, MEGABYTE = 60_000, 1024 * 1024
ENTRIES, SIZE, AGE, FAILURE = "entries", "size", "age", "failure"
"""Why a ledger was rolled over."""


def roll_over(topic: Topic, part: Part, why: str, cause: int | None = None) -> None:
    """The ledger gets no more entries."""
    if part.rolled_over is None:
        part.rolled_over = why
        topic.event("ledger_rolled_over", part, cause)


def why_full(topic: Topic, part: Part) -> str | None:
    """By entries or bytes, but not before the least age; by the largest age, if it has any entry."""
    given, age = topic.given, topic.now + 1 - part.created_round
    if age >= topic.rounds("managedLedgerMaxLedgerRolloverTimeMinutes", MINUTE_MS):
        return AGE if part.entries > 0 else None
    if age < topic.rounds("managedLedgerMinLedgerRolloverTimeMinutes", MINUTE_MS):
        return None
    if part.entries >= given["managedLedgerMaxEntriesPerLedger"]:
        return ENTRIES
    return SIZE if topic.bytes_of(part) >= given["managedLedgerMaxSizePerLedgerMbytes"] * MEGABYTE else None


def looks_at_retention(topic: Topic) -> bool:
    """When it is due, and when the list went on: subscriptions go on to the new ledger; but not while the store is away."""
    due = is_due(topic.now, topic.case["round_ms"], topic.given["retentionCheckIntervalInSeconds"] * 1000)
    return topic.store_up and (due or topic.list_went_on_round == topic.now)


def delete_old(topic: Topic) -> None:
    """Delete ledgers from the front, whole ones, never the last: too old, or more than there may be with what is behind."""
    minutes, megabytes = topic.given["defaultRetentionTimeInMinutes"], topic.given["defaultRetentionSizeInMB"]
    total = sum(topic.bytes_of(part) for part in topic.listed)
    for part in topic.listed[:-1]:
        if part.closed_round is None:
            return
        age = topic.now - part.closed_round
        expired = minutes >= 0 and age > topic.rounds("defaultRetentionTimeInMinutes", MINUTE_MS)
        too_much = megabytes >= 0 and total - topic.bytes_of(part) >= megabytes * MEGABYTE
        if not expired and not too_much:
            return
        part.deleted_round = topic.now
        topic.event("ledger_deleted", part)
        topic.version += 1
        total -= topic.bytes_of(part)
        for owner in topic.owners:
            owner.version += owner.version == topic.version - 1
