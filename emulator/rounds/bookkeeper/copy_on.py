"""Leaps over rounds in which a replication worker copies one batch after the other (step 7).

Each entry comes from the first bookie of its write set that has it, so from the same one as the entry E before: as long as these
have it, the target has it or not as before, and its size stays, all of a stretch is copied at once.
"""

from __future__ import annotations

from emulator.rounds.bookkeeper.bookies import bookie_at, is_heard, is_registered_here
from emulator.rounds.bookkeeper.constants import CLOSED, FOREVER, NOBODY, NOWHERE
from emulator.rounds.bookkeeper.copy_entry import header_of_copies, source_of
from emulator.rounds.bookkeeper.fragments import fragment_at, fragment_end, index_in
from emulator.rounds.bookkeeper.inputs import Inputs, Settings
from emulator.rounds.bookkeeper.quorums import count_below, holds, last_of, next_of, next_share, share_of, write_index
from emulator.rounds.bookkeeper.records import Ledger, Lists, Replacement
from emulator.rounds.bookkeeper.replace_lost import fragment_to_repair
from emulator.rounds.bookkeeper.sizes import NO_SIZE, bytes_of_entry, size_of
from emulator.rounds.bookkeeper.stored import end_of, is_open, lacking_of_share, run_with
from emulator.rounds.bookkeeper.traffic import note_sent
from emulator.rounds.compiled import compiled
from emulator.rounds.lists import every, last
from emulator.rounds.slots import has


