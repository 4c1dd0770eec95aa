"""Autorecovery: the auditor publishes whom it misses, workers copy, ensembles take who has everything (steps 2 and 7)."""

from __future__ import annotations

from emulator.rounds.bookkeeper.bookies import bookie_at, is_heard, is_registered_here, slot_of
from emulator.rounds.bookkeeper.constants import (
    BY_WORKER,
    CLOSED,
    COPIED,
    DECOMMISSIONED,
    MAX_ENSEMBLE,
    NEVER,
    NO_ENTRY,
    NO_FAULT,
    NOBODY,
    NOWHERE,
    REREPLICATED,
    UNDERREPLICATED,
    UNREGISTERED,
)
from emulator.rounds.bookkeeper.copy_entry import copy_entry
from emulator.rounds.bookkeeper.damage import is_member
from emulator.rounds.bookkeeper.fragments import fragment_at, fragment_end, index_in, note_changed_fragment
from emulator.rounds.bookkeeper.inputs import Inputs, Settings
from emulator.rounds.bookkeeper.placement import choose
from emulator.rounds.bookkeeper.quorums import holds
from emulator.rounds.bookkeeper.records import Ledger, Lists, Replacement
from emulator.rounds.bookkeeper.recover import start_recovery
from emulator.rounds.bookkeeper.tell import tell
from emulator.rounds.compiled import compiled
from emulator.rounds.entries import move
from emulator.rounds.lists import append, every, keep_first, last


@compiled
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
        tell(lists, ledger, REREPLICATED, broker, task.first_entry, task.next_entry, task.cause)
    keep_first(ledger.replacements, kept - ledger.replacements.start)


