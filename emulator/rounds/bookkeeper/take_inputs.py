"""Step 1: damage, who is back, commands, and the entries that are due."""

from __future__ import annotations

from emulator.rounds.bookkeeper.bookies import bookie_at, is_dead, note_slowness
from emulator.rounds.bookkeeper.constants import (
    BY_COMMAND,
    CHECK_LEDGER,
    CLOSE_LEDGER,
    CLOSING,
    FENCED_OFF,
    FOREVER,
    HAPPENS,
    LEDGER_CLOSED,
    NEVER,
    NO_ANSWER,
    NO_ENTRY,
    NO_FAULT,
    NO_LAC,
    NO_LIMIT,
    NOBODY,
    OPEN_NO_RECOVERY,
    PENDING,
    READ_LEDGER,
    RECOVER_LEDGER,
    RESTARTED,
    WRITER_CRASHED,
    WRITING,
)
from emulator.rounds.bookkeeper.damage import check_returned, damage
from emulator.rounds.bookkeeper.inputs import Inputs, Rules
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.recover import start_recovery
from emulator.rounds.bookkeeper.use_store import fail_adds, forget_writer
from emulator.rounds.compiled import compiled
from emulator.rounds.lists import append, every


@compiled
def take_inputs(lists: Lists, inputs: Inputs, ledger: Ledger, rules: Rules) -> None:
    """Step 1; only in rounds in which an input of the ledger changes."""
    settings = inputs.settings[ledger.settings]
    something_returns = False
    follow_bookies(lists, inputs, ledger)
    slot = next_struck(lists, ledger, NOBODY)
    while slot != NOBODY:  # in the order of the bookies' ids
        damage(lists, inputs, settings, ledger, slot)
        something_returns |= bookie_at(lists, ledger, slot).status & RESTARTED != 0
        slot = next_struck(lists, ledger, bookie_at(lists, ledger, slot).place)
    lose_what_is_on_the_way(lists, ledger)
    if ledger.crash_round == ledger.now:
        crash_writer(lists, ledger)
    while inputs.commands[ledger.command].at_round <= ledger.now:
        obey(lists, inputs, ledger)
        ledger.command += 1
    if something_returns and settings.integrity_check:
        check_returned(lists, inputs, ledger, rules)
    while inputs.workload[ledger.workload + 1].from_round <= ledger.now:
        ledger.workload += 1
    in_flight = inputs.workload[ledger.workload].max_in_flight
    if in_flight != NO_LIMIT:
        ledger.max_in_flight = in_flight
    note_next_change(lists, inputs, ledger)


@compiled
def follow_bookies(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """What the faults say of the metadata store and of bookies from this round on."""
    while inputs.store_spans[ledger.store_span + 1].from_round <= ledger.now:
        ledger.store_span += 1
    ledger.store_up = inputs.store_spans[ledger.store_span].up
    ledger.slowed = 0
    for at in every(ledger.bookies):
        bookie = lists.bookies[at]
        while inputs.bookie_spans[bookie.span + 1].from_round <= ledger.now:
            bookie.span += 1
        note_slowness(inputs, ledger, bookie.span)
        bookie.status = inputs.bookie_spans[bookie.span].status
        bookie.cause = inputs.bookie_spans[bookie.span].cause
        bookie.lag = inputs.bookie_spans[bookie.span].lag
        bookie.lag_cause = inputs.bookie_spans[bookie.span].lag_cause


@compiled
def next_struck(lists: Lists, ledger: Ledger, behind: int) -> int:
    """The slot of the next bookie, by id, to which something happens in this very round; NOBODY if there is none."""
    found = NOBODY
    for slot in range(ledger.bookies.count):
        bookie = bookie_at(lists, ledger, slot)
        if bookie.status & HAPPENS == 0 or bookie.place <= behind:
            continue
        if found == NOBODY or bookie.place < bookie_at(lists, ledger, found).place:
            found = slot
    return found


@compiled
def note_next_change(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """The next round in which something comes from outside."""
    change = min(inputs.workload[ledger.workload + 1].from_round, inputs.commands[ledger.command].at_round)
    change = min(change, inputs.store_spans[ledger.store_span + 1].from_round)
    if ledger.crash_round > ledger.now:
        change = min(change, ledger.crash_round)
    for at in every(ledger.bookies):
        change = min(change, inputs.bookie_spans[lists.bookies[at].span + 1].from_round)
    for at in range(ledger.first_on_the_way, ledger.first_on_the_way + ledger.on_the_way):
        fault = inputs.on_the_way[at]
        change = min(change, fault.from_round if fault.from_round > ledger.now else FOREVER)
        change = min(change, fault.to_round if fault.to_round > ledger.now else FOREVER)
    ledger.next_change = change


@compiled
def lose_what_is_on_the_way(lists: Lists, ledger: Ledger) -> None:
    """Messages on the way to a dead bookie are lost."""
    for at in every(ledger.requests):
        one = lists.requests[at]
        is_under_way = one.on_the_way or one.late_answer != NO_ANSWER
        if is_under_way and is_dead(lists, ledger, one.bookie):
            one.on_the_way = 0
            one.late_answer = NO_ANSWER
            one.cause = bookie_at(lists, ledger, one.bookie).cause


@compiled
def crash_writer(lists: Lists, ledger: Ledger) -> None:
    """Gone without closing: nobody hears of what was in flight."""
    forget_writer(lists, ledger)
    ledger.writer = WRITER_CRASHED
    ledger.queued = 0


@compiled
def cause_of_crash(ledger: Ledger) -> int:
    """The client_crash that took the writer, NO_FAULT: none did."""
    return ledger.crash_fault if ledger.crash_round <= ledger.now else NO_FAULT


@compiled
def obey(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """What an administrator, or the application, does."""
    command = inputs.commands[ledger.command]
    if command.kind == CLOSE_LEDGER:
        ask_to_close(lists, ledger)
    elif command.kind == RECOVER_LEDGER:
        start_recovery(lists, ledger, BY_COMMAND, command.retry, cause_of_crash(ledger))
    elif command.kind == OPEN_NO_RECOVERY:
        opening = lists.openings[append(ledger.openings)]
        opening.at_round = ledger.now
        opening.asked_round = NEVER
        opening.heard = 0
        opening.largest_lac = NO_LAC
        opening.lac = NO_ENTRY
        opening.error = PENDING
    elif command.kind == CHECK_LEDGER:
        fill_members(lists, inputs, ledger)
    elif command.kind == READ_LEDGER:
        ledger.new_readers += 1


@compiled
def ask_to_close(lists: Lists, ledger: Ledger) -> None:
    """The application closes: adds in flight fail, the ledger shall end at the LAC."""
    if ledger.writer == WRITER_CRASHED:
        return
    ledger.close_asked += 1
    if ledger.writer == WRITING:
        fail_adds(lists, ledger, LEDGER_CLOSED, NO_FAULT)
        ledger.writer = CLOSING
    elif ledger.writer == FENCED_OFF:
        ledger.stop_cause = NO_FAULT
        ledger.writer = CLOSING


@compiled
def fill_members(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """check_ledger: all bookies of the ledger get what they lack."""
    for at in every(ledger.fragments):
        for index in range(inputs.settings[ledger.settings].ensemble_size):
            bookie = bookie_at(lists, ledger, lists.ensembles[at, index])
            if not bookie.filling:
                bookie.filling = 1
                bookie.filling_cause = NO_FAULT
