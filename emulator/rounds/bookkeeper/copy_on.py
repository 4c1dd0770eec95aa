"""Leaps over rounds in which a replication worker copies one batch after the other (step 7).

Each entry comes from the first bookie of its write set that has it, so from the same one as the entry E before: as long as these
have it, the target has it or not as before, and its size stays, the batches of many rounds are copied at once.
"""

from __future__ import annotations

from emulator.rounds.bookkeeper.bookies import bookie_at, is_heard
from emulator.rounds.bookkeeper.constants import FOREVER, NOBODY, NOWHERE
from emulator.rounds.bookkeeper.copy_entry import are_there, header_of_copies, source_of
from emulator.rounds.bookkeeper.fragments import fragment_at, fragment_end, is_growing
from emulator.rounds.bookkeeper.inputs import Inputs, Settings
from emulator.rounds.bookkeeper.quorums import holds, last_of, next_of, write_index
from emulator.rounds.bookkeeper.records import Ledger, Lists, Replacement
from emulator.rounds.bookkeeper.replace_lost import begin_of_stretch, fragment_to_repair, ids_of_stretch, may_join
from emulator.rounds.bookkeeper.sizes import NO_SIZE, bytes_of_entry, size_of
from emulator.rounds.bookkeeper.stored import end_of, has_entry, is_open, lacking_of_share, run_with
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
    due, worked_on = FOREVER, fragment_worked_on(lists, inputs, ledger)
    if worked_on == NOWHERE:
        return ledger.now
    for at in every(ledger.replacements):
        task = lists.replacements[at]
        if task.first_entry == worked_on and goes_on(lists, inputs, ledger, task):
            due = min(due, until_batches_change(lists, inputs, ledger, task))
    return due


@compiled
def until_batches_change(lists: Lists, inputs: Inputs, ledger: Ledger, task: Replacement) -> int:
    """The round in which what a replacement copies may come from elsewhere, or lie elsewhere."""
    settings = inputs.settings[ledger.settings]
    if settings.ensemble_size - settings.write_quorum >= settings.batch_entries:
        return ledger.now  # stretches without any of the share are passed over
    lacking = lacking_of_share(lists, settings, ledger, task.target, task.index, task.next_entry)
    if go_on(lists, settings, ledger, task, lacking, task.next_entry) != lacking:
        return ledger.now  # a run begins
    end = alike_up_to(lists, inputs, ledger, task) - settings.ensemble_size  # what is lacking is seen by E entries
    return ledger.now + max(0, (end - task.next_entry) // settings.batch_entries)


@compiled
def fragment_worked_on(lists: Lists, inputs: Inputs, ledger: Ledger) -> int:
    """First entry of the fragment that the worker goes on with in the next round, NOWHERE: none is to be seen."""
    for at in every(ledger.replacements):
        if goes_on(lists, inputs, ledger, lists.replacements[at]):
            return lists.replacements[at].first_entry
    return NOWHERE


@compiled
def goes_on(lists: Lists, inputs: Inputs, ledger: Ledger, task: Replacement) -> bool:
    """Whether copies for a replacement that was begun can go on in the next round."""
    settings, fragment = inputs.settings[ledger.settings], fragment_to_repair(lists, ledger, task)
    if fragment == NOWHERE or is_growing(ledger, fragment) or task.target == NOBODY:
        return False
    if not may_join(lists, settings, ledger, task, fragment) or not is_heard(lists, ledger, task.target):
        return False
    first, stop = ids_of_stretch(settings, task, begin_of_stretch(settings, task), fragment_end(lists, ledger, fragment))
    return are_there(lists, settings, ledger, fragment, first, stop, task.target)


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
    """What so many rounds copy, which end before copies come from elsewhere."""
    worked_on = fragment_worked_on(lists, inputs, ledger)
    for at in every(ledger.replacements):
        task = lists.replacements[at]
        if worked_on != NOWHERE and task.first_entry == worked_on and goes_on(lists, inputs, ledger, task):
            copy_batches(lists, inputs, ledger, task, rounds)


@compiled
def copy_batches(lists: Lists, inputs: Inputs, ledger: Ledger, task: Replacement, rounds: int) -> None:
    """What so many rounds copy for one replacement: of each of E entries in a row every E-th that no stretch leaves out."""
    settings, begin = inputs.settings[ledger.settings], task.next_entry
    fragment, bookie = fragment_at(lists, ledger, task.first_entry), bookie_at(lists, ledger, task.target)
    end = begin + rounds * settings.batch_entries
    size_bytes = bytes_of_entry(inputs, ledger, begin)
    lacking = lacking_of_share(lists, settings, ledger, task.target, task.index, begin)
    for entry in range(begin, begin + settings.ensemble_size):
        copies = (end - entry + settings.ensemble_size - 1) // settings.ensemble_size
        copies -= left_out(settings, task, entry, rounds)
        source = source_of(lists, settings, ledger, fragment, entry, task.target)
        note_sent(lists, ledger, source, task.target, copies * size_bytes)
        ledger.entries_copied += copies
        if holds(settings, task.index, entry):
            bookie.bytes_in += copies * size_bytes if has(lacking, entry % settings.ensemble_size) else 0
        elif not has_entry(lists, settings, ledger, task.target, entry):
            bookie.bytes_in += copies * size_bytes
            bookie.entries_beside += copies
            bookie.bytes_beside += copies * size_bytes
    go_on(lists, settings, ledger, task, lacking, end)
    task.next_entry = end


@compiled
def left_out(settings: Settings, task: Replacement, entry: int, rounds: int) -> int:
    """How often an entry, or the one E behind it and so on, lies at an end of the next stretches where none of the share does."""
    count = 0
    for number in range(min(rounds, settings.ensemble_size)):  # every E-th stretch is like this one
        begin = task.next_entry + number * settings.batch_entries
        first, stop = ids_of_stretch(settings, task, begin, FOREVER)
        left = 0
        for near in range(begin, first):
            left += (near - entry) % settings.ensemble_size == 0
        for near in range(stop, begin + settings.batch_entries):
            left += (near - entry) % settings.ensemble_size == 0
        count += left * ((rounds - number + settings.ensemble_size - 1) // settings.ensemble_size)
    return count


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
