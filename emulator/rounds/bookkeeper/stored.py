"""What bookies have: entries as runs of an index's share, each with where its headers come from."""

from __future__ import annotations

from emulator.rounds.bookkeeper.bookies import bookie_at
from emulator.rounds.bookkeeper.constants import NO_ENTRY, NO_LAC, NOWHERE, OF_THE_WRITER
from emulator.rounds.bookkeeper.inputs import Inputs, Settings
from emulator.rounds.bookkeeper.quorums import holds, last_of, next_of, next_share, share_of
from emulator.rounds.bookkeeper.records import Bookie, Ledger, Lists
from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.entries import move
from emulator.rounds.lists import append, every, keep_first, last
from emulator.rounds.slots import has


@compiled_into_callers
def is_open(lists: Lists, ledger: Ledger, at: int) -> bool:
    """Whether a run is the one that its bookie's next entry goes on with."""
    open_run = bookie_at(lists, ledger, lists.stored[at].bookie).open_run
    return open_run != NOWHERE and ledger.stored.start + open_run == at


@compiled_into_callers
def end_of(lists: Lists, ledger: Ledger, at: int) -> int:
    """The end of a run."""
    run = lists.stored[at]
    return bookie_at(lists, ledger, run.bookie).has_to if is_open(lists, ledger, at) else run.to_entry


@compiled_into_callers
def run_with(lists: Lists, settings: Settings, ledger: Ledger, slot: int, entry: int) -> int:
    """Where a bookie's run is that has an entry, NOWHERE if it hasn't got the entry."""
    for at in every(ledger.stored):
        run = lists.stored[at]
        if run.bookie != slot or entry < run.from_entry or not has(run.residues, entry % settings.ensemble_size):
            continue
        if entry < end_of(lists, ledger, at):
            return at
    return NOWHERE


@compiled
def has_entry(lists: Lists, settings: Settings, ledger: Ledger, slot: int, entry: int) -> bool:
    """Whether a bookie has an entry."""
    return run_with(lists, settings, ledger, slot, entry) != NOWHERE


@compiled_into_callers
def store(lists: Lists, settings: Settings, ledger: Ledger, slot: int, index: int, entry: int, header: int) -> None:
    """Take an entry as that of an index. What the bookie has already it keeps, header and all."""
    if has_entry(lists, settings, ledger, slot, entry):
        return
    bookie = bookie_at(lists, ledger, slot)
    if bookie.open_run != NOWHERE:
        run = lists.stored[ledger.stored.start + bookie.open_run]
        if run.index == index and run.header == header and next_share(settings, index, bookie.has_to) == entry:
            bookie.has_to = entry + 1
            return
    is_newest = bookie.open_run == NOWHERE or entry >= bookie.has_to
    if is_newest:
        close_run(lists, ledger, bookie)
    found = run_before(lists, settings, ledger, slot, share_of(settings, index), entry, header)
    if found == NOWHERE:
        found = begin_run(lists, ledger, slot, index, share_of(settings, index), entry, header)
    else:
        ledger.stored.changes += 1
    lists.stored[found].to_entry = entry + 1
    if is_newest:
        bookie.open_run = found - ledger.stored.start
        bookie.has_to = entry + 1
        bookie.flushed_to = lists.stored[found].flushed_to


@compiled
def begin_run(lists: Lists, ledger: Ledger, slot: int, index: int, residues: int, entry: int, header: int) -> int:
    """A new run that begins with an entry; its end is still to be set. Returns where it is."""
    at = append(ledger.stored)
    run = lists.stored[at]
    run.bookie = slot
    run.index = index
    run.residues = residues
    run.header = header
    run.from_entry = entry
    run.flushed_to = entry
    return at


