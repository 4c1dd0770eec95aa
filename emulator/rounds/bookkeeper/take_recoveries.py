"""Step 6 of recoveries and of clients that open without one: what bookies answered (docs/bookkeeper_rounds.md)."""

from __future__ import annotations

from emulator.rounds.bookkeeper.acknowledge import acknowledge
from emulator.rounds.bookkeeper.answers_to_adds import complete, next_failure, take_answers_of
from emulator.rounds.bookkeeper.ask_for_lac import ask_for_lac, take_lacs, tell_lacs
from emulator.rounds.bookkeeper.bookies import bookie_at, fence, is_dead, is_heard
from emulator.rounds.bookkeeper.client_records import LateAnswer, Recovery
from emulator.rounds.bookkeeper.constants import (
    AGAIN,
    CLOSE,
    CLOSED,
    COME,
    END,
    FENCE,
    FOUND,
    LOST,
    NEVER,
    NO_FAULT,
    NO_LAC,
    NO_SUCH_ENTRY,
    NOT_ASKED_YET,
    NOT_AVAILABLE,
    NOW,
    OK,
    ON_ITS_WAY,
    PENDING,
    READ,
    READ_EXCEPTION,
    READERS,
    RECOVERED,
    TIMEOUT,
    WRITE,
)
from emulator.rounds.bookkeeper.fragments import found_fragment_of, last_found
from emulator.rounds.bookkeeper.inputs import Inputs, Rules, Settings
from emulator.rounds.bookkeeper.late_answers import ask, forget_late_answers, waits, what_became
from emulator.rounds.bookkeeper.quorums import covered, needed_answers, write_index
from emulator.rounds.bookkeeper.read_entries import error_of, say, told_error
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.recover import fail_attempt, replace_failed, wait_for_nobody
from emulator.rounds.bookkeeper.speculation import first_speculation, next_pause_ms, timeout_rounds
from emulator.rounds.bookkeeper.traffic import note_read
from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.entries import move
from emulator.rounds.lists import every, keep_first, last


@compiled_into_callers
def take_recoveries(lists: Lists, inputs: Inputs, ledger: Ledger, rules: Rules) -> None:
    """Each recovery takes the answers of this round, in the order of their start."""
    settings = inputs.settings[ledger.settings]
    for number in range(ledger.recoveries.count):
        recovery = lists.recoveries[ledger.recoveries.start + number]
        phase = recovery.phase
        if recovery.attempting:
            take_adds(lists, inputs, settings, ledger, recovery, number)
        if phase == FENCE:
            take_tellings(lists, settings, ledger, recovery, number, rules)
        elif phase == READ:
            read(lists, inputs, ledger, recovery, number, rules)


@compiled
def take_adds(lists: Lists, inputs: Inputs, settings: Settings, ledger: Ledger, recovery: Recovery, number: int) -> None:
    """Answers to the entry that it writes back; with Qa of them it looks for the next one. Who failed is replaced at once."""
    while next_failure(lists, settings, ledger, number):
        replace_failed(lists, inputs, ledger, recovery, number, NOW, ledger.now + 1)
        if not recovery.attempting:
            return
    take_answers_of(lists, settings, ledger, number)
    looks = complete(lists, settings, ledger, number)
    if recovery.phase == WRITE and looks and acknowledge(lists, ledger, number):
        recovery.lac += 1
        recovery.phase = READ


@compiled
def take_tellings(lists: Lists, settings: Settings, ledger: Ledger, recovery: Recovery, number: int, rules: Rules) -> None:
    """LACs of those who answered the fencing question. Enough of them, and it looks for entries above the highest."""
    heard, largest, is_late = take_lacs(lists, settings, ledger, number)
    recovery.heard |= heard
    recovery.base_lac = max(recovery.base_lac, largest)
    if covered(settings, recovery.heard, needed_answers(settings, rules)):
        floor = lists.found[last_found(lists, ledger, number)].first_entry - 1 if rules.lac_floor else NO_LAC
        recovery.base_lac = max(recovery.base_lac, floor)
        recovery.lac = recovery.base_lac
        recovery.phase = READ if rules.recover_tail else CLOSE
        recovery.fenced_round = ledger.now
        wait_for_nobody(lists, ledger, recovery, number)
    elif not waits(lists, ledger, number):
        fail_attempt(lists, ledger, recovery, number, TIMEOUT if is_late else READ_EXCEPTION)


@compiled
def read(lists: Lists, inputs: Inputs, ledger: Ledger, recovery: Recovery, number: int, rules: Rules) -> None:
    """Ask the write set of the entry behind its LAC in turn, until the answers are enough; the question fences.

    A slow or silent one is waited for, and after a while the next one is asked, too.
    """
    settings, verdict = inputs.settings[ledger.settings], AGAIN
    if recovery.asked_round == NEVER:
        recovery.asked_round = ledger.now
        recovery.next_place = 0
        recovery.pause_ms = settings.speculate_ms
        recovery.speculate_round = first_speculation(settings, ledger.now)
        recovery.read_error = OK
    else:
        verdict = take_reads(lists, inputs, ledger, recovery, number, rules)
    if verdict == AGAIN:
        verdict = ask_in_turn(lists, inputs, ledger, recovery, number, rules)
    if verdict == AGAIN and ledger.now >= recovery.speculate_round and recovery.next_place < settings.write_quorum:
        verdict = ask_next(lists, inputs, ledger, recovery, number, rules)
        recovery.pause_ms = next_pause_ms(settings, recovery.pause_ms)
        recovery.speculate_round = ledger.now + timeout_rounds(settings, recovery.pause_ms)
        if verdict == AGAIN:
            verdict = ask_in_turn(lists, inputs, ledger, recovery, number, rules)
    if verdict == AGAIN and waits(lists, ledger, number):
        return
    wait_for_nobody(lists, ledger, recovery, number)
    if verdict == RECOVERED:
        recovery.phase = WRITE
    elif verdict == END:
        recovery.phase = CLOSE
    else:
        fail_attempt(lists, ledger, recovery, number, recovery.read_error)


