"""Step 2: what clients want of the metadata store, one after the other, each a compare-and-set on what it says by then."""

from __future__ import annotations

import numpy as np

from emulator.rounds.bookkeeper.acknowledge import raise_lac
from emulator.rounds.bookkeeper.adds import forget_adds, resend
from emulator.rounds.bookkeeper.constants import (
    ADD_FAILED,
    CHANGING,
    CLOSED,
    CLOSING,
    FENCED_OFF,
    IN_RECOVERY,
    LATER,
    LEDGER_CLOSED,
    LEDGER_FENCED,
    METADATA_VERSION,
    NOT_ENOUGH_BOOKIES,
    NOW,
    NOWHERE,
    OK,
    SHUT,
    WRITER,
    WRITING,
)
from emulator.rounds.bookkeeper.failures import cause_of_newest, forget_failures, has_failures, merge_failures
from emulator.rounds.bookkeeper.fragments import copy_ensemble, last_found, own_ensemble, put_ensemble
from emulator.rounds.bookkeeper.inputs import Inputs, Rules, Settings
from emulator.rounds.bookkeeper.placement import cause_of_change, finds_nobody, replace
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.recover import close_ledger, recoveries_use_store
from emulator.rounds.bookkeeper.replace_lost import commit_replacements
from emulator.rounds.bookkeeper.tell import tell_of_entries
from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.entries import move
from emulator.rounds.lists import append, every, keep_first, last


@compiled_into_callers
def use_store(lists: Lists, inputs: Inputs, ledger: Ledger, rules: Rules) -> None:
    """The writer's ensemble change and its close, then recoveries, then replication workers. The store is up."""
    if ledger.writer == WRITING and ledger.changing:
        change_ensemble(lists, inputs, ledger)
    if ledger.writer == CLOSING:
        close_by_writer(lists, inputs.settings[ledger.settings], ledger)
    answer_closes(lists, ledger)
    recoveries_use_store(lists, inputs, ledger, rules)
    commit_replacements(lists, inputs, ledger)