@compiled
def until_copies_change(lists: Lists, inputs: Inputs, ledger: Ledger) -> int:
    """The round in which copies may come from elsewhere, or end; this one, where bookies are filled."""
    for at in every(ledger.bookies):
        if lists.bookies[at].filling:
            return ledger.now
    place = worked_on(lists, inputs, ledger)
    if place == NOWHERE:
        return ledger.now
    settings, task = inputs.settings[ledger.settings], lists.replacements[place]
    lacking = lacking_of_share(lists, settings, ledger, task.target, task.index, task.next_entry)
    if go_on(lists, settings, ledger, task, lacking, task.next_entry) != lacking:
        return ledger.now  # a run begins
    end = alike_up_to(lists, inputs, ledger, task) - settings.ensemble_size  # what is lacking is seen by E entries
    share = share_of(settings, task.index)
    shares = count_below(settings, share, end) - count_below(settings, share, task.next_entry)
    return ledger.now + max(0, shares // settings.batch_entries)


@compiled
def worked_on(lists: Lists, inputs: Inputs, ledger: Ledger) -> int:
    """Where the replacement is that the next round goes on with (replace_lost.work_on), NOWHERE: none is to be seen."""
    settings = inputs.settings[ledger.settings]
    for at in every(ledger.replacements):
        task = lists.replacements[at]
        fragment = fragment_to_repair(lists, ledger, task)
        if fragment == NOWHERE:
            continue
        if ledger.state != CLOSED and fragment == last(ledger.fragments):
            continue
        if task.target == NOBODY or not is_registered_here(lists, ledger, task.target):
            continue
        is_member = index_in(lists.ensembles, fragment, settings.ensemble_size, task.target) != NOBODY
        if is_member or not is_heard(lists, ledger, task.target):
            continue
        entry = next_share(settings, task.index, task.next_entry)
        is_over = entry >= fragment_end(lists, ledger, fragment)
        if is_over or source_of(lists, settings, ledger, fragment, entry, task.target) != NOBODY:
            return at
    return NOWHERE


@compiled
def alike_up_to(lists: Lists, inputs: Inputs, ledger: Ledger, task: Replacement) -> int:
    """The end of the entries that are copied as the next E ones are: from the same bookies, in the same size."""
    settings, begin = inputs.settings[ledger.settings], task.next_entry
    fragment = fragment_at(lists, ledger, task.first_entry)
    end = min(fragment_end(lists, ledger, fragment), end_of_size(inputs, ledger, begin))
    for at in every(ledger.stored):
        run = lists.stored[at]
        if run.bookie == task.target and end_of(lists, ledger, at) > begin:
            end = min(end, run.from_entry if run.from_entry > begin else end_of(lists, ledger, at))
    for entry in range(begin, begin + settings.ensemble_size):
        if holds(settings, task.index, entry):
            end = min(end, end_of_source(lists, settings, ledger, fragment, entry, task.target))
    return end


@compiled
def end_of_source(lists: Lists, settings: Settings, ledger: Ledger, fragment: int, entry: int, target: int) -> int:
    """Up to where an entry, the one E behind it, and so on come from the same bookie; the entry, if it comes from none."""
    end = FOREVER
    for place in range(settings.write_quorum):
        slot = lists.ensembles[fragment, write_index(settings, entry, place)]
        if slot == target or not is_heard(lists, ledger, slot):
            continue
        run = run_with(lists, settings, ledger, slot, entry)
        if run != NOWHERE:
            return min(end, end_of(lists, ledger, run))
        for at in every(ledger.stored):  # who is asked before may have later ones
            if lists.stored[at].bookie == slot and lists.stored[at].from_entry > entry:
                end = min(end, lists.stored[at].from_entry)
    return entry


@compiled
def end_of_size(inputs: Inputs, ledger: Ledger, entry: int) -> int:
    """The end of the entries that have as many bytes as one."""
    if entry < ledger.first_own_entry:
        return ledger.first_own_entry
    at = size_of(inputs, ledger, entry)
    return entry if at == NO_SIZE else inputs.sizes[at].to_entry - ledger.first_message + ledger.first_own_entry


@compiled
def copy_on(lists: Lists, inputs: Inputs, ledger: Ledger, rounds: int) -> None:
    """What so many rounds copy, which end before copies come from elsewhere. `entries_copied` is a counter, and moves as such."""
    place = worked_on(lists, inputs, ledger)
    if place == NOWHERE:
        return
    settings, task = inputs.settings[ledger.settings], lists.replacements[place]
    fragment = fragment_at(lists, ledger, task.first_entry)
    begin = next_share(settings, task.index, task.next_entry)
    end = end_of_shares(settings, task.index, begin, rounds * settings.batch_entries)
    size_bytes = bytes_of_entry(inputs, ledger, begin)
    lacking = lacking_of_share(lists, settings, ledger, task.target, task.index, begin)
    for entry in range(begin, min(end, begin + settings.ensemble_size)):
        if holds(settings, task.index, entry):
            copies = (end - entry + settings.ensemble_size - 1) // settings.ensemble_size
            source = source_of(lists, settings, ledger, fragment, entry, task.target)
            note_sent(lists, ledger, source, task.target, copies * size_bytes)
            if has(lacking, entry % settings.ensemble_size):
                bookie_at(lists, ledger, task.target).bytes_in += copies * size_bytes
    go_on(lists, settings, ledger, task, lacking, end)
    task.next_entry = end


@compiled
def go_on(lists: Lists, settings: Settings, ledger: Ledger, task: Replacement, lacking: int, end: int) -> int:
    """Have the runs of copies of what is lacking, as a mask of entries mod E, go on up to an end.

    Returns what they go on with: of several runs the last one takes an entry (stored.run_with_copies).
    """
    found, header = 0, header_of_copies(lists, ledger)
    for at in range(last(ledger.stored), ledger.stored.start - 1, -1):
        run = lists.stored[at]
        if run.bookie != task.target or run.header != header or is_open(lists, ledger, at):
            continue
        if run.residues & (~lacking | found):
            continue
        first = next_of(settings, run.residues, task.next_entry)
        if run.to_entry > first or next_of(settings, run.residues, run.to_entry) != first:
            continue
        found |= run.residues
        if first < end:
            run.to_entry = last_of(settings, run.residues, end) + 1
    return found


@compiled
def end_of_shares(settings: Settings, index: int, begin: int, count: int) -> int:
    """Just behind so many entries that an index gets, from one of them on."""
    entry = begin + (count - 1) // settings.write_quorum * settings.ensemble_size
    for _ in range((count - 1) % settings.write_quorum):
        entry = next_share(settings, index, entry + 1)
    return entry + 1
