"""One round of one ledger: the steps in the order of docs/bookkeeper_rounds.md."""

from __future__ import annotations

from emulator.rounds.bookkeeper.answers_to_adds import forget_answered
from emulator.rounds.bookkeeper.audit import audit
from emulator.rounds.bookkeeper.check_invariants import check_invariants
from emulator.rounds.bookkeeper.constants import CLOSED, CLOSING, DONE, FAILED, FOREVER, NOT_RUNNING, PENDING, WRITING
from emulator.rounds.bookkeeper.count_outcomes import count_outcomes
from emulator.rounds.bookkeeper.fill_bookies import fill_bookies
from emulator.rounds.bookkeeper.handle import handle
from emulator.rounds.bookkeeper.inputs import Inputs, Settings
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.replace_lost import replace_lost
from emulator.rounds.bookkeeper.send import send
from emulator.rounds.bookkeeper.serve_readers import serve_readers
from emulator.rounds.bookkeeper.stored import flush
from emulator.rounds.bookkeeper.take_answers import take_answers
from emulator.rounds.bookkeeper.take_inputs import follow_bookies, take_inputs
from emulator.rounds.bookkeeper.take_recoveries import open_without_recovery, take_recoveries
from emulator.rounds.bookkeeper.use_store import miss_store, use_store
from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.leaps import is_due
from emulator.rounds.lists import List, every


@compiled
def play_round(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """Play round `ledger.now`."""
    if is_idle(lists, inputs, ledger):
        ledger.now += 1
        return
    rules = inputs.rules[inputs.scenarios[ledger.scenario].rules]
    settings = inputs.settings[ledger.settings]
    forget_last_round(ledger)

    if ledger.now >= ledger.next_change:  # 1. inputs
        take_inputs(lists, inputs, ledger, rules)
    ledger.queued += inputs.workload[ledger.workload].entries
    if ledger.store_up:  # 2. metadata store
        use_store(lists, inputs, ledger, rules)
    else:
        miss_store(lists, inputs, ledger)
    send(lists, inputs, ledger)  # 3. send
    handle(lists, inputs, ledger)  # 4. bookies; 5. look: answers are where they were taken
    take_answers(lists, inputs, ledger)  # 6. answers
    take_recoveries(lists, inputs, ledger, rules)
    open_without_recovery(lists, settings, ledger)
    if ledger.new_readers or ledger.reads.count:
        serve_readers(lists, inputs, ledger)
    forget_answered(lists, ledger)
    audit(lists, inputs, ledger)  # 7. repair
    replace_lost(lists, inputs, ledger)
    fill_bookies(lists, inputs, ledger)
    flush_bookies(lists, settings, ledger)  # 8. flush
    check_invariants(lists, inputs, ledger)
    count_outcomes(ledger)
    forget_emptied(ledger)
    ledger.now += 1
    ledger.played += 1


@compiled
def read_on(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """Round `ledger.now` of a deleted ledger: who reads it goes on."""
    follow_bookies(lists, inputs, ledger)
    serve_readers(lists, inputs, ledger)
    ledger.now += 1


@compiled_into_callers
def is_idle(lists: Lists, inputs: Inputs, ledger: Ledger) -> bool:
    """Whether a round can't change anything: the ledger is closed, everybody is done with it, and nothing comes from outside."""
    if ledger.state != CLOSED or ledger.now >= ledger.next_change or ledger.broken:
        return False
    if ledger.writer in (WRITING, CLOSING):  # who wants to close it learns that it is closed
        return False
    if ledger.close_asked or ledger.queued or ledger.adds.count or ledger.requests.count or ledger.replacements.count:
        return False
    if ledger.new_readers or ledger.reads.count:
        return False
    settings = inputs.settings[ledger.settings]
    if settings.flush_ms or inputs.workload[ledger.workload].entries:
        return False
    for at in every(ledger.recoveries):
        if lists.recoveries[at].phase not in (DONE, FAILED):
            return False
    for at in every(ledger.openings):
        if lists.openings[at].error == PENDING:
            return False
    for at in every(ledger.bookies):
        bookie = lists.bookies[at]
        if bookie.filling or (settings.autorecovery and bookie.is_missed):
            return False
    return True


@compiled_into_callers
def forget_last_round(ledger: Ledger) -> None:
    """What is of one round begins anew."""
    ledger.lac_before = ledger.lac
    ledger.told_fenced = 0
    ledger.is_copying = 0
    ledger.had_to_write = 0
    ledger.suspects_from = FOREVER
    ledger.ends_otherwise = 0


@compiled_into_callers
def flush_bookies(lists: Lists, settings: Settings, ledger: Ledger) -> None:
    """In rounds in which it is due, running bookies flush."""
    if settings.flush_ms == 0 or not is_due(ledger.now, settings.round_ms, settings.flush_ms):
        return
    for slot in range(ledger.bookies.count):
        if not lists.bookies[ledger.bookies.start + slot].status & NOT_RUNNING:
            flush(lists, ledger, slot)


@compiled_into_callers
def forget_emptied(ledger: Ledger) -> None:
    """A list whose entries came and went within the round is as it was."""
    forget_changes(ledger.adds)
    forget_changes(ledger.requests)
    forget_changes(ledger.failures)
    forget_changes(ledger.found)


@compiled_into_callers
def forget_changes(entries: List) -> None:
    """Of an empty list."""
    if entries.count == 0:
        entries.changes = 0
