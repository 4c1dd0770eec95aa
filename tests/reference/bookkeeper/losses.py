"""Acknowledged entries that are lost, unreadable or under-replicated (docs/bookkeeper_rounds.md, "Losses")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .metadata import fragment_of

if TYPE_CHECKING:
    from .ledger import Ledger


def losses(ledger: Ledger) -> tuple[int, int, int]:
    """How many acknowledged entries are lost, unreadable and under-replicated now."""
    lost = unreadable = under_replicated = 0
    for entry in range(ledger.writer.lac + 1):
        is_behind = ledger.metadata.last_entry is not None and entry > ledger.metadata.last_entry
        if is_behind or (not ledger.offloaded and not _have(ledger, entry)):
            lost += 1
        elif not ledger.offloaded:
            ensemble = fragment_of(ledger.metadata.fragments, entry).ensemble
            write_set = [ensemble[index] for index in ledger.quorums.write_set(entry)]
            copies = [one for one in write_set if ledger.is_heard(one) and entry in ledger.bookies[one].entries]
            unreadable += not copies
            under_replicated += 0 < len(copies) < ledger.quorums.write
    return lost, unreadable, under_replicated


def tell_last_copies(ledger: Ledger, broker: int, gone: Sequence[int], cause: int | None) -> None:
    """A bookie just lost these entries: tell of those that are acknowledged, within the ledger, and on no bookie any more."""
    last = ledger.metadata.last_entry
    lost = [one for one in gone if one <= ledger.writer.lac and (last is None or one <= last) and not _have(ledger, one)]
    if not ledger.offloaded:
        _tell(ledger, broker, lost, cause)


def tell_behind_end(ledger: Ledger) -> None:
    """The ledger was just closed: tell of what is acknowledged behind its end and on some bookie."""
    end = _end(ledger)
    behind = range(end, ledger.writer.lac + 1)
    lost = [entry for entry in behind if _have(ledger, entry)]
    if lost:
        records = None if len(lost) == len(behind) else len(lost)
        ledger.event("acked_lost", None, behind[0], behind[-1] + 1, cause=_cause_behind_end(ledger), records=records)


def tell_lost_when_acknowledged(ledger: Ledger, acknowledged: Sequence[int]) -> None:
    """Tell of entries just acknowledged that are behind the end, or that no bookie has any more."""
    end = _end(ledger)
    _tell(ledger, None, [one for one in acknowledged if one < end and not _have(ledger, one)], ledger.last_damage)
    _tell(ledger, None, [one for one in acknowledged if one >= end], _cause_behind_end(ledger))


def _cause_behind_end(ledger: Ledger) -> int | None:
    return ledger.last_damage if ledger.lost_to_faults else ledger.metadata.close_cause


def _end(ledger: Ledger) -> int:
    last = ledger.metadata.last_entry
    return ledger.writer.lac + 1 if last is None else last + 1


def _have(ledger: Ledger, entry: int) -> list[int]:
    """All bookies that have an entry."""
    return [bookie.broker for bookie in ledger.bookies.values() if entry in bookie.entries]


def _tell(ledger: Ledger, broker: int | None, lost: Sequence[int], cause: int | None) -> None:
    if lost:
        records = None if len(lost) == lost[-1] + 1 - lost[0] else len(lost)
        ledger.event("acked_lost", broker, lost[0], lost[-1] + 1, cause=cause, records=records)