@compiled
def store_copy(lists: Lists, settings: Settings, ledger: Ledger, slot: int, index: int, entry: int, header: int) -> None:
    """Take a copy of an entry that the bookie hasn't got, beside its open run: of an index's share it may have others already."""
    found = run_with_copies(lists, settings, ledger, slot, entry, header)
    if found == NOWHERE:
        lacking = lacking_of_share(lists, settings, ledger, slot, index, entry)
        found = begin_run(lists, ledger, slot, index, lacking, entry, header)
    lists.stored[found].to_entry = entry + 1


@compiled
def lacking_of_share(lists: Lists, settings: Settings, ledger: Ledger, slot: int, index: int, entry: int) -> int:
    """What of an index's share a bookie lacks among E entries from one on, as a mask of entries mod E."""
    mask = 0
    for near in range(entry, entry + settings.ensemble_size):
        if holds(settings, index, near) and not has_entry(lists, settings, ledger, slot, near):
            mask |= 1 << near % settings.ensemble_size
    return mask


@compiled
def run_with_copies(lists: Lists, settings: Settings, ledger: Ledger, slot: int, entry: int, header: int) -> int:
    """Where the last run is that a copy of an entry goes on with, NOWHERE if there is none."""
    for at in range(last(ledger.stored), ledger.stored.start - 1, -1):
        run = lists.stored[at]
        if run.bookie != slot or run.header != header or run.to_entry > entry or is_open(lists, ledger, at):
            continue
        if has(run.residues, entry % settings.ensemble_size) and next_of(settings, run.residues, run.to_entry) == entry:
            return at
    return NOWHERE


@compiled
def run_before(lists: Lists, settings: Settings, ledger: Ledger, slot: int, residues: int, entry: int, header: int) -> int:
    """Where a run of the same share is that an entry goes on with, the open one aside; NOWHERE if there is none."""
    for at in every(ledger.stored):
        run = lists.stored[at]
        if run.bookie != slot or run.residues != residues or run.header != header or is_open(lists, ledger, at):
            continue
        if run.to_entry <= entry and next_of(settings, residues, run.to_entry) == entry:
            return at
    return NOWHERE


@compiled
def close_run(lists: Lists, ledger: Ledger, bookie: Bookie) -> None:
    """A bookie's open run is like any other from now on."""
    if bookie.open_run == NOWHERE:
        return
    run = lists.stored[ledger.stored.start + bookie.open_run]
    run.to_entry = bookie.has_to
    run.flushed_to = bookie.flushed_to
    ledger.stored.changes += 1
    bookie.open_run = NOWHERE


@compiled_into_callers
def pass_over_others(lists: Lists, settings: Settings, ledger: Ledger) -> None:
    """Bookies that have their share of all that was sent have it up to there: so the ends of open runs move alike."""
    for at in every(ledger.bookies):
        bookie = lists.bookies[at]
        if bookie.open_run != NOWHERE and bookie.has_to < ledger.next_entry:
            index = lists.stored[ledger.stored.start + bookie.open_run].index
            bookie.has_to = min(ledger.next_entry, next_share(settings, index, bookie.has_to))


@compiled
def header_of(lists: Lists, ledger: Ledger, at: int, entry: int) -> int:
    """The LAC in the header of an entry of a run."""
    header = lists.stored[at].header
    return sent_header(lists, ledger, entry) if header == OF_THE_WRITER else header


@compiled
def sent_header(lists: Lists, ledger: Ledger, entry: int) -> int:
    """The LAC that the writer sent an entry with."""
    found = ledger.headers.start
    for at in range(last(ledger.headers), ledger.headers.start - 1, -1):
        if lists.headers[at].from_entry <= entry:
            found = at
            break
    header = lists.headers[found]
    return header.lac + (entry - header.from_entry) // header.step * header.step


@compiled_into_callers
def note_header(lists: Lists, ledger: Ledger, lac: int, count: int) -> None:
    """The writer sends so many entries, from its next one on, with a LAC."""
    if ledger.headers.count > 0:
        header = lists.headers[last(ledger.headers)]
        sent = ledger.next_entry - header.from_entry
        if header.step == count and sent % count == 0 and header.lac + sent == lac:
            return
    header = lists.headers[append(ledger.headers)]
    header.from_entry = ledger.next_entry
    header.lac = lac
    header.step = count


