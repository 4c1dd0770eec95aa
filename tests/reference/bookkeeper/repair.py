"""Copies for lost ones: autorecovery, the check of a ledger, the repair of a bookie in limbo, decommissioning (step 7).

A *replacement* copies what one bookie has of a fragment to another, and takes that one into the fragment's ensemble when all
is copied. A *filling* brings a bookie of an ensemble what it lacks. Both copy `rereplicationEntryBatchSize` entries a round.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .metadata import CLOSED, Fragment, fragment_end, fragment_of

if TYPE_CHECKING:
    from .ledger import Ledger

AUTORECOVERY = "autorecovery"


@dataclass
class Replacement:
    """A fragment's bookie `lost` shall be replaced by `target`; entries below `next_entry` are copied."""

    first_entry: int
    index: int
    lost: int
    published_round: int
    target: int | None = None
    next_entry: int = 0
    copied: bool = False
    cause: int | None = None


@dataclass
class Repair:
    """What there is to repair of one ledger; `lost_since`: from which round on the auditor misses a bookie."""

    replacements: list[Replacement] = field(default_factory=list)
    filling: dict[int, int | None] = field(default_factory=dict)
    """Bookies that get what they lack, and the fault for which they do."""
    lost_since: dict[int, int] = field(default_factory=dict)
    copied_entries: int = 0


def commit_replacements(ledger: Ledger) -> None:
    """Step 2: take targets that have everything into the ensembles, if the lost ones are still there."""
    for task in [one for one in ledger.repair.replacements if one.copied]:
        fragment = _fragment_at(ledger, task.first_entry)
        if fragment is not None and fragment.ensemble[task.index] == task.lost and task.target not in (None, *fragment.ensemble):
            assert task.target is not None
            fragment.ensemble[task.index] = task.target
            ledger.metadata.writes += 1
            ledger.event("rereplicated", task.target, fragment.first_entry, task.next_entry, cause=task.cause)
        ledger.repair.replacements.remove(task)


def audit(ledger: Ledger) -> None:
    """Step 7: who is missed for long enough gets replaced; who is back is not."""
    repair, now = ledger.repair, ledger.now
    used = {one for fragment in ledger.metadata.fragments for one in fragment.ensemble}
    registered = set(ledger.registered)
    for bookie in sorted(used - registered):
        repair.lost_since.setdefault(bookie, now)
    for bookie in registered & set(repair.lost_since):
        del repair.lost_since[bookie]
    repair.replacements = [one for one in repair.replacements if one.lost not in registered]
    if not ledger.settings.autorecovery or not ledger.store_up:
        return
    for bookie, since in sorted(repair.lost_since.items()):
        delay = 0 if bookie in ledger.decommissioned else ledger.settings.lost_bookie_delay_rounds
        if now - since >= delay:
            _publish(ledger, bookie)


def _publish(ledger: Ledger, bookie: int) -> None:
    known = {(one.first_entry, one.index, one.lost) for one in ledger.repair.replacements}
    for fragment in ledger.metadata.fragments:
        for index, one in enumerate(fragment.ensemble):
            if one == bookie and (fragment.first_entry, index, one) not in known:
                task = Replacement(fragment.first_entry, index, one, ledger.now, next_entry=fragment.first_entry)
                task.cause = None if ledger.status(bookie).registered else ledger.cause_of(bookie)
                ledger.repair.replacements.append(task)
                ledger.event("underreplicated", bookie, fragment.first_entry, cause=task.cause)


def copy(ledger: Ledger) -> None:
    """Step 7: copy one batch of the first replacement for which it can be done, and one for every filling.

    A ledger has one replication worker at a time; copies come from what bookies had at the end of step 6.
    """
    any(_work_on(ledger, task) for task in ledger.repair.replacements)
    for bookie in sorted(ledger.repair.filling):
        _fill(ledger, bookie)


