"""Step 6 of recoveries and of clients that open without one: what bookies answered (docs/bookkeeper_rounds.md)."""

from __future__ import annotations

from emulator.compiled import compiled
from emulator.rounds.bookkeeper.adds import acknowledge, complete, next_failure, take_answers_of
from emulator.rounds.bookkeeper.bookies import bookie_at, fence, is_dead, is_heard
from emulator.rounds.bookkeeper.constants import (
    AGAIN,
    CLOSE,
    CLOSED,
    END,
    FENCE,
    FOUND,
    NO,
    NO_LAC,
    NOW,
    OK,
    PENDING,
    READ,
    READ_EXCEPTION,
    RECOVERED,
    UNKNOWN,
    WRITE,
)
from emulator.rounds.bookkeeper.fragments import found_fragment_of, last_found
from emulator.rounds.bookkeeper.inputs import Inputs, Rules, Settings
from emulator.rounds.bookkeeper.quorums import covered, needed_answers, write_index
from emulator.rounds.bookkeeper.records import Ledger, Lists, Recovery
from emulator.rounds.bookkeeper.recover import fail_attempt, replace_failed
from emulator.rounds.bookkeeper.stored import has_entry, lac_of
from emulator.rounds.lists import every, last
from emulator.rounds.slots import has


@compiled
def take_recoveries(lists: Lists, inputs: Inputs, ledger: Ledger, rules: Rules) -> None:
    """Each recovery takes the answers of this round, in the order of their start."""
    settings = inputs.settings[ledger.settings]
    for number in range(ledger.recoveries.count):
        recovery = lists.recoveries[ledger.recoveries.start + number]
        phase = recovery.phase
        if recovery.attempting:
            take_adds(lists, inputs, settings, ledger, recovery, number)
        if phase == FENCE:
            take_lacs(lists, settings, ledger, recovery, number, rules)
        elif phase == READ:
            read(lists, settings, ledger, recovery, number, rules)


@compiled
def take_adds(lists: Lists, inputs: Inputs, settings: Settings, ledger: Ledger, recovery: Recovery, number: int) -> None:
    """Answers to the entry that it writes back; with Qa of them it looks for the next one. Who failed is replaced at once."""
    while next_failure(lists, settings, ledger, number):
        replace_failed(lists, inputs, ledger, recovery, number, NOW, ledger.now + 1)
        if not recovery.attempting:
            return
    take_answers_of(lists, settings, ledger, number)
    complete(lists, settings, ledger, number)
    if recovery.phase == WRITE and acknowledge(lists, ledger, number):
        recovery.lac += 1
        recovery.phase = READ


@compiled
def take_lacs(lists: Lists, settings: Settings, ledger: Ledger, recovery: Recovery, number: int, rules: Rules) -> None:
    """LACs of those who answered the fencing question. Enough of them, and it looks for entries above the highest."""
    fragment = last_found(lists, ledger, number)
    for index in range(settings.ensemble_size):
        slot = lists.found_ensembles[fragment, index]
        if has(recovery.said, index) and not bookie_at(lists, ledger, slot).limbo:
            recovery.heard |= 1 << index
            recovery.base_lac = max(recovery.base_lac, lac_of(lists, settings, ledger, slot))
    if covered(settings, recovery.heard, needed_answers(settings, rules)):
        floor = lists.found[fragment].first_entry - 1 if rules.lac_floor else NO_LAC
        recovery.base_lac = max(recovery.base_lac, floor)
        recovery.lac = recovery.base_lac
        recovery.phase = READ if rules.recover_tail else CLOSE
        recovery.fenced_round = ledger.now
        return
    somebody_is_silent = False
    for index in range(settings.ensemble_size):
        is_unheard = not has(recovery.heard | recovery.said, index)
        if is_unheard and not is_dead(lists, ledger, lists.found_ensembles[fragment, index]):
            somebody_is_silent = True
    if not somebody_is_silent or ledger.now - recovery.marked_round >= settings.read_timeout_rounds:
        fail_attempt(lists, ledger, recovery, number, READ_EXCEPTION)


@compiled
def read(lists: Lists, settings: Settings, ledger: Ledger, recovery: Recovery, number: int, rules: Rules) -> None:
    """Ask the write set of the entry behind its LAC, in order, until the answers are enough; the question fences."""
    entry = recovery.lac + 1
    fragment = found_fragment_of(lists, ledger, number, entry)
    verdict, said_no = AGAIN, 0
    for place in range(settings.write_quorum):
        slot = lists.found_ensembles[fragment, write_index(settings, entry, place)]
        answer = as_taken(say(lists, settings, ledger, slot, entry), rules)
        if is_heard(lists, ledger, slot) and rules.recovery_reads_fence:
            fence(lists, ledger, slot, recovery.cause)
        if answer == NO:
            said_no += 1
        if answer == FOUND:
            verdict = RECOVERED
        elif said_no >= needed_answers(settings, rules):
            verdict = END
        if verdict != AGAIN:
            break
    if verdict == RECOVERED:
        recovery.phase = WRITE
    elif verdict == END:
        recovery.phase = CLOSE
    else:
        fail_attempt(lists, ledger, recovery, number, READ_EXCEPTION)


@compiled
def say(lists: Lists, settings: Settings, ledger: Ledger, slot: int, entry: int) -> int:
    """What a bookie says of an entry. Who isn't heard, or in limbo and without it, is UNKNOWN."""
    if not is_heard(lists, ledger, slot):
        return UNKNOWN
    if has_entry(lists, settings, ledger, slot, entry):
        return FOUND
    return UNKNOWN if bookie_at(lists, ledger, slot).limbo else NO


@compiled
def as_taken(answer: int, rules: Rules) -> int:
    """What a recovery takes an answer for."""
    if answer == NO and not rules.no_is_an_answer:
        return UNKNOWN
    if answer == UNKNOWN and not rules.unknown_is_no_answer:
        return NO
    return answer


@compiled
def open_without_recovery(lists: Lists, settings: Settings, ledger: Ledger) -> None:
    """The last entry of a closed ledger; else the largest LAC of the last ensemble, if those who are heard cover it."""
    for at in every(ledger.openings):
        opening = lists.openings[at]
        if opening.error != PENDING or not ledger.store_up:
            continue
        if ledger.state == CLOSED:
            opening.lac = ledger.last_entry
            opening.error = OK
            continue
        heard, lac = 0, NO_LAC
        fragment = last(ledger.fragments)
        for index in range(settings.ensemble_size):
            slot = lists.ensembles[fragment, index]
            if is_heard(lists, ledger, slot) and not bookie_at(lists, ledger, slot).limbo:
                heard |= 1 << index
                lac = max(lac, lac_of(lists, settings, ledger, slot))
        is_covered = covered(settings, heard, settings.write_quorum - settings.ack_quorum + 1)
        if is_covered:
            opening.lac = lac
        opening.error = OK if is_covered else READ_EXCEPTION