@compiled
def last_run(lists: Lists, settings: Settings, ledger: Ledger, slot: int) -> int:
    """Where the run is that has a bookie's largest entry, NOWHERE if it has none."""
    found, entry = NOWHERE, NO_ENTRY
    for at in every(ledger.stored):
        run = lists.stored[at]
        if run.bookie == slot:
            own = last_of(settings, run.residues, end_of(lists, ledger, at))
            if own > entry:
                found, entry = at, own
    return found


@compiled
def last_stored(lists: Lists, settings: Settings, ledger: Ledger, slot: int) -> int:
    """The largest entry that a bookie has, whatever is missing below; NO_ENTRY: it has none."""
    at = last_run(lists, settings, ledger, slot)
    return NO_ENTRY if at == NOWHERE else last_of(settings, lists.stored[at].residues, end_of(lists, ledger, at))


@compiled
def lac_of(lists: Lists, settings: Settings, ledger: Ledger, slot: int) -> int:
    """What a bookie knows to be confirmed: the header of its last entry, or an explicit LAC above that."""
    return max(bookie_at(lists, ledger, slot).explicit_lac, lac_of_last_entry(lists, settings, ledger, slot))


@compiled
def lac_of_last_entry(lists: Lists, settings: Settings, ledger: Ledger, slot: int) -> int:
    """The LAC in the header of a bookie's last entry, NO_LAC: it has none."""
    at = last_run(lists, settings, ledger, slot)
    if at == NOWHERE:
        return NO_LAC
    return header_of(lists, ledger, at, last_stored(lists, settings, ledger, slot))


@compiled
def flush(lists: Lists, ledger: Ledger, slot: int) -> None:
    """All that a bookie has now survives without a journal, too."""
    bookie = bookie_at(lists, ledger, slot)
    bookie.flushed_fence = bookie.fenced
    bookie.flushed_to = bookie.has_to
    for at in every(ledger.stored):
        run = lists.stored[at]
        if run.bookie == slot and run.flushed_to != run.to_entry:
            run.flushed_to = run.to_entry
            ledger.stored.changes += 1


@compiled
def lose(lists: Lists, inputs: Inputs, ledger: Ledger, slot: int, with_flushed: bool) -> tuple[int, int]:
    """Entries that weren't flushed are gone, or all of them. Returns the first and the end of what is gone, NO_ENTRY: nothing."""
    settings = inputs.settings[ledger.settings]
    close_run(lists, ledger, bookie_at(lists, ledger, slot))
    first, end = NO_ENTRY, NO_ENTRY
    kept = ledger.stored.start
    for at in every(ledger.stored):
        run = lists.stored[at]
        if run.bookie == slot:
            end_kept = run.from_entry if with_flushed else max(run.from_entry, min(run.flushed_to, run.to_entry))
            lost_from, lost_last = next_of(settings, run.residues, end_kept), last_of(settings, run.residues, run.to_entry)
            if lost_from <= lost_last:
                first = lost_from if first == NO_ENTRY else min(first, lost_from)
                end = max(end, lost_last + 1)
                ledger.stored.changes += 1
            run.to_entry = end_kept
            if end_kept <= run.from_entry:
                continue
        renumber(lists, ledger, at, kept)
        move(lists.stored, at, kept)
        kept += 1
    keep_first(ledger.stored, kept - ledger.stored.start)
    return first, end


@compiled
def renumber(lists: Lists, ledger: Ledger, at: int, to: int) -> None:
    """A run is about to stand somewhere else."""
    bookie = bookie_at(lists, ledger, lists.stored[at].bookie)
    if bookie.open_run == at - ledger.stored.start:
        bookie.open_run = to - ledger.stored.start