@compiled
def audit(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """Who of an ensemble hasn't been registered for long enough is to be replaced; who is back is not."""
    settings = inputs.settings[ledger.settings]
    for slot in range(ledger.bookies.count):
        bookie = lists.bookies[ledger.bookies.start + slot]
        if is_registered_here(lists, ledger, slot):
            bookie.missed_since = NEVER
        elif bookie.missed_since == NEVER and is_member(lists, inputs, ledger, slot):
            bookie.missed_since = ledger.now
    kept = ledger.replacements.start
    for at in every(ledger.replacements):
        if not is_registered_here(lists, ledger, lists.replacements[at].lost):
            move(lists.replacements, at, kept)
            kept += 1
    keep_first(ledger.replacements, kept - ledger.replacements.start)
    if not settings.autorecovery or not ledger.store_up:
        return
    previous = NOBODY
    while True:  # in the order of the bookies' ids
        slot = next_missed(lists, settings, ledger, previous)
        if slot == NOBODY:
            return
        publish(lists, settings, ledger, slot)
        previous = lists.bookies[ledger.bookies.start + slot].place


@compiled
def next_missed(lists: Lists, settings: Settings, ledger: Ledger, behind: int) -> int:
    """The slot of the next bookie, by id, that is to be replaced; NOBODY if there is none."""
    found, place = NOBODY, 0
    for slot in range(ledger.bookies.count):
        bookie = lists.bookies[ledger.bookies.start + slot]
        if bookie.missed_since == NEVER or bookie.place <= behind:
            continue
        delay = 0 if bookie.status & DECOMMISSIONED else settings.lost_rounds
        if ledger.now - bookie.missed_since >= delay and (found == NOBODY or bookie.place < place):
            found, place = slot, bookie.place
    return found


@compiled
def publish(lists: Lists, settings: Settings, ledger: Ledger, slot: int) -> None:
    """A missed bookie is to be replaced in all fragments that it is in."""
    for at in every(ledger.fragments):
        first_entry = lists.fragments[at].first_entry
        index = index_in(lists.ensembles, at, settings.ensemble_size, slot)
        if index == NOBODY or is_published(lists, ledger, first_entry, index, slot):
            continue
        task = lists.replacements[append(ledger.replacements)]
        task.first_entry = first_entry
        task.index = index
        task.lost = slot
        task.published_round = ledger.now
        task.target = NOBODY
        task.next_entry = first_entry
        task.copied = 0
        task.cause = cause_of_missing(lists, ledger, slot)
        tell(lists, ledger, UNDERREPLICATED, bookie_at(lists, ledger, slot).broker, first_entry, NO_ENTRY, task.cause)


@compiled
def cause_of_missing(lists: Lists, ledger: Ledger, slot: int) -> int:
    """The fault for which a bookie isn't registered; NO_FAULT: it was decommissioned."""
    bookie = bookie_at(lists, ledger, slot)
    return bookie.cause if bookie.status & UNREGISTERED else NO_FAULT


@compiled
def is_published(lists: Lists, ledger: Ledger, first_entry: int, index: int, slot: int) -> bool:
    """Whether a bookie of a fragment is to be replaced already."""
    for at in every(ledger.replacements):
        task = lists.replacements[at]
        if task.first_entry == first_entry and task.index == index and task.lost == slot:
            return True
    return False


@compiled
def replace_lost(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """One batch of the first replacement that can be worked on: a ledger has one worker."""
    for at in every(ledger.replacements):
        if work_on(lists, inputs, ledger, lists.replacements[at]):
            return


@compiled
def fragment_to_repair(lists: Lists, ledger: Ledger, task: Replacement) -> int:
    """Where the fragment is in which a lost bookie is still to be replaced, NOWHERE if it isn't any more."""
    fragment = fragment_at(lists, ledger, task.first_entry)
    if task.copied or fragment == NOWHERE or lists.ensembles[fragment, task.index] != task.lost:
        return NOWHERE
    return fragment


@compiled
def work_on(lists: Lists, inputs: Inputs, ledger: Ledger, task: Replacement) -> bool:
    """Copy a batch to the target, entries in order; False if nothing can be done for the replacement now."""
    settings = inputs.settings[ledger.settings]
    fragment = fragment_to_repair(lists, ledger, task)
    if fragment == NOWHERE:
        return False
    if ledger.state != CLOSED and fragment == last(ledger.fragments):
        if ledger.now - task.published_round >= settings.grace_rounds:
            start_recovery(lists, ledger, BY_WORKER, 1, task.cause)
        return False
    has_target = task.target != NOBODY and is_registered_here(lists, ledger, task.target)
    if not has_target or index_in(lists.ensembles, fragment, settings.ensemble_size, task.target) != NOBODY:
        choose_target(lists, inputs, ledger, task, fragment)
    if task.target == NOBODY or not is_heard(lists, ledger, task.target):
        return False
    end = fragment_end(lists, ledger, fragment)
    copied = 0
    while task.next_entry < end and copied < settings.batch_entries:
        if holds(settings, task.index, task.next_entry):
            if not copy_entry(lists, inputs, ledger, fragment, task.index, task.next_entry, task.target):
                return copied > 0
            copied += 1
        task.next_entry += 1
    if task.next_entry >= end:
        task.copied = 1
        ledger.replacements.changes += 1
        broker = lists.bookies[ledger.bookies.start + task.target].broker
        tell(lists, ledger, COPIED, broker, task.first_entry, task.next_entry, task.cause)
    return True


@compiled
def choose_target(lists: Lists, inputs: Inputs, ledger: Ledger, task: Replacement, fragment: int) -> None:
    """Another bookie by the policy, nobody who comes into the fragment anyway; it has to get everything."""
    before, task.target = task.target, NOBODY
    place = choose(
        lists, inputs, ledger, lists.ensembles, fragment, MAX_ENSEMBLE, task.index, 0, NOBODY, NOBODY, task.first_entry
    )
    if place != NOBODY:
        task.target = slot_of(lists, inputs, ledger, place)
    task.next_entry = task.first_entry
    if task.target != before:
        ledger.replacements.changes += 1
