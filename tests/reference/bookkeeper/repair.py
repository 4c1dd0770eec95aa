"""Copies for lost ones: autorecovery, the check of a ledger, the repair of a bookie in limbo, decommissioning (step 7).

A *replacement* copies what one bookie has of a fragment to another, and takes that one into the fragment's ensemble when all
is copied. It copies a stretch of `rereplicationEntryBatchSize` consecutive ids a round: of the index's share, and *beside* it
the ids between these. A *filling* brings a bookie of an ensemble what it lacks, `rereplicationEntryBatchSize` entries a round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .metadata import CLOSED, Fragment, fragment_end, fragment_of

if TYPE_CHECKING:
    from .ledger import Ledger

AUTORECOVERY = "autorecovery"


@dataclass
class Replacement:
    """A fragment's bookie `lost` shall be replaced by `target`; with `next_entry` the next stretch to copy begins."""

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
    """What there is to repair of one ledger."""

    replacements: list[Replacement] = field(default_factory=list)
    filling: dict[int, int | None] = field(default_factory=dict)
    """Bookies that get what they lack, and the fault for which they do."""
    copied_entries: int = 0
    """All copies, those beside the share as well."""


def commit_replacements(ledger: Ledger) -> None:
    """Step 2: take targets that have everything into the ensembles, if the lost ones are still there."""
    for task in [one for one in ledger.repair.replacements if one.copied]:
        fragment = _fragment_of(ledger, task)
        if _is_at_its_index(task, fragment) and task.target not in (None, *fragment.ensemble):
            assert task.target is not None
            fragment.ensemble[task.index] = task.target
            ledger.metadata.writes += 1
            ledger.event("rereplicated", task.target, fragment.first_entry, _end(ledger, fragment), cause=task.cause)
        ledger.repair.replacements.remove(task)


def audit(ledger: Ledger) -> None:
    """Step 7: who is back and whole is not replaced, if no copy was begun; who is lost or decommissioned is to be."""
    repair, registered = ledger.repair, set(ledger.registered)
    if all(one.target is None for one in repair.replacements):
        repair.replacements = [one for one in repair.replacements if one.lost not in registered or not _is_whole(ledger, one)]
    if not ledger.settings.autorecovery or not ledger.store_up:
        return
    for bookie in sorted(ledger.lost[ledger.now] | ledger.decommissioned):
        _publish(ledger, bookie)


def _is_whole(ledger: Ledger, task: Replacement) -> bool:
    """The lost bookie has the first and the last entry of its share, of an open fragment the acknowledged one, or no share."""
    fragment = _fragment_of(ledger, task)
    if not _is_at_its_index(task, fragment):
        return True
    end = ledger.writer.lac + 1 if _is_open(ledger, fragment) else _end(ledger, fragment)
    ids = range(fragment.first_entry, end)
    ends = (_first_of_share(ledger, task, ids), _first_of_share(ledger, task, ids[::-1]))
    return all(entry is None or entry in ledger.bookies[task.lost].entries for entry in ends)


def _publish(ledger: Ledger, bookie: int) -> None:
    known = {(one.first_entry, one.index, one.lost) for one in ledger.repair.replacements}
    for fragment in ledger.metadata.fragments:
        for index, one in enumerate(fragment.ensemble):
            if one == bookie and (fragment.first_entry, index, one) not in known:
                task = Replacement(fragment.first_entry, index, one, ledger.now)
                task.cause = None if ledger.status(bookie).registered else ledger.cause_of(bookie)
                ledger.repair.replacements.append(task)
                ledger.event("underreplicated", bookie, fragment.first_entry, cause=task.cause)


def copy(ledger: Ledger) -> None:
    """Step 7: a stretch of each replacement that can be worked on, of the first such one's fragment; a batch of every filling.

    A ledger has one replication worker at a time; copies come from what bookies had at the end of step 6.
    """
    tasks = ledger.repair.replacements
    first = next((task for task in tasks if _can_be_worked_on(ledger, task)), None)
    if first is not None:
        of_fragment = [task for task in tasks if task.first_entry == first.first_entry]
        for task in [task for task in of_fragment if task is first or _can_be_worked_on(ledger, task)]:
            _copy_stretch(ledger, task)
    for bookie in sorted(ledger.repair.filling):
        _fill(ledger, bookie)


def _can_be_worked_on(ledger: Ledger, task: Replacement) -> bool:
    """The worker comes to a replacement: it sees to a target, and tells whether anything can be copied now."""
    fragment = _fragment_of(ledger, task)
    if task.copied or not _is_at_its_index(task, fragment):
        return False
    if _is_open(ledger, fragment):
        _recover_after_grace(ledger, task)
        return False
    of_fragment = [one for one in ledger.repair.replacements if one.first_entry == task.first_entry]
    if all(one.target is None for one in of_fragment):
        lost = sorted((one for one in of_fragment if _is_at_its_index(one, fragment)), key=lambda one: one.index)
        for one in lost:
            _choose_target(ledger, one, fragment)
        if any(one.target is None for one in lost):
            for one in lost:
                one.target = None
    elif task.target is not None and (task.target not in ledger.registered or task.target in fragment.ensemble):
        _choose_target(ledger, task, fragment)
    return task.target is not None and ledger.is_heard(task.target) and not _waits(ledger, task, fragment)


