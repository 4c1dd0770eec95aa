"""Step 7, the auditor: whom it takes for lost is to be replaced in all fragments that he is in."""

from __future__ import annotations

from emulator.rounds.bookkeeper.bookies import bookie_at, is_registered_here
from emulator.rounds.bookkeeper.constants import (
    DECOMMISSIONED,
    NO_ENTRY,
    NO_FAULT,
    NOBODY,
    NOWHERE,
    UNDERREPLICATED,
    UNREGISTERED,
)
from emulator.rounds.bookkeeper.damage import is_member
from emulator.rounds.bookkeeper.fragments import fragment_at, fragment_end, index_in, is_growing
from emulator.rounds.bookkeeper.inputs import Inputs, Settings
from emulator.rounds.bookkeeper.quorums import last_of, next_share, share_of
from emulator.rounds.bookkeeper.records import Ledger, Lists, Replacement
from emulator.rounds.bookkeeper.stored import has_entry
from emulator.rounds.bookkeeper.tell import tell
from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.entries import move
from emulator.rounds.lists import append, every, keep_first


@compiled_into_callers
def audit(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """Who of an ensemble is missing, and was at the last audit, is to be replaced; who is back with all he had is not.

    When there are audits depends on all bookies of the cluster (inputs/ledger_arrays/audits.py).
    """
    settings = inputs.settings[ledger.settings]
    for slot in range(ledger.bookies.count):
        bookie = lists.bookies[ledger.bookies.start + slot]
        if is_registered_here(lists, ledger, slot):
            bookie.is_missed = 0
        elif is_member(lists, inputs, ledger, slot):
            bookie.is_missed = 1
    end_replacements(lists, settings, ledger)
    if not settings.autorecovery or not ledger.store_up:
        return
    previous = NOBODY
    while True:  # in the order of the bookies' ids
        slot = next_lost(lists, inputs, ledger, previous)
        if slot == NOBODY:
            return
        publish(lists, settings, ledger, slot)
        previous = lists.bookies[ledger.bookies.start + slot].place


@compiled_into_callers
def end_replacements(lists: Lists, settings: Settings, ledger: Ledger) -> None:
    """Nobody is replaced who is back with all he had, unless a worker has begun with the ledger: it goes on to the end.

    Source: ReplicationWorker.rereplicate, which looks for bad fragments once before it copies.
    """
    if has_begun(lists, ledger):
        return
    kept = ledger.replacements.start
    for at in every(ledger.replacements):
        task = lists.replacements[at]
        if not is_registered_here(lists, ledger, task.lost) or lacks_an_end(lists, settings, ledger, task):
            move(lists.replacements, at, kept)
            kept += 1
    keep_first(ledger.replacements, kept - ledger.replacements.start)


@compiled_into_callers
def has_begun(lists: Lists, ledger: Ledger) -> bool:
    """Whether somebody gets copies in place of a lost bookie."""
    begun = False
    for at in every(ledger.replacements):
        if lists.replacements[at].target != NOBODY:
            begun = True
    return begun


@compiled
def is_looked_at(lists: Lists, ledger: Ledger, task: Replacement) -> bool:
    """Whether a lost bookie is back in a fragment that grows, so that what it lacks of it may be another thing in every round."""
    grows = is_growing(ledger, fragment_at(lists, ledger, task.first_entry))
    return grows and is_registered_here(lists, ledger, task.lost) and not has_begun(lists, ledger)


@compiled
def lacks_an_end(lists: Lists, settings: Settings, ledger: Ledger, task: Replacement) -> bool:
    """Whether who is to be replaced lacks the first or the last entry of its share of the fragment.

    Source: LedgerChecker.verifyLedgerFragment, which reads these two.
    """
    fragment = fragment_at(lists, ledger, task.first_entry)
    if fragment == NOWHERE or lists.ensembles[fragment, task.index] != task.lost:
        return False
    end = ledger.lac + 1 if is_growing(ledger, fragment) else fragment_end(lists, ledger, fragment)
    first = next_share(settings, task.index, task.first_entry)
    if first >= end:
        return False
    last_entry = last_of(settings, share_of(settings, task.index), end)
    has_first = has_entry(lists, settings, ledger, task.lost, first)
    return not has_first or not has_entry(lists, settings, ledger, task.lost, last_entry)


@compiled
def next_lost(lists: Lists, inputs: Inputs, ledger: Ledger, behind: int) -> int:
    """The slot of the next bookie, by id, that is to be replaced; NOBODY if there is none."""
    found, place = NOBODY, 0
    for slot in range(ledger.bookies.count):
        bookie = lists.bookies[ledger.bookies.start + slot]
        if not bookie.is_missed or bookie.place <= behind:
            continue
        is_lost = bookie.status & DECOMMISSIONED or ledger.now >= inputs.bookie_spans[bookie.span].lost_round
        if is_lost and (found == NOBODY or bookie.place < place):
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
        task.next_entry = next_share(settings, index, first_entry)
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