@compiled
def ask_in_turn(lists: Lists, inputs: Inputs, ledger: Ledger, recovery: Recovery, number: int, rules: Rules) -> int:
    """Ask one after the other while no answer is awaited. What the answers come to."""
    verdict, write_quorum = AGAIN, inputs.settings[ledger.settings].write_quorum
    while verdict == AGAIN and recovery.next_place < write_quorum and not waits(lists, ledger, number):
        verdict = ask_next(lists, inputs, ledger, recovery, number, rules)
    return verdict


@compiled
def ask_next(lists: Lists, inputs: Inputs, ledger: Ledger, recovery: Recovery, number: int, rules: Rules) -> int:
    """The next one of the write set is asked; the answer of a slow or silent one is awaited. What the answers come to."""
    settings, entry = inputs.settings[ledger.settings], recovery.lac + 1
    index = write_index(settings, entry, recovery.next_place)
    slot = lists.found_ensembles[found_fragment_of(lists, ledger, number, entry), index]
    recovery.next_place += 1
    if is_dead(lists, ledger, slot):
        return pass_over(settings, recovery, NOT_AVAILABLE, rules)
    ask(lists, ledger, number, index, slot)
    question = lists.late_answers[last(ledger.late_answers)]
    if is_heard(lists, ledger, slot):
        look(lists, inputs, ledger, recovery, question, rules)
        if question.due_round <= ledger.now:
            keep_first(ledger.late_answers, ledger.late_answers.count - 1)
            return conclude(settings, recovery, question.said, rules)
    return AGAIN


@compiled
def look(lists: Lists, inputs: Inputs, ledger: Ledger, recovery: Recovery, question: LateAnswer, rules: Rules) -> None:
    """The question comes to the bookie: it is fenced, and looks for the entry; what a slow one says comes later."""
    entry, slot = recovery.lac + 1, question.bookie
    question.said = say(lists, inputs.settings[ledger.settings], ledger, slot, entry)
    question.due_round = ledger.now + bookie_at(lists, ledger, slot).lag
    if question.said == FOUND:
        note_read(lists, inputs, ledger, slot, entry)
    if rules.recovery_reads_fence:
        fence(lists, ledger, slot, recovery.cause)


@compiled
def take_reads(lists: Lists, inputs: Inputs, ledger: Ledger, recovery: Recovery, number: int, rules: Rules) -> int:
    """Answers that come in this round, in the order of the questions, and those that never will. What they come to."""
    settings, verdict, kept = inputs.settings[ledger.settings], AGAIN, ledger.late_answers.start
    for at in every(ledger.late_answers):
        question, became = lists.late_answers[at], ON_ITS_WAY
        if question.client == number:
            if question.said == NOT_ASKED_YET and is_heard(lists, ledger, question.bookie):
                look(lists, inputs, ledger, recovery, question, rules)
            became = what_became(lists, settings, ledger, question)
        if became == ON_ITS_WAY:
            move(lists.late_answers, at, kept)
            kept += 1
        elif verdict == AGAIN and became == COME:
            verdict = conclude(settings, recovery, question.said, rules)
        elif verdict == AGAIN:
            verdict = pass_over(settings, recovery, NOT_AVAILABLE if became == LOST else TIMEOUT, rules)
    keep_first(ledger.late_answers, kept - ledger.late_answers.start)
    return verdict


@compiled
def conclude(settings: Settings, recovery: Recovery, said: int, rules: Rules) -> int:
    """What one more answer comes to."""
    return RECOVERED if said == FOUND else pass_over(settings, recovery, error_of(said), rules)


@compiled
def pass_over(settings: Settings, recovery: Recovery, error: int, rules: Rules) -> int:
    """One more hasn't given the entry. When Qf say that they haven't got it the ledger ends; other errors say nothing."""
    recovery.read_error = told_error(recovery.read_error, error)
    says_no = rules.no_is_an_answer if error == NO_SUCH_ENTRY else not rules.unknown_is_no_answer
    if says_no:
        recovery.said_no += 1
    return END if recovery.said_no >= needed_answers(settings, rules) else AGAIN


@compiled_into_callers
def open_without_recovery(lists: Lists, settings: Settings, ledger: Ledger) -> None:
    """The last entry of a closed ledger; else the largest LAC of the last ensemble, if those who are heard cover it."""
    for number in range(ledger.openings.count):
        opening = lists.openings[ledger.openings.start + number]
        if opening.error != PENDING or (opening.asked_round == NEVER and not ledger.store_up):
            continue
        client = READERS - number
        if opening.asked_round == NEVER:
            if ledger.state == CLOSED:
                opening.lac = ledger.last_entry
                opening.error = OK
                continue
            opening.asked_round = ledger.now
            ask_for_lac(lists, settings, ledger, client, lists.ensembles, last(ledger.fragments))
        tell_lacs(lists, settings, ledger, client, False, NO_FAULT)
        heard, largest, is_late = take_lacs(lists, settings, ledger, client)
        opening.heard |= heard
        opening.largest_lac = max(opening.largest_lac, largest)
        if covered(settings, opening.heard, settings.write_quorum - settings.ack_quorum + 1):
            opening.lac = opening.largest_lac
            opening.error = OK
            forget_late_answers(lists, ledger, client)
        elif not waits(lists, ledger, client):
            opening.error = TIMEOUT if is_late else READ_EXCEPTION