@compiled
def miss_store(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """The store is away: an ensemble change waits, but who finds nobody to choose stops at once; its close waits."""
    if ledger.writer != WRITING or not ledger.changing:
        return
    new = append(ledger.own)
    copy_known_ensemble(lists, ledger, new)
    stops_without_bookies(lists, inputs, ledger, new)
    keep_first(ledger.own, ledger.own.count - 1)


@compiled
def change_ensemble(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """The writer's ensemble change: the failed bookies that still are at their indices are replaced.

    It chooses bookies before the store tells it what became of the ledger (MetadataUpdateLoop): with nobody to choose it stops
    for that, and closes the ledger, somebody else's recovery or not.
    """
    # A row of its own for the new ensemble: the writer writes to the old one until its changes are done.
    row, new = own_ensemble(ledger, WRITER), append(ledger.own)
    copy_known_ensemble(lists, ledger, new)
    forget_who_is_gone(lists, ledger, lists.own, new)
    if has_failures(lists, ledger, WRITER, CHANGING) and not put_replaced(lists, inputs, ledger, new):
        keep_first(ledger.own, ledger.own.count - 1)
        return
    keep_first(ledger.own, ledger.own.count - 1)
    fragment = last(ledger.fragments)
    forget_failures(lists, ledger, WRITER, CHANGING)
    merge_failures(lists, ledger, WRITER, LATER, CHANGING)
    forget_who_is_gone(lists, ledger, lists.ensembles, fragment)
    if has_failures(lists, ledger, WRITER, CHANGING):
        return
    ledger.changing = 0
    replaced = 0
    for index in range(inputs.settings[ledger.settings].ensemble_size):
        if lists.own[row, index] != lists.ensembles[fragment, index]:
            replaced |= 1 << index
    copy_ensemble(lists.ensembles, fragment, lists.own, row)
    acknowledged = resend(lists, inputs, ledger, WRITER, replaced, ledger.now)
    raise_lac(lists, inputs.settings[ledger.settings], ledger, acknowledged)


@compiled
def copy_known_ensemble(lists: Lists, ledger: Ledger, row: int) -> None:
    """The last ensemble as the writer knows it: of a ledger that a recovery closed, as that one found it."""
    found = last_found(lists, ledger, ledger.closed_by) if ledger.state == CLOSED else NOWHERE
    if found == NOWHERE:
        copy_ensemble(lists.ensembles, last(ledger.fragments), lists.own, row)
    else:
        copy_ensemble(lists.found_ensembles, found, lists.own, row)


@compiled
def put_replaced(lists: Lists, inputs: Inputs, ledger: Ledger, row: int) -> bool:
    """Replace the failed bookies in the row of a new ensemble, and write that to the store. False: the writer stopped."""
    cause = cause_of_change(lists, inputs, ledger, lists.own, row, WRITER, CHANGING)
    if stops_without_bookies(lists, inputs, ledger, row):
        return False
    if ledger.state == CLOSED:
        stop(lists, ledger, LEDGER_CLOSED, False, ledger.close_cause)
        return False
    if ledger.state == IN_RECOVERY:
        stop(lists, ledger, LEDGER_FENCED, True, cause_of_newest(lists, ledger))
        return False
    replace(lists, inputs, ledger, lists.own, row, WRITER, CHANGING)
    put_ensemble(lists, inputs, ledger, ledger.lac + 1, lists.own, row, cause)
    return True


@compiled
def stops_without_bookies(lists: Lists, inputs: Inputs, ledger: Ledger, row: int) -> bool:
    """Whether there is nobody for the first of the failed bookies in the row of a new ensemble: then the writer stops."""
    if not finds_nobody(lists, inputs, ledger, lists.own, row, WRITER, CHANGING):
        return False
    cause = cause_of_change(lists, inputs, ledger, lists.own, row, WRITER, CHANGING)
    stop(lists, ledger, NOT_ENOUGH_BOOKIES, False, cause)
    return True


@compiled
def forget_who_is_gone(lists: Lists, ledger: Ledger, ensembles: np.ndarray, row: int) -> None:
    """Failed bookies that an ensemble hasn't at their indices any more need no replacing."""
    kept = ledger.failures.start
    for at in every(ledger.failures):
        failure = lists.failures[at]
        is_of_change = failure.client == WRITER and failure.when == CHANGING
        if not is_of_change or ensembles[row, failure.index] == failure.bookie:
            move(lists.failures, at, kept)
            kept += 1
    keep_first(ledger.failures, kept - ledger.failures.start)


@compiled
def stop(lists: Lists, ledger: Ledger, error: int, knows_of_recovery: bool, cause: int) -> None:
    """An error that no other bookie mends: all adds fail, and the writer closes the ledger unless it knows of a recovery."""
    fail_adds(lists, ledger, error, cause)
    ledger.writer = FENCED_OFF if knows_of_recovery else CLOSING


@compiled
def fail_adds(lists: Lists, ledger: Ledger, error: int, cause: int) -> None:
    """The writer's adds in flight fail, and it wants no ensemble change any more."""
    ledger.stop_cause = cause
    failed = forget_writer(lists, ledger)
    if failed:
        ledger.failed_adds += failed
        ledger.error = error
        if error == LEDGER_FENCED:
            ledger.told_fenced = 1
        tell_of_entries(lists, ledger, ADD_FAILED, ledger.lac + 1, ledger.next_entry, cause)


@compiled
def forget_writer(lists: Lists, ledger: Ledger) -> int:
    """What the writer has in flight, and wants changed, is nobody's any more. Returns how many adds were unacknowledged."""
    ledger.changing = 0
    for when in (NOW, CHANGING, LATER):
        forget_failures(lists, ledger, WRITER, when)
    return forget_adds(lists, ledger, WRITER)


@compiled
def close_by_writer(lists: Lists, settings: Settings, ledger: Ledger) -> None:
    """Close at the LAC. This overrides a recovery that isn't done; whoever closed first has the last word."""
    if ledger.state != CLOSED:
        close_ledger(lists, settings, ledger, ledger.lac, WRITER, ledger.stop_cause)
    ledger.writer = SHUT


@compiled_into_callers
def answer_closes(lists: Lists, ledger: Ledger) -> None:
    """The application learns what became of its closes: OK if the ledger ends at the writer's LAC."""
    while ledger.close_asked and ledger.writer == SHUT:
        ledger.close_asked -= 1
        answer = OK if ledger.last_entry == ledger.lac else METADATA_VERSION
        lists.closes[append(ledger.closes), 0] = answer
        ledger.error = answer