def _choose_target(ledger: Ledger, task: Replacement, fragment: Fragment) -> None:
    """Another bookie by the policy, not one that comes into this fragment anyway; it has to get everything."""
    coming = {one.target for one in ledger.repair.replacements if one is not task and one.first_entry == task.first_entry}
    free = [one for one in ledger.registered if one not in coming]
    chosen = ledger.placement.replace(fragment.ensemble, {task.index: task.lost}, free)[task.index]
    task.target = None if chosen == task.lost else chosen
    ids = range(fragment.first_entry, _end(ledger, fragment))
    task.next_entry = _first_of_share(ledger, task, ids) or fragment.first_entry


def _waits(ledger: Ledger, task: Replacement, fragment: Fragment) -> bool:
    """Nobody has some id of the next stretch."""
    stretch, _ = _next_stretch(ledger, task, fragment)
    return any(_source(ledger, fragment, entry, task.target) is None for entry in stretch)


def _next_stretch(ledger: Ledger, task: Replacement, fragment: Fragment) -> tuple[range, int]:
    """The ids to copy of the next stretch that has any of the share, and where the one behind it begins."""
    size, end = ledger.settings.batch_entries, _end(ledger, fragment)
    first = _first_of_share(ledger, task, range(task.next_entry, end))
    if first is None:
        return range(0), end
    behind = first - (first - task.next_entry) % size + size
    last = _first_of_share(ledger, task, range(first, min(behind, end))[::-1])
    assert last is not None
    return range(first, last + 1), behind


def _copy_stretch(ledger: Ledger, task: Replacement) -> None:
    """Copy a stretch; what isn't of the share comes beside the target's entries."""
    fragment = _fragment_of(ledger, task)
    assert task.target is not None
    stretch, behind = _next_stretch(ledger, task, fragment)
    for entry in stretch:
        if ledger.quorums.holds(task.index, entry):
            _copy_entry(ledger, fragment, entry, task.target)
        else:
            ledger.bookies[task.target].beside.add(entry)
            ledger.repair.copied_entries += 1
    task.next_entry, end = behind, _end(ledger, fragment)
    task.copied = _first_of_share(ledger, task, range(behind, end)) is None
    if task.copied:
        ledger.event("copied", task.target, fragment.first_entry, end, cause=task.cause)


def _first_of_share(ledger: Ledger, task: Replacement, ids: Sequence[int]) -> int | None:
    """The first of the ids that its index gets."""
    return next((entry for entry in ids if ledger.quorums.holds(task.index, entry)), None)


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
        if bookie not in fragment.ensemble or _is_open(ledger, fragment):
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


def _source(ledger: Ledger, fragment: Fragment, entry: int, target: int | None) -> int | None:
    """The first bookie of the write set that has the entry and is heard, but for the target."""
    sources = [fragment.ensemble[index] for index in ledger.quorums.write_set(entry)]
    return next((one for one in sources if one != target and ledger.is_heard(one) and entry in ledger.bookies[one].entries), None)


def _copy_entry(ledger: Ledger, fragment: Fragment, entry: int, target: int) -> bool:
    """Copy an entry that the target should have, if anybody has it.

    The copy's header carries what the worker knows to be confirmed: the last entry, or all before the last fragment.
    """
    if _source(ledger, fragment, entry, target) is None:
        return False
    metadata = ledger.metadata
    lac = metadata.last.first_entry - 1 if metadata.last_entry is None else metadata.last_entry
    ledger.bookies[target].add(entry, lac, recovery=True)
    ledger.repair.copied_entries += 1
    return True


def _fragment_of(ledger: Ledger, task: Replacement) -> Fragment:
    return next(one for one in ledger.metadata.fragments if one.first_entry == task.first_entry)


def _is_at_its_index(task: Replacement, fragment: Fragment) -> bool:
    """The lost bookie is where it was when it was published."""
    return fragment.ensemble[task.index] == task.lost


def _is_open(ledger: Ledger, fragment: Fragment) -> bool:
    """It may still change: the last fragment of a ledger that isn't closed."""
    return ledger.metadata.state != CLOSED and fragment is ledger.metadata.last


def _end(ledger: Ledger, fragment: Fragment) -> int:
    metadata = ledger.metadata
    end = metadata.last_entry + 1 if metadata.last_entry is not None else metadata.last.first_entry
    return fragment_end(metadata.fragments, fragment, end)


def holders(ledger: Ledger, entry: int) -> list[int]:
    """The bookies of the entry's write set that have it, whether or not they are heard."""
    ensemble = fragment_of(ledger.metadata.fragments, entry).ensemble
    places = ledger.quorums.write_set(entry)
    return sorted(ensemble[index] for index in places if entry in ledger.bookies[ensemble[index]].entries)
