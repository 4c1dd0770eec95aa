"""Autorecovery: a worker copies what lost bookies had, and ensembles take who has everything (steps 2 and 7)."""

from __future__ import annotations

from emulator.rounds.bookkeeper.bookies import is_heard, is_registered_here, slot_of
from emulator.rounds.bookkeeper.constants import (
    BY_WORKER,
    COPIED,
    MAX_ENSEMBLE,
    NOBODY,
    NOWHERE,
    REREPLICATED,
)
from emulator.rounds.bookkeeper.copy_entry import are_there, copy_entry
from emulator.rounds.bookkeeper.fragments import fragment_at, fragment_end, index_in, is_growing, note_changed_fragment
from emulator.rounds.bookkeeper.inputs import Inputs, Settings
from emulator.rounds.bookkeeper.placement import choose
from emulator.rounds.bookkeeper.quorums import last_of, next_share, share_of
from emulator.rounds.bookkeeper.records import Ledger, Lists, Replacement
from emulator.rounds.bookkeeper.recover import start_recovery
from emulator.rounds.bookkeeper.tell import tell
from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.entries import move
from emulator.rounds.lists import every, keep_first


@compiled_into_callers
def commit_replacements(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """Step 2: the ensemble of a copied fragment gets the new bookie, if the lost one is still at that index."""
    kept = ledger.replacements.start
    for at in every(ledger.replacements):
        task = lists.replacements[at]
        if not task.copied:
            move(lists.replacements, at, kept)
            kept += 1
            continue
        fragment = fragment_at(lists, ledger, task.first_entry)
        if fragment == NOWHERE or lists.ensembles[fragment, task.index] != task.lost:
            continue
        size = inputs.settings[ledger.settings].ensemble_size
        if task.target == NOBODY or index_in(lists.ensembles, fragment, size, task.target) != NOBODY:
            continue
        lists.ensembles[fragment, task.index] = task.target
        ledger.fragments.changes += 1
        note_changed_fragment(ledger, task.first_entry)
        broker = lists.bookies[ledger.bookies.start + task.target].broker
        tell(lists, ledger, REREPLICATED, broker, task.first_entry, fragment_end(lists, ledger, fragment), task.cause)
    keep_first(ledger.replacements, kept - ledger.replacements.start)


@compiled_into_callers
def replace_lost(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """A stretch for the replacements of one fragment, the first that can be worked on: a ledger has one worker."""
    worked_on = NOWHERE
    for at in every(ledger.replacements):
        task = lists.replacements[at]
        if worked_on in (NOWHERE, task.first_entry) and work_on(lists, inputs, ledger, task):
            worked_on = task.first_entry


@compiled
def fragment_to_repair(lists: Lists, ledger: Ledger, task: Replacement) -> int:
    """Where the fragment is in which a lost bookie is still to be replaced, NOWHERE if it isn't any more."""
    fragment = fragment_at(lists, ledger, task.first_entry)
    if task.copied or fragment == NOWHERE or lists.ensembles[fragment, task.index] != task.lost:
        return NOWHERE
    return fragment


@compiled
def work_on(lists: Lists, inputs: Inputs, ledger: Ledger, task: Replacement) -> bool:
    """Copy a stretch to the target; False if nothing can be done for the replacement now."""
    settings = inputs.settings[ledger.settings]
    fragment = fragment_to_repair(lists, ledger, task)
    if fragment == NOWHERE:
        return False
    if is_growing(ledger, fragment):
        if ledger.now - task.published_round >= settings.grace_rounds:
            start_recovery(lists, ledger, BY_WORKER, 1, task.cause)
        return False
    choose_targets(lists, inputs, ledger, task, fragment)
    if task.target == NOBODY or not is_heard(lists, ledger, task.target):
        return False
    end = fragment_end(lists, ledger, fragment)
    begin = begin_of_stretch(settings, task)
    first, stop = ids_of_stretch(settings, task, begin, end)
    if not are_there(lists, settings, ledger, fragment, first, stop, task.target):
        return False
    for entry in range(first, stop):
        copy_entry(lists, inputs, ledger, fragment, task.index, entry, task.target)
    task.next_entry = begin + settings.batch_entries
    if next_share(settings, task.index, task.next_entry) >= end:
        task.copied = 1
        ledger.replacements.changes += 1
        broker = lists.bookies[ledger.bookies.start + task.target].broker
        tell(lists, ledger, COPIED, broker, task.first_entry, end, task.cause)
    return True


@compiled
def begin_of_stretch(settings: Settings, task: Replacement) -> int:
    """Where the next stretch of consecutive ids begins that has some of the share: one with none takes no time."""
    ahead = next_share(settings, task.index, task.next_entry) - task.next_entry
    return task.next_entry + ahead // settings.batch_entries * settings.batch_entries


@compiled
def ids_of_stretch(settings: Settings, task: Replacement, begin: int, end: int) -> tuple[int, int]:
    """What is copied of a stretch: from its first entry of the share to its last one, and all between; as [first, stop).

    Source: LedgerFragmentReplicator.splitIntoSubFragments, replicateFragmentInternal; `end`: that of the fragment.
    """
    first = next_share(settings, task.index, begin)
    return first, last_of(settings, share_of(settings, task.index), min(begin + settings.batch_entries, end)) + 1


@compiled
def choose_targets(lists: Lists, inputs: Inputs, ledger: Ledger, task: Replacement, fragment: int) -> None:
    """A target for each replacement of a fragment that the worker begins with, or for none; another one for a lost target.

    Source: BookKeeperAdmin.getReplacementBookiesByIndexes, which chooses for all bad bookies that were found, or fails.
    """
    settings = inputs.settings[ledger.settings]
    if task.target != NOBODY:
        if not may_join(lists, settings, ledger, task, fragment):
            choose_target(lists, inputs, ledger, task, fragment)
            ledger.replacements.changes += 1
        return
    for at in every(ledger.replacements):
        if lists.replacements[at].first_entry == task.first_entry and lists.replacements[at].target != NOBODY:
            return
    are_enough = True
    for index in range(settings.ensemble_size):
        for at in every(ledger.replacements):
            other = lists.replacements[at]
            is_its_turn = other.first_entry == task.first_entry and other.index == index
            if is_its_turn and are_enough and fragment_to_repair(lists, ledger, other) != NOWHERE:
                choose_target(lists, inputs, ledger, other, fragment)
                are_enough = other.target != NOBODY
    if are_enough:
        ledger.replacements.changes += 1
        return
    for at in every(ledger.replacements):
        if lists.replacements[at].first_entry == task.first_entry:
            lists.replacements[at].target = NOBODY


@compiled
def may_join(lists: Lists, settings: Settings, ledger: Ledger, task: Replacement, fragment: int) -> bool:
    """Whether a target is registered, and not in the ensemble by now."""
    is_member = index_in(lists.ensembles, fragment, settings.ensemble_size, task.target) != NOBODY
    return is_registered_here(lists, ledger, task.target) and not is_member


@compiled
def choose_target(lists: Lists, inputs: Inputs, ledger: Ledger, task: Replacement, fragment: int) -> None:
    """Another bookie by the policy, nobody who comes into the fragment anyway, or NOBODY; it has to get everything."""
    task.target = NOBODY
    place = choose(
        lists, inputs, ledger, lists.ensembles, fragment, MAX_ENSEMBLE, task.index, 0, NOBODY, NOBODY, task.first_entry
    )
    if place != NOBODY:
        task.target = slot_of(lists, inputs, ledger, place)
    task.next_entry = next_share(inputs.settings[ledger.settings], task.index, task.first_entry)
