"""Clients that open the ledger with recovery: marking and closing it (step 2), writing entries back (step 3)."""

from __future__ import annotations

from emulator.rounds.bookkeeper.adds import forget_adds, pending, resend, send_add
from emulator.rounds.bookkeeper.client_records import Recovery
from emulator.rounds.bookkeeper.constants import (
    BY_COMMAND,
    CLOSE,
    CLOSED,
    DONE,
    FAILED,
    FENCE,
    FOREVER,
    IN_RECOVERY,
    LATER,
    LEDGER_CLOSED_EVENT,
    LEDGER_RECOVERY,
    MARK,
    NEVER,
    NO_ENTRY,
    NO_FAULT,
    NO_LAC,
    NOT_ENOUGH_BOOKIES,
    NOW,
    NOWHERE,
    OK,
    OPEN,
    PENDING,
    RECOVERY_STARTED,
    TIMEOUT,
    UNEXPECTED_CONDITION,
    WRITE,
)
from emulator.rounds.bookkeeper.failures import forget_failures, has_failures
from emulator.rounds.bookkeeper.fragments import copy_ensemble, own_ensemble, put_ensemble
from emulator.rounds.bookkeeper.inputs import Inputs, Rules, Settings
from emulator.rounds.bookkeeper.late_answers import forget_late_answers
from emulator.rounds.bookkeeper.lost_entries import tell_behind_end
from emulator.rounds.bookkeeper.placement import cause_of_change, replace
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.tell import tell_of_entries
from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.entries import move
from emulator.rounds.lists import append, every, keep_first, last


@compiled
def start_recovery(lists: Lists, ledger: Ledger, origin: int, retry: int, cause: int) -> None:
    """Another client opens the ledger with recovery, from the next step 2 on; not if it is about it already."""
    for at in every(ledger.recoveries):
        other = lists.recoveries[at]
        if other.origin == origin and origin != BY_COMMAND and is_running(other):
            return
    recovery = lists.recoveries[append(ledger.recoveries)]
    recovery.origin = origin
    recovery.retry = retry
    recovery.cause = cause
    recovery.started_round = ledger.now
    recovery.phase = MARK
    recovery.attempting = 0
    recovery.heard = 0
    recovery.asked_round = NEVER
    recovery.next_place = 0
    recovery.pause_ms = 0
    recovery.speculate_round = FOREVER
    recovery.said_no = 0
    recovery.read_error = OK
    recovery.marked_round = NEVER
    recovery.base_lac = NO_LAC
    recovery.lac = NO_LAC
    recovery.error = PENDING
    recovery.attempt_error = PENDING
    recovery.fenced_round = NEVER
    recovery.closed_round = NEVER
    recovery.written = NO_LAC
    row = append(ledger.own)
    copy_ensemble(lists.ensembles, last(ledger.fragments), lists.own, row)


@compiled
def is_running(recovery: Recovery) -> bool:
    """Whether a recovery is neither done nor has given up."""
    return recovery.phase not in (DONE, FAILED)


@compiled_into_callers
def recoveries_use_store(lists: Lists, inputs: Inputs, ledger: Ledger, rules: Rules) -> None:
    """Each recovery marks the ledger, or closes it, in the order of their start."""
    for number in range(ledger.recoveries.count):
        recovery = lists.recoveries[ledger.recoveries.start + number]
        if recovery.phase == MARK:
            mark(lists, ledger, recovery, number)
        elif recovery.phase == CLOSE:
            close(lists, inputs, ledger, recovery, number, rules)


@compiled
def mark(lists: Lists, ledger: Ledger, recovery: Recovery, number: int) -> None:
    """IN_RECOVERY; it notes the fragments as they are, by which it reads, and asks the last ensemble next."""
    if ledger.state == CLOSED:
        be_done(ledger, recovery)
        return
    if ledger.state == OPEN:
        ledger.state = IN_RECOVERY
        tell_of_entries(lists, ledger, RECOVERY_STARTED, NO_ENTRY, NO_ENTRY, recovery.cause)
    end_attempt(lists, ledger, recovery, number)
    recovery.phase = FENCE
    recovery.attempting = 1
    recovery.heard = 0
    recovery.marked_round = ledger.now
    recovery.base_lac = NO_LAC
    recovery.lac = NO_LAC
    for at in every(ledger.fragments):
        new = append(ledger.found)
        fragment = lists.found[new]
        fragment.client = number
        fragment.is_change = 0
        fragment.first_entry = lists.fragments[at].first_entry
        fragment.cause = NO_FAULT
        copy_ensemble(lists.ensembles, at, lists.found_ensembles, new)
    copy_ensemble(lists.ensembles, last(ledger.fragments), lists.own, own_ensemble(ledger, number))


@compiled
def close(lists: Lists, inputs: Inputs, ledger: Ledger, recovery: Recovery, number: int, rules: Rules) -> None:
    """Its ensemble changes, the last entry and CLOSED in one write. If somebody else closed the ledger, as that one says."""
    if ledger.state == CLOSED:
        be_done(ledger, recovery)
        return
    if rules.lac_floor and was_added_behind(lists, ledger, number):
        fail_attempt(lists, ledger, recovery, number, UNEXPECTED_CONDITION)
        return
    for at in every(ledger.found):
        change = lists.found[at]
        if change.client == number and change.is_change:
            put_ensemble(lists, inputs, ledger, change.first_entry, lists.found_ensembles, at, change.cause)
    close_ledger(lists, inputs.settings[ledger.settings], ledger, recovery.lac, number, recovery.cause)
    recovery.closed_round = ledger.now
    be_done(ledger, recovery)