def _work_on(ledger: Ledger, task: Replacement) -> bool:
    """Copy one batch of one task; return False if nothing can be done for it now."""
    fragment = _fragment_at(ledger, task.first_entry)
    if task.copied or fragment is None or fragment.ensemble[task.index] != task.lost:
        return False
    if ledger.metadata.state != CLOSED and fragment is ledger.metadata.last:
        _recover_after_grace(ledger, task)
        return False
    if task.target is None or task.target not in ledger.registered or task.target in fragment.ensemble:
        _choose_target(ledger, task, fragment)
    if task.target is None or not ledger.is_heard(task.target):
        return False
    end = _end(ledger, fragment)
    copied = 0
    while task.next_entry < end and copied < ledger.settings.batch_entries:
        if ledger.quorums.holds(task.index, task.next_entry):
            if not _copy_entry(ledger, fragment, task.next_entry, task.target):
                return copied > 0
            copied += 1
        task.next_entry += 1
    task.copied = task.next_entry >= end
    if task.copied:
        ledger.event("copied", task.target, fragment.first_entry, task.next_entry, cause=task.cause)
    return True


def _choose_target(ledger: Ledger, task: Replacement, fragment: Fragment) -> None:
    """Another bookie by the policy, not one that comes into this fragment anyway; it has to get everything."""
    coming = {one.target for one in ledger.repair.replacements if one is not task and one.first_entry == task.first_entry}
    free = [one for one in ledger.registered if one not in coming]
    chosen = ledger.placement.replace(fragment.ensemble, {task.index: task.lost}, free)[task.index]
    task.target = None if chosen == task.lost else chosen
    task.next_entry = fragment.first_entry


def _recover_after_grace(ledger: Ledger, task: Replacement) -> None:
    """The last fragment of an open ledger may still change: after the grace period the worker closes it by recovery."""
    waited = ledger.now - task.published_round >= ledger.settings.open_ledger_grace_rounds
    if waited and not any(one.name == AUTORECOVERY and one.running for one in ledger.recoveries):
        ledger.start_recovery(AUTORECOVERY, cause=task.cause)


def _fill(ledger: Ledger, bookie: int) -> None:
    """Bring the bookie entries that closed fragments say it has; it leaves limbo when the ledger is closed and all are there."""
    if not ledger.is_heard(bookie):
        return
    copied = 0
    complete = ledger.metadata.state == CLOSED
    for fragment in ledger.metadata.fragments:
        if bookie not in fragment.ensemble or (ledger.metadata.state != CLOSED and fragment is ledger.metadata.last):
            continue
        index = fragment.ensemble.index(bookie)
        for entry in range(fragment.first_entry, _end(ledger, fragment)):
            if not ledger.quorums.holds(index, entry) or entry in ledger.bookies[bookie].entries:
                continue
            if copied < ledger.settings.batch_entries and _copy_entry(ledger, fragment, entry, bookie):
                copied += 1
            else:
                complete = False
    if complete:
        cause = ledger.repair.filling.pop(bookie)
        ledger.event("filled", bookie, cause=cause)
        if ledger.bookies[bookie].limbo:
            ledger.event("limbo_left", bookie, cause=cause)
        ledger.bookies[bookie].limbo = False


def _copy_entry(ledger: Ledger, fragment: Fragment, entry: int, target: int) -> bool:
    """Copy from the first bookie of the write set that has the entry and is heard.

    The copy's header carries what the worker knows to be confirmed: the last entry, or all before the last fragment.
    """
    metadata = ledger.metadata
    lac = metadata.last.first_entry - 1 if metadata.last_entry is None else metadata.last_entry
    for index in ledger.quorums.write_set(entry):
        source = fragment.ensemble[index]
        if source != target and ledger.is_heard(source) and entry in ledger.bookies[source].entries:
            ledger.bookies[target].add(entry, lac, recovery=True)
            ledger.repair.copied_entries += 1
            return True
    return False


def _fragment_at(ledger: Ledger, first_entry: int) -> Fragment | None:
    return next((one for one in ledger.metadata.fragments if one.first_entry == first_entry), None)


def _end(ledger: Ledger, fragment: Fragment) -> int:
    metadata = ledger.metadata
    end = metadata.last_entry + 1 if metadata.last_entry is not None else metadata.last.first_entry
    return fragment_end(metadata.fragments, fragment, end)


def holders(ledger: Ledger, entry: int) -> list[int]:
    """The bookies of the entry's write set that have it, whether or not they are heard."""
    ensemble = fragment_of(ledger.metadata.fragments, entry).ensemble
    places = ledger.quorums.write_set(entry)
    return sorted(ensemble[index] for index in places if entry in ledger.bookies[ensemble[index]].entries)
