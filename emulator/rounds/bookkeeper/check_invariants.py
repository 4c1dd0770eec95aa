"""Looks at a ledger's invariants at the end of a round; each violation is told when it begins.

What bookies lost to a fault (Ledger.impaired) is no fault of the protocol.
"""

from __future__ import annotations

from emulator.rounds.bookkeeper.constants import CLOSED, DONE, MAX_ENSEMBLE, NO_ENTRY, NO_LAC, OPEN, WRITER, WRITING
from emulator.rounds.bookkeeper.fragments import copy_ensemble, fragment_of, own_ensemble, same_ensemble
from emulator.rounds.bookkeeper.inputs import Inputs, Settings
from emulator.rounds.bookkeeper.invariants import (
    ALL_ACKED_ARE_READABLE,
    IN_ORDER,
    LAC_COVERS_ACKED,
    NAMES,
    NO_DIVERGENCE,
    RECOVERY_ENDS,
    VALID_FRAGMENTS,
)
from emulator.rounds.bookkeeper.lost_entries import next_edge
from emulator.rounds.bookkeeper.quorums import write_index
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.recover import is_running
from emulator.rounds.bookkeeper.stored import has_entry
from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.lists import append, every, last


@compiled_into_callers
def check_invariants(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """Compare with the round before: what is broken now and was not then is a violation."""
    settings = inputs.settings[ledger.settings]
    note_what_was_written(lists, settings, ledger)
    suspects_from = max(0, min(ledger.suspects_from, ledger.lac_before + 1))
    unreadable, missing = NO_ENTRY, NO_ENTRY
    if not ledger.impaired:
        unreadable = first_without_holder(lists, settings, ledger, suspects_from, ledger.lac + 1)
        if ledger.ends_otherwise and ledger.state == CLOSED:
            missing = first_without_holder(lists, settings, ledger, 0, ledger.last_entry + 1)
    is_closed = ledger.state == CLOSED
    behind_the_end = is_closed and ledger.lac > ledger.last_entry
    broken = 0
    if behind_the_end or unreadable != NO_ENTRY:
        broken |= 1 << ALL_ACKED_ARE_READABLE
    if not has_valid_fragments(lists, settings, ledger):
        broken |= 1 << VALID_FRAGMENTS
    if is_closed and (missing != NO_ENTRY or ledger.last_entry >= ledger.next_entry):
        broken |= 1 << IN_ORDER
    if behind_the_end or diverges(lists, settings, ledger):
        broken |= 1 << NO_DIVERGENCE
    if is_closed and ledger.closed_by >= 0:
        written = lists.recoveries[ledger.recoveries.start + ledger.closed_by].written
        if max(ledger.lac, written) > ledger.last_entry:
            broken |= 1 << LAC_COVERS_ACKED
    for invariant in range(len(NAMES)):
        if broken & ~ledger.broken & (1 << invariant):
            entry = unreadable if unreadable != NO_ENTRY else missing
            witness(lists, ledger, invariant, entry)
    ledger.broken = broken


@compiled_into_callers
def note_what_was_written(lists: Lists, settings: Settings, ledger: Ledger) -> None:
    """How far Qa bookies have the entries when a recovery is done fencing: it may not end below."""
    for at in every(ledger.recoveries):
        recovery = lists.recoveries[at]
        if recovery.fenced_round != ledger.now:
            continue
        recovery.written = recovery.base_lac
        while holders(lists, settings, ledger, recovery.written + 1) >= settings.ack_quorum:
            recovery.written += 1


@compiled
def holders(lists: Lists, settings: Settings, ledger: Ledger, entry: int) -> int:
    """How many bookies of an entry's write set have it, whether or not they are heard."""
    fragment = fragment_of(lists, ledger, entry)
    count = 0
    for place in range(settings.write_quorum):
        if has_entry(lists, settings, ledger, lists.ensembles[fragment, write_index(settings, entry, place)], entry):
            count += 1
    return count


@compiled
def first_without_holder(lists: Lists, settings: Settings, ledger: Ledger, from_entry: int, to_entry: int) -> int:
    """The first entry in a range that no bookie of its write set has, NO_ENTRY if there is none.

    Between two places at which it may change who has what, every E-th entry is on the same bookies: E of them are looked at.
    """
    entry = from_entry
    while entry < to_entry:
        edge = next_edge(lists, ledger, entry, to_entry)
        for near in range(entry, min(entry + settings.ensemble_size, edge)):
            if holders(lists, settings, ledger, near) == 0:
                return near
        entry = edge
    return NO_ENTRY


@compiled_into_callers
def has_valid_fragments(lists: Lists, settings: Settings, ledger: Ledger) -> bool:
    """Whether fragments start at 0 and then ever higher, at most one above the last entry, each with E bookies."""
    size, before = settings.ensemble_size, NO_LAC
    for at in every(ledger.fragments):
        first = lists.fragments[at].first_entry
        if first <= before or (before == NO_LAC and first != 0):
            return False
        before = first
        for index in range(size):
            for other in range(index):
                if lists.ensembles[at, index] == lists.ensembles[at, other]:
                    return False
    return ledger.state != CLOSED or before <= ledger.last_entry + 1


@compiled_into_callers
def diverges(lists: Lists, settings: Settings, ledger: Ledger) -> bool:
    """Whether a client thinks otherwise of the ledger than the metadata: of its end, or of the ensemble that it writes to."""
    size, fragment = settings.ensemble_size, last(ledger.fragments)
    is_settled = ledger.state == OPEN and ledger.writer == WRITING and not ledger.changing
    if is_settled and not same_ensemble(lists.own, own_ensemble(ledger, WRITER), lists.ensembles, fragment, size):
        return True
    for number in range(ledger.recoveries.count):
        recovery = lists.recoveries[ledger.recoveries.start + number]
        if recovery.phase == DONE and recovery.lac != ledger.last_entry:
            return True
        has_closed = recovery.closed_round == ledger.now
        if has_closed and not same_ensemble(lists.own, own_ensemble(ledger, number), lists.ensembles, fragment, size):
            return True
    return False


@compiled
def check_end(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """At the run's end: a ledger that is to be recovered is closed, if nothing happened for long enough."""
    if ledger.state == CLOSED:
        return
    settings = inputs.settings[ledger.settings]
    quiet_from, entries, somebody_recovers = inputs.scenarios[ledger.scenario].quiet_from, ledger.next_entry, False
    for at in every(ledger.recoveries):
        recovery = lists.recoveries[at]
        quiet_from = max(quiet_from, recovery.started_round)
        entries = max(entries, recovery.lac + 1)
        if recovery.retry and is_running(recovery):
            somebody_recovers = True
    enough = settings.add_timeout_rounds + settings.read_timeout_rounds + 2 * entries + 8
    if somebody_recovers and quiet_from + enough < ledger.now:
        ledger.now -= 1  # it is seen in the last round
        witness(lists, ledger, RECOVERY_ENDS, NO_ENTRY)
        ledger.now += 1


@compiled
def witness(lists: Lists, ledger: Ledger, invariant: int, entry: int) -> None:
    """Write down a violation with the state that shows it: the writer's ensemble, then the fragments."""
    spans = lists.filled[0]
    violation = lists.violations[append(spans.violations)]
    violation.ledger = ledger.place
    violation.in_list = ledger.in_list
    violation.at_round = ledger.now
    violation.invariant = invariant
    violation.entry = entry
    violation.lac = ledger.lac
    violation.last_entry = ledger.last_entry
    violation.fragments = ledger.fragments.count
    row = append(spans.witness)
    lists.witness[row].first_entry = NO_ENTRY
    copy_ensemble(lists.own, own_ensemble(ledger, WRITER), lists.witness_ensembles, row)
    name_bookies(lists, ledger, row)
    for at in every(ledger.fragments):
        row = append(spans.witness)
        lists.witness[row].first_entry = lists.fragments[at].first_entry
        copy_ensemble(lists.ensembles, at, lists.witness_ensembles, row)
        name_bookies(lists, ledger, row)


@compiled
def name_bookies(lists: Lists, ledger: Ledger, row: int) -> None:
    """Broker ids in place of slots."""
    for index in range(MAX_ENSEMBLE):
        slot = lists.witness_ensembles[row, index]
        if 0 <= slot < ledger.bookies.count:
            lists.witness_ensembles[row, index] = lists.bookies[ledger.bookies.start + slot].broker