@compiled
def close_ledger(lists: Lists, settings: Settings, ledger: Ledger, last_entry: int, client: int, cause: int) -> None:
    """CLOSED for good, by the writer or a recovery."""
    ledger.state = CLOSED
    ledger.last_entry = last_entry
    ledger.closed_by = client
    ledger.close_cause = cause
    ledger.ends_otherwise = 1
    tell_of_entries(lists, ledger, LEDGER_CLOSED_EVENT, NO_ENTRY, last_entry, cause)
    tell_behind_end(lists, settings, ledger)


@compiled
def was_added_behind(lists: Lists, ledger: Ledger, number: int) -> bool:
    """Whether the metadata's last fragment starts behind a change of the recovery's own: somebody else added it."""
    newest = lists.fragments[last(ledger.fragments)].first_entry
    for at in every(ledger.found):
        change = lists.found[at]
        if change.client == number and change.is_change and change.first_entry < newest:
            return True
    return False


@compiled
def be_done(ledger: Ledger, recovery: Recovery) -> None:
    """The ledger is closed; it ends where the metadata says."""
    recovery.phase = DONE
    recovery.lac = ledger.last_entry
    recovery.error = OK
    ledger.error = OK


@compiled
def fail_attempt(lists: Lists, ledger: Ledger, recovery: Recovery, number: int, error: int) -> None:
    """The attempt fails, and its ensemble changes are forgotten; it marks the ledger anew in the next round, or has failed.

    But for a time-out the client is told LedgerRecoveryException, whatever it was (LedgerOpenOp).
    """
    end_attempt(lists, ledger, recovery, number)
    recovery.error = TIMEOUT if error == TIMEOUT else LEDGER_RECOVERY
    recovery.attempt_error = error
    recovery.phase = MARK if recovery.retry else FAILED
    if not recovery.retry:
        ledger.error = recovery.error


@compiled
def end_attempt(lists: Lists, ledger: Ledger, recovery: Recovery, number: int) -> None:
    """What an attempt knew and had in flight is nobody's any more."""
    recovery.attempting = 0
    wait_for_nobody(lists, ledger, recovery, number)
    forget_adds(lists, ledger, number)
    forget_failures(lists, ledger, number, NOW)
    forget_failures(lists, ledger, number, LATER)
    kept = ledger.found.start
    for at in every(ledger.found):
        if lists.found[at].client != number:
            move(lists.found, at, kept)
            if at != kept:
                copy_ensemble(lists.found_ensembles, at, lists.found_ensembles, kept)
            kept += 1
    keep_first(ledger.found, kept - ledger.found.start)


@compiled
def wait_for_nobody(lists: Lists, ledger: Ledger, recovery: Recovery, number: int) -> None:
    """A question is settled: answers to it that are still on their way count for nothing."""
    recovery.asked_round = NEVER
    recovery.said_no = 0
    forget_late_answers(lists, ledger, number)


@compiled_into_callers
def send_of_recoveries(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """Each that found an entry writes it back; bookies that failed an entry before are replaced first."""
    for number in range(ledger.recoveries.count):
        recovery = lists.recoveries[ledger.recoveries.start + number]
        if recovery.phase != WRITE or pending(lists, ledger, number) > 0:
            continue
        if has_failures(lists, ledger, number, LATER):
            replace_failed(lists, inputs, ledger, recovery, number, LATER, ledger.now)
        if recovery.phase == WRITE:
            send_add(lists, inputs, ledger, number, recovery.lac + 1, recovery.base_lac)


@compiled
def replace_failed(
    lists: Lists, inputs: Inputs, ledger: Ledger, recovery: Recovery, number: int, when: int, sent_round: int
) -> None:
    """A recovery replaces bookies of its own writes from its entry on; nobody else learns of it before it closes the ledger."""
    row = own_ensemble(ledger, number)
    before = append(ledger.own)
    copy_ensemble(lists.own, row, lists.own, before)
    cause = cause_of_change(lists, inputs, ledger, lists.own, row, number, when)
    is_other, is_enough = replace(lists, inputs, ledger, lists.own, row, number, when)
    forget_failures(lists, ledger, number, when)
    replaced = 0
    for index in range(inputs.settings[ledger.settings].ensemble_size):
        if lists.own[row, index] != lists.own[before, index]:
            replaced |= 1 << index
    keep_first(ledger.own, ledger.own.count - 1)
    if not is_enough:
        fail_attempt(lists, ledger, recovery, number, NOT_ENOUGH_BOOKIES)
        return
    if is_other:
        note_change(lists, ledger, number, recovery.lac + 1, row, cause)
    resend(lists, inputs, ledger, number, replaced, sent_round)


@compiled
def note_change(lists: Lists, ledger: Ledger, number: int, first_entry: int, row: int, cause: int) -> None:
    """A recovery's own change: entries from one on go to its ensemble."""
    found = NOWHERE
    for at in every(ledger.found):
        change = lists.found[at]
        if change.client == number and change.is_change and change.first_entry == first_entry:
            found = at
    if found == NOWHERE:
        found = append(ledger.found)
    change = lists.found[found]
    change.client = number
    change.is_change = 1
    change.first_entry = first_entry
    change.cause = cause
    copy_ensemble(lists.own, row, lists.found_ensembles, found)
    ledger.found.changes += 1
