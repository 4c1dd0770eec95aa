"""Acknowledged entries that are lost: when, to what, and how many they are (docs/bookkeeper_rounds.md, Losses)."""

from __future__ import annotations

from emulator.rounds.bookkeeper.bookies import bookie_at, is_heard
from emulator.rounds.bookkeeper.constants import CLOSED, NO_ENTRY, NOBODY
from emulator.rounds.bookkeeper.fragments import fragment_of
from emulator.rounds.bookkeeper.inputs import Settings
from emulator.rounds.bookkeeper.quorums import write_index
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.stored import end_of, has_entry, is_open
from emulator.rounds.bookkeeper.tell import tell_lost
from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.lists import every
from emulator.rounds.slots import has

ALL_RESIDUES = -1
"""The mask of all entries."""


@compiled
def acked_end(ledger: Ledger) -> int:
    """The end of the acknowledged entries that are within the ledger."""
    return min(ledger.lac, ledger.last_entry) + 1 if ledger.state == CLOSED else ledger.lac + 1


@compiled
def next_edge(lists: Lists, ledger: Ledger, entry: int, end: int) -> int:
    """The first entry behind one at which a fragment or what some bookie has begins or ends.

    Between two such places every E-th entry is on the same bookies.
    """
    edge = end
    for at in every(ledger.fragments):
        first = lists.fragments[at].first_entry
        if entry < first < edge:
            edge = first
    for at in every(ledger.stored):
        first, run_end = lists.stored[at].from_entry, end_of(lists, ledger, at)
        if entry < first < edge:
            edge = first
        if entry < run_end < edge:
            edge = run_end
    return edge


@compiled
def every_eth(entry: int, end: int, size: int) -> int:
    """How many are every E-th entry from one on, below an end."""
    return (end - entry - 1) // size + 1


@compiled
def others_have(lists: Lists, settings: Settings, ledger: Ledger, slot: int, entry: int) -> bool:
    """Whether a bookie has an entry, whoever it is, but for one."""
    for at in every(ledger.stored):
        run = lists.stored[at]
        if run.bookie == slot or entry < run.from_entry or not has(run.residues, entry % settings.ensemble_size):
            continue
        if entry < end_of(lists, ledger, at):
            return True
    return False


@compiled
def without_others(
    lists: Lists, settings: Settings, ledger: Ledger, slot: int, residues: int, from_entry: int, to_entry: int
) -> tuple[int, int, int]:
    """Entries of a range that nobody has but one bookie, perhaps: (the first, the end, how many).

    `slot`: NOBODY: entries that nobody has at all. `residues`: only entries that have one of these mod E.
    """
    size = settings.ensemble_size
    first, end, count = NO_ENTRY, NO_ENTRY, 0
    entry = from_entry
    while entry < to_entry:
        edge = next_edge(lists, ledger, entry, to_entry)
        for near in range(entry, min(entry + size, edge)):
            if not has(residues, near % size):
                continue
            if others_have(lists, settings, ledger, slot, near):
                continue
            alike = every_eth(near, edge, size)
            first = near if first == NO_ENTRY else min(first, near)
            end = max(end, near + (alike - 1) * size + 1)
            count += alike
        entry = edge
    return first, end, count


@compiled
def tell_last_copies(lists: Lists, settings: Settings, ledger: Ledger, slot: int, with_flushed: bool) -> None:
    """A bookie is about to lose what wasn't flushed, or all: what of it was acknowledged and nobody else has is lost."""
    bookie = bookie_at(lists, ledger, slot)
    first, end, count = NO_ENTRY, NO_ENTRY, 0
    for at in every(ledger.stored):
        run = lists.stored[at]
        if run.bookie != slot:
            continue
        flushed_to = bookie.flushed_to if is_open(lists, ledger, at) else run.flushed_to
        lost_from = run.from_entry if with_flushed else max(run.from_entry, flushed_to)
        lost_to = min(end_of(lists, ledger, at), acked_end(ledger))
        own_first, own_end, own = without_others(lists, settings, ledger, slot, run.residues, lost_from, lost_to)
        if own > 0:
            first = own_first if first == NO_ENTRY else min(first, own_first)
            end = max(end, own_end)
            count += own
    if count > 0 and not ledger.offloaded:
        tell_lost(lists, ledger, bookie.broker, first, end, count, bookie.cause)


@compiled
def cause_behind_end(ledger: Ledger) -> int:
    """The fault for which a ledger ends too early: that took entries of it or a fence, last; else the one behind its close."""
    return ledger.impaired_cause if ledger.impaired else ledger.close_cause


@compiled
def tell_behind_end(lists: Lists, settings: Settings, ledger: Ledger) -> None:
    """The ledger was just closed: acknowledged entries behind its end are lost, if they weren't before."""
    from_entry, to_entry = ledger.last_entry + 1, ledger.lac + 1
    if from_entry >= to_entry:
        return
    _, _, gone = without_others(lists, settings, ledger, NOBODY, ALL_RESIDUES, from_entry, to_entry)
    if gone < to_entry - from_entry:
        tell_lost(lists, ledger, NOBODY, from_entry, to_entry, to_entry - from_entry - gone, cause_behind_end(ledger))


@compiled_into_callers
def tell_lost_when_acknowledged(lists: Lists, settings: Settings, ledger: Ledger, lac_before: int) -> None:
    """Entries were just acknowledged that are behind the end of a closed ledger, or that nobody has any more."""
    if ledger.impaired:
        first, end, count = without_others(lists, settings, ledger, NOBODY, ALL_RESIDUES, lac_before + 1, acked_end(ledger))
        if count > 0:
            tell_lost(lists, ledger, NOBODY, first, end, count, ledger.impaired_cause)
    behind = max(lac_before + 1, acked_end(ledger))
    if behind <= ledger.lac:
        tell_lost(lists, ledger, NOBODY, behind, ledger.lac + 1, ledger.lac + 1 - behind, cause_behind_end(ledger))


@compiled
def count_losses(lists: Lists, settings: Settings, ledger: Ledger) -> None:
    """At the run's end: acknowledged entries that are lost, that can't be read now, that have too few copies to be read."""
    size, end = settings.ensemble_size, acked_end(ledger)
    ledger.acked_lost = ledger.lac + 1 - end
    ledger.acked_unreadable = 0
    ledger.acked_under_replicated = 0
    entry = end if ledger.offloaded else 0
    while entry < end:
        edge = next_edge(lists, ledger, entry, end)
        for near in range(entry, min(entry + size, edge)):
            copies, alike = readable_copies(lists, settings, ledger, near), every_eth(near, edge, size)
            if copies > 0:
                ledger.acked_under_replicated += alike if copies < settings.write_quorum else 0
            elif others_have(lists, settings, ledger, NOBODY, near):
                ledger.acked_unreadable += alike
            else:
                ledger.acked_lost += alike
        entry = edge


@compiled
def readable_copies(lists: Lists, settings: Settings, ledger: Ledger, entry: int) -> int:
    """How many bookies of an entry's write set have it and are heard."""
    fragment = fragment_of(lists, ledger, entry)
    count = 0
    for place in range(settings.write_quorum):
        slot = lists.ensembles[fragment, write_index(settings, entry, place)]
        if is_heard(lists, ledger, slot) and has_entry(lists, settings, ledger, slot, entry):
            count += 1
    return count
